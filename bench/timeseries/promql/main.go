// Command promql compares PromQL answers: it writes the data of package promset to
// Ostraka and to Prometheus by remote write and sends all its queries to both HTTP
// APIs. With -record it writes Prometheus's answers, which a test of package node
// compares with on its own.
//
//	go build -o bin/ostraka ./cmd/ostraka
//	go run ./bench/timeseries/promql -program bin/ostraka -prometheus /usr/bin/prometheus [-record node/testdata/promql.json]
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ostraka/bench/servers"
	"ostraka/bench/timeseries/promset"
)

func main() {
	program := flag.String("program", "bin/ostraka", "the ostraka binary")
	prometheus := flag.String("prometheus", "/usr/bin/prometheus", "the prometheus binary")
	record := flag.String("record", "", "file for Prometheus's answers")
	flag.Parse()
	if err := run(*program, *prometheus, *record); err != nil {
		log.Fatal(err)
	}
}

func run(program, prometheus, record string) error {
	dir, err := os.MkdirTemp("", "ostraka-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours := fmt.Sprintf("http://127.0.0.1:%d", servers.FreePort())
	o, err := servers.Ostraka(program, dir, 1, "--http", strings.TrimPrefix(ours, "http://"))
	if err != nil {
		return err
	}
	defer o.Close()
	theirs := fmt.Sprintf("http://127.0.0.1:%d", servers.FreePort())
	conf := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(conf, []byte("global: {}\n"), 0o600); err != nil {
		return err
	}
	p, err := servers.Daemon("prometheus", theirs+"/-/ready", filepath.Join(dir, "log"), exec.Command(prometheus, "--config.file", conf,
		"--storage.tsdb.path", filepath.Join(dir, "prometheus"), "--web.listen-address", strings.TrimPrefix(theirs, "http://"),
		"--web.enable-remote-write-receiver", "--storage.tsdb.retention.time", "100y"))
	if err != nil {
		return err
	}
	defer p.Close()
	body, err := promset.Request()
	if err != nil {
		return err
	}
	for _, base := range []string{ours, theirs} {
		r, err := http.Post(base+"/api/v1/write", "application/x-protobuf", bytes.NewReader(body))
		if err != nil {
			return err
		}
		text, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if r.StatusCode/100 != 2 {
			return fmt.Errorf("%s: %s: %s", base, r.Status, text)
		}
	}
	equal, n := 0, 0
	answers := map[string]promset.Answer{}
	ask := func(path, text string, ordered bool) error {
		got, err := get(ours + path)
		if err != nil {
			return err
		}
		want, err := get(theirs + path)
		if err != nil {
			return err
		}
		answers[path] = want
		n++
		if why := promset.Same(got, want, ordered); why != "" {
			fmt.Printf("%s\n  %s: %s\n", path, text, why)
			return nil
		}
		equal++
		return nil
	}
	for _, q := range promset.Queries() {
		if err := ask(q.Path(), q.Text, q.Ordered()); err != nil {
			return err
		}
	}
	for _, path := range promset.Paths {
		if err := ask(path, "", true); err != nil {
			return err
		}
	}
	fmt.Printf("%d of %d answers equal\n", equal, n)
	if record == "" {
		return nil
	}
	return write(record, answers)
}

// write writes one answer a line.
func write(path string, answers map[string]promset.Answer) error {
	out := []byte("{\n")
	for i, k := range slices.Sorted(maps.Keys(answers)) {
		if i > 0 {
			out = append(out, ",\n"...)
		}
		name, err := json.Marshal(k)
		if err != nil {
			return err
		}
		a, err := json.Marshal(answers[k])
		if err != nil {
			return err
		}
		out = append(append(append(out, name...), ": "...), a...)
	}
	return os.WriteFile(path, append(out, "\n}\n"...), 0o644)
}

func get(url string) (a promset.Answer, err error) {
	r, err := http.Get(url)
	if err != nil {
		return a, err
	}
	defer r.Body.Close()
	a.Code = r.StatusCode
	a.Body, err = io.ReadAll(r.Body)
	return a, err
}
