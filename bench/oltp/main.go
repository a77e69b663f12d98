// Command oltp compares Ostraka with PostgreSQL 15 under pgbench: interleaved
// rounds on one machine, fsync on for both, medians of the rounds. For every
// workload it prints transactions per second and server CPU time per transaction
// of both, and the ratios (Ostraka ÷ PostgreSQL for tps, PostgreSQL ÷ Ostraka for
// CPU: above 1 Ostraka is better).
//
//	go build -o bin/ostraka ./cmd/ostraka
//	go run ./bench/oltp -program bin/ostraka -rounds 5 -seconds 10
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ostraka/bench/servers"
)

// workload is one pgbench run.
type workload struct {
	name string
	args []string
	file string // custom script
}

const (
	updateScript = "\\set id random(1, 100000)\nUPDATE bench_update SET v = v + 1 WHERE id = :id;\n"
	insertScript = "\\set v random(1, 1000000)\nINSERT INTO bench_insert (v) VALUES (:v);\n"
)

func workloads() []workload {
	var out []workload
	add := func(name, file string, args ...string) { out = append(out, workload{name, args, file}) }
	add("select prepared c8", "", "-S", "-M", "prepared", "-c", "8")
	add("select simple c8", "", "-S", "-M", "simple", "-c", "8")
	add("select extended c8", "", "-S", "-M", "extended", "-c", "8")
	for _, c := range []string{"8", "32"} {
		add("update prepared c"+c, updateScript, "-M", "prepared", "-c", c)
		add("insert prepared c"+c, insertScript, "-M", "prepared", "-c", c)
	}
	add("tpcb prepared c8", "", "-M", "prepared", "-c", "8")
	add("tpcb simple c8", "", "-M", "simple", "-c", "8")
	return out
}

func main() {
	program := flag.String("program", "bin/ostraka", "the ostraka binary")
	rounds := flag.Int("rounds", 5, "interleaved rounds")
	seconds := flag.Int("seconds", 10, "length of one run")
	scale := flag.Int("scale", 10, "pgbench scale")
	nodes := flag.Int("nodes", 1, "Ostraka nodes; with 3, PostgreSQL has two standbys of which any one must confirm")
	only := flag.String("only", "", "run only workloads whose name matches this regular expression")
	flag.Parse()
	if err := bench(*program, *rounds, *seconds, *scale, *nodes, *only); err != nil {
		log.Fatal(err)
	}
}

func bench(program string, rounds, seconds, scale, nodes int, only string) error {
	dir, err := os.MkdirTemp("", "ostraka-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_ = os.Chmod(dir, 0o755)
	pg, err := servers.Postgres(filepath.Join(dir, "postgresql"), nodes-1)
	if err != nil {
		return err
	}
	defer pg.Close()
	os_, err := servers.Ostraka(program, filepath.Join(dir, "ostraka"), nodes)
	if err != nil {
		return err
	}
	defer os_.Close()
	systems := []*servers.Server{pg, os_}
	for _, s := range systems {
		if err := prepare(s, scale); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	fmt.Printf("%-22s %10s %10s %7s   %10s %10s %7s\n", "workload", "pg tps", "os tps", "ratio", "pg µs/tx", "os µs/tx", "ratio")
	for _, w := range workloads() {
		if match.MatchString(w.name) {
			if err := compare(w, systems, rounds, seconds, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func prepare(s *servers.Server, scale int) error {
	if err := pgbench(s, "-i", "-q", "-s", strconv.Itoa(scale)); err != nil {
		return err
	}
	return psql(s, "CREATE TABLE bench_update (id int PRIMARY KEY, v int NOT NULL)",
		"INSERT INTO bench_update SELECT g, 0 FROM generate_series(1, 100000) g",
		"CREATE TABLE bench_insert (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v int NOT NULL)", "ANALYZE")
}

func command(s *servers.Server, name string, args ...string) *exec.Cmd {
	return exec.Command(name, append([]string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.Port), "-U", s.User}, args...)...)
}

func pgbench(s *servers.Server, args ...string) error {
	out, err := command(s, "pgbench", append(args, "postgres")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgbench %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func psql(s *servers.Server, statements ...string) error {
	args := []string{"-v", "ON_ERROR_STOP=1", "-q", "-d", "postgres"}
	for _, st := range statements {
		args = append(args, "-c", st)
	}
	if out, err := command(s, "psql", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %w\n%s", err, out)
	}
	return nil
}

var tpsLine = regexp.MustCompile(`tps = ([0-9.]+)`)
var countLine = regexp.MustCompile(`number of transactions actually processed: (\d+)`)

// sample is one run.
type sample struct{ tps, cpu float64 }

func one(w workload, s *servers.Server, seconds int, dir string) (sample, error) {
	args := append([]string{"-n", "-T", strconv.Itoa(seconds), "-j", "2"}, w.args...)
	if w.file != "" {
		path := filepath.Join(dir, "script.sql")
		if err := os.WriteFile(path, []byte(w.file), 0o644); err != nil {
			return sample{}, err
		}
		args = append(args, "-f", path)
	}
	before := s.CPU()
	out, err := command(s, "pgbench", append(args, "postgres")...).CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("%s: pgbench %s: %w\n%s", s.Name, strings.Join(args, " "), err, out)
	}
	cpu := s.CPU() - before
	tps, count := tpsLine.FindSubmatch(out), countLine.FindSubmatch(out)
	if tps == nil || count == nil {
		return sample{}, fmt.Errorf("%s: unexpected output of pgbench:\n%s", s.Name, out)
	}
	t, _ := strconv.ParseFloat(string(tps[1]), 64)
	n, _ := strconv.ParseFloat(string(count[1]), 64)
	return sample{t, float64(cpu/time.Microsecond) / max(n, 1)}, nil
}

func compare(w workload, systems []*servers.Server, rounds, seconds int, dir string) error {
	samples := make([][]sample, len(systems))
	for range rounds {
		for i, s := range systems {
			x, err := one(w, s, seconds, dir)
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], x)
		}
	}
	tps := func(i int) float64 { return median(samples[i], func(s sample) float64 { return s.tps }) }
	cpu := func(i int) float64 { return median(samples[i], func(s sample) float64 { return s.cpu }) }
	fmt.Printf("%-22s %10.0f %10.0f %6.2fx   %10.1f %10.1f %6.2fx\n", w.name, tps(0), tps(1), tps(1)/tps(0), cpu(0), cpu(1), cpu(0)/cpu(1))
	return nil
}

func median(list []sample, f func(sample) float64) float64 {
	var v []float64
	for _, s := range list {
		v = append(v, f(s))
	}
	slices.Sort(v)
	return v[len(v)/2]
}
