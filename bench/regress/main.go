// Command regress counts how many statements of PostgreSQL's regression scripts
// agree, apart for the kinds of SQL that Ostraka sets out to have and for those
// that it refuses by name or does not have yet. It reads what a comparing runner
// left behind: PostgreSQL's answers, one JSON line a statement
// (ANSWERS/sql/NAME.sql.jsonl), and the differences of the candidate (JSON lines
// with file, line, kind, detail and sql). The kinds are decided from the syntax
// trees and PostgreSQL's answers alone (kinds.go, taint.go), never from what the
// candidate answered, so that the denominators stay as they are.
//
//	go run ./bench/regress -answers DIR -diff FILE -scripts DIR/sql -ignore FILE [-show KIND] [-v]
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// answer is a statement of a script and what PostgreSQL answered to it.
type answer struct {
	Line int
	SQL  string
	Res  []struct {
		Code, Tx string
	}
}

func (a *answer) failed() bool { return len(a.Res) > 0 && a.Res[len(a.Res)-1].Code != "" }

// inBlock tells whether the session was in a transaction block afterwards.
func (a *answer) inBlock() bool {
	if len(a.Res) == 0 {
		return false
	}
	tx := a.Res[len(a.Res)-1].Tx
	return tx == "T" || tx == "E"
}

// difference is a statement whose answer differs.
type difference struct {
	File, Kind, Detail, SQL string
	Line                    int
}

// share counts statements and those that agree.
type share struct{ same, all int }

func (s share) String() string {
	if s.all == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%.1f %%)", s.same, s.all, 100*float64(s.same)/float64(s.all))
}

// notScored are statements whose answers depend on costs and storage.
var notScored = regexp.MustCompile(`(?is)^\s*explain\b`)

func main() {
	answers := flag.String("answers", "", "folder of PostgreSQL's recorded answers")
	diff := flag.String("diff", "", "file of the differences")
	scripts := flag.String("scripts", "", "folder of the scripts (for test_setup, which is not recorded)")
	ignore := flag.String("ignore", "", "statements not to count: file, line, reason, separated by tabs")
	only := flag.String("only", "", "comma-separated scripts")
	show := flag.String("show", "", `print the differences of this kind ("named": of the named kinds)`)
	kinds := flag.Bool("v", false, "print every statement with its kind")
	flag.Parse()
	if err := run(*answers, *diff, *scripts, *ignore, *only, *show, *kinds); err != nil {
		log.Fatal(err)
	}
}

func run(answers, diff, scripts, ignore, only, show string, verbose bool) error {
	differs, err := readDifferences(diff)
	if err != nil {
		return err
	}
	skip, err := readIgnored(ignore)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(answers, "sql", "*.sql.jsonl"))
	if err != nil {
		return err
	}
	shared, err := fixtures(answers, scripts)
	if err != nil {
		return err
	}
	var all, named share
	byKind := map[string]*share{}
	for _, path := range files {
		file := "sql/" + strings.TrimSuffix(filepath.Base(path), ".jsonl")
		script := strings.TrimSuffix(filepath.Base(file), ".sql")
		if only != "" && !slices.Contains(strings.Split(only, ","), script) {
			continue
		}
		list, err := readAnswers(path)
		if err != nil {
			return err
		}
		c := newClassifier()
		for _, f := range shared {
			if f.script != script {
				c.replay(f.statements)
			}
		}
		for _, s := range ownFunctions(filepath.Join(scripts, script+".sql")) {
			c.taint(s, kindCFunction)
		}
		var here, hereNamed share
		for i := range list {
			a := &list[i]
			kind := c.classify(a)
			key := fmt.Sprintf("%s:%d", file, a.Line)
			if skip[key] || notScored.MatchString(a.SQL) {
				continue
			}
			d, differing := differs[key+"\n"+a.SQL]
			if verbose {
				fmt.Printf("%s\t%s\t%v\t%s\n", key, kind, !differing, oneLine(a.SQL))
			}
			count(&here, !differing)
			if kind == "" {
				count(&hereNamed, !differing)
			} else {
				if byKind[kind] == nil {
					byKind[kind] = &share{}
				}
				count(byKind[kind], !differing)
			}
			if differing && (show == kind && kind != "" || show == "named" && kind == "") {
				fmt.Printf("%s\t%s\t%s\t%s\n", key, d.Kind, oneLine(d.Detail), oneLine(a.SQL))
			}
		}
		if !verbose && show == "" {
			fmt.Printf("%-22s named %-24s all %s\n", script, hereNamed, here)
		}
		all.same, all.all = all.same+here.same, all.all+here.all
		named.same, named.all = named.same+hereNamed.same, named.all+hereNamed.all
	}
	if show != "" {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Printf("  %-60s %s\n", k, byKind[k])
	}
	fmt.Printf("of the named kinds %s, of all %s\n", named, all)
	return nil
}

func count(s *share, same bool) {
	s.all++
	if same {
		s.same++
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func readAnswers(path string) ([]answer, error) {
	return readLines(path, func(line []byte) (a answer, err error) {
		err = json.Unmarshal(line, &a)
		return a, err
	})
}

func readDifferences(path string) (map[string]difference, error) {
	list, err := readLines(path, func(line []byte) (d difference, err error) {
		err = json.Unmarshal(line, &d)
		return d, err
	})
	out := map[string]difference{}
	for _, d := range list {
		out[fmt.Sprintf("%s:%d\n%s", d.File, d.Line, d.SQL)] = d
	}
	return out, err
}

func readIgnored(path string) (map[string]bool, error) {
	out := map[string]bool{}
	if path == "" {
		return out, nil
	}
	_, err := readLines(path, func(line []byte) (struct{}, error) {
		if f := strings.Split(string(line), "\t"); len(f) >= 2 {
			out[f[0]+":"+f[1]] = true
		}
		return struct{}{}, nil
	})
	return out, err
}

func readLines[T any](path string, parse func([]byte) (T, error)) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<28)
	var out []T
	for in.Scan() {
		v, err := parse(in.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, v)
	}
	return out, in.Err()
}
