package sqltest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// SortMode says how a query's result is ordered before comparison.
type SortMode uint8

const (
	NoSort SortMode = iota
	RowSort
	ValueSort
)

// Record is one statement, query or control record.
type Record struct {
	Kind RecordKind
	Line int // of the directive, 1-based
	SQL  string

	// Statement: ExpectError with the SQLSTATE ("" any) or a message fragment after it.
	ExpectError bool
	Code        string

	// Query.
	Types   string // one letter per column: T text, I integer, R real, B boolean, ? any
	Sort    SortMode
	Label   string
	Rows    []string // expected lines; nil when Hash is set
	Hash    string   // md5 of the values
	Values  int      // number of values that Hash stands for
	Session string   // "" the file's main session

	Conds []Cond
	Arg   string // hash-threshold, sleep …

	rowsStart, rowsEnd int // line numbers (1-based, end exclusive) of the expected block, for recording
}

// Cond is a skipif or onlyif line.
type Cond struct {
	Only  bool
	Label string
}

// RecordKind is a record's directive.
type RecordKind uint8

const (
	Statement RecordKind = iota
	Query
	Halt
	HashThreshold
)

// File is a parsed test file.
type File struct {
	Path    string
	Lines   []string
	Records []Record
	Exact   bool // "# results: exact"
}

// ParseFile reads and parses a file.
func ParseFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(path, f)
}

// Parse reads a whole test file; errors name the line.
func Parse(path string, r io.Reader) (*File, error) {
	p := &parser{file: &File{Path: path}}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), 64<<20)
	for sc.Scan() {
		p.file.Lines = append(p.file.Lines, sc.Text())
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(p.file.Lines) > 0 && strings.TrimSpace(p.file.Lines[0]) == "# results: exact" {
		p.file.Exact = true
	}
	recs, _, err := p.block(0, nil, false)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, p.line+1, err)
	}
	p.file.Records = recs
	return p.file, nil
}

type parser struct {
	file *File
	line int // for error messages
}

// block parses records from line i until the end or, inside a loop, endloop. It
// returns the line after the block.
func (p *parser) block(i int, vars map[string]string, inLoop bool) ([]Record, int, error) {
	var out []Record
	var conds []Cond
	session := ""
	lines := p.file.Lines
	for i < len(lines) {
		p.line = i
		text := strings.TrimSpace(subst(lines[i], vars))
		if text == "" || strings.HasPrefix(text, "#") {
			i++
			continue
		}
		f := strings.Fields(text)
		switch f[0] {
		case "skipif", "onlyif":
			if len(f) < 2 {
				return nil, i, fmt.Errorf("%s needs a label", f[0])
			}
			conds = append(conds, Cond{Only: f[0] == "onlyif", Label: f[1]})
			i++
			continue
		case "connection":
			if len(f) < 2 {
				return nil, i, fmt.Errorf("connection needs a name")
			}
			session = f[1]
			i++
			continue
		case "endloop":
			if !inLoop {
				return nil, i, fmt.Errorf("endloop without loop")
			}
			return out, i + 1, nil
		case "loop", "foreach":
			values, err := loopValues(f)
			if err != nil {
				return nil, i, err
			}
			next := i + 1
			for _, v := range values {
				inner := map[string]string{f[1]: v}
				for k, o := range vars {
					inner[k] = o
				}
				recs, end, err := p.block(i+1, inner, true)
				if err != nil {
					return nil, i, err
				}
				out = append(out, recs...)
				next = end
			}
			if len(values) == 0 {
				if _, next, err = p.block(i+1, vars, true); err != nil {
					return nil, i, err
				}
			}
			i = next
			continue
		case "halt":
			out = append(out, Record{Kind: Halt, Line: i + 1, Conds: conds})
			i++
		case "hash-threshold":
			if len(f) < 2 {
				return nil, i, fmt.Errorf("hash-threshold needs a number")
			}
			out = append(out, Record{Kind: HashThreshold, Line: i + 1, Arg: f[1], Conds: conds})
			i++
		case "statement":
			rec := Record{Kind: Statement, Line: i + 1, Conds: conds, Session: session}
			if len(f) < 2 || f[1] != "ok" && f[1] != "error" && f[1] != "count" {
				return nil, i, fmt.Errorf("statement needs ok or error")
			}
			if f[1] == "error" {
				rec.ExpectError = true
				if len(f) > 2 && len(f[2]) == 5 {
					rec.Code = f[2]
				}
			}
			var err error
			if rec.SQL, i, err = p.sql(i+1, vars, nil); err != nil {
				return nil, i, err
			}
			out = append(out, rec)
		case "query":
			rec := Record{Kind: Query, Line: i + 1, Conds: conds, Session: session}
			rest := f[1:]
			if len(rest) > 0 && rest[0] == "error" {
				rec.Kind, rec.ExpectError = Statement, true
				rest = nil
			}
			if len(rest) > 0 {
				rec.Types, rest = rest[0], rest[1:]
			}
			if len(rest) > 0 {
				switch rest[0] {
				case "nosort":
				case "rowsort":
					rec.Sort = RowSort
				case "valuesort":
					rec.Sort = ValueSort
				default:
					return nil, i, fmt.Errorf("unknown sort mode %q", rest[0])
				}
				if len(rest) > 1 {
					rec.Label = rest[1]
				}
			}
			sep := false
			var err error
			if rec.SQL, i, err = p.sql(i+1, vars, &sep); err != nil {
				return nil, i, err
			}
			if sep {
				rec.rowsStart = i + 1
				i = p.expected(i, vars, &rec)
				rec.rowsEnd = i + 1
			}
			out = append(out, rec)
		default:
			return nil, i, fmt.Errorf("unknown directive %q", f[0])
		}
		conds, session = nil, ""
	}
	if inLoop {
		return nil, i, fmt.Errorf("loop without endloop")
	}
	return out, i, nil
}

// sql collects the SQL text: up to a blank line, or "----" when sep is not nil.
func (p *parser) sql(i int, vars map[string]string, sep *bool) (string, int, error) {
	var b strings.Builder
	for i < len(p.file.Lines) {
		l := p.file.Lines[i]
		if strings.TrimSpace(l) == "" {
			break
		}
		if strings.TrimSpace(l) == "----" {
			if sep != nil {
				*sep = true
				return b.String(), i + 1, nil
			}
			// An expected error message block: skipped up to the blank line.
			for i < len(p.file.Lines) && strings.TrimSpace(p.file.Lines[i]) != "" {
				i++
			}
			break
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(subst(l, vars))
		i++
	}
	if b.Len() == 0 {
		return "", i, fmt.Errorf("record without SQL")
	}
	return b.String(), i, nil
}

// expected collects the result block up to a blank line.
func (p *parser) expected(i int, vars map[string]string, rec *Record) int {
	rec.Rows = []string{}
	for i < len(p.file.Lines) && p.file.Lines[i] != "" {
		rec.Rows = append(rec.Rows, subst(p.file.Lines[i], vars))
		i++
	}
	if len(rec.Rows) == 1 {
		if n, h, ok := parseHash(rec.Rows[0]); ok {
			rec.Values, rec.Hash, rec.Rows = n, h, nil
		}
	}
	return i
}

// parseHash recognises "30 values hashing to 3c13dee48d9356ae19af2515e05e6b54".
func parseHash(s string) (n int, hash string, ok bool) {
	f := strings.Fields(s)
	if len(f) != 5 || f[1] != "values" || f[2] != "hashing" || f[3] != "to" {
		return 0, "", false
	}
	n, err := strconv.Atoi(f[0])
	return n, f[4], err == nil
}

func loopValues(f []string) ([]string, error) {
	if f[0] == "foreach" {
		if len(f) < 2 {
			return nil, fmt.Errorf("foreach needs a variable")
		}
		return f[2:], nil
	}
	if len(f) < 4 {
		return nil, fmt.Errorf("loop needs a variable and two bounds")
	}
	lo, err1 := strconv.Atoi(f[2])
	hi, err2 := strconv.Atoi(f[3])
	if err1 != nil || err2 != nil || hi-lo > 1_000_000 {
		return nil, fmt.Errorf("bad loop bounds %s %s", f[2], f[3])
	}
	var out []string
	for v := lo; v < hi; v++ {
		out = append(out, strconv.Itoa(v))
	}
	return out, nil
}

// subst replaces ${name} by the loop variable's value.
func subst(s string, vars map[string]string) string {
	for k, v := range vars {
		s = strings.ReplaceAll(s, "${"+k+"}", v)
	}
	return s
}
