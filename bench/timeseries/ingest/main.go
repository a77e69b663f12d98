// Command ingest compares what writing samples over HTTP costs: line protocol to
// Ostraka, VictoriaMetrics and InfluxDB, remote write to Ostraka, VictoriaMetrics and
// Prometheus, the same request bodies for each, on one machine, one system after the
// other in every round. A figure is samples per second of CPU time of the server's
// process, from /proc, its flushes and compactions included: the clock stops when the
// server has become idle. The generator's CPU time does not count.
//
// InfluxDB and Ostraka fsync their log before they answer; "ostraka, no fsync" is
// with synchronous_commit=off. VictoriaMetrics has no log: rows are in memory for some
// seconds. Prometheus writes a log without fsync.
//
//	go build -o bin/ostraka ./cmd/ostraka
//	go run ./bench/timeseries/ingest -program bin/ostraka -peers /usr/bin -steps 10000
//
// The peers are Debian's packages victoria-metrics, influxdb and prometheus; they
// may be unpacked anywhere (dpkg-deb -x), -peers is the directory of the programs.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ostraka/bench/timeseries"
)

type figure struct{ perCPU, perSecond, bytes float64 }

func main() {
	program := flag.String("program", "bin/ostraka", "the ostraka binary")
	peers := flag.String("peers", "/usr/bin", "directory of the peers' programs")
	steps := flag.Int("steps", 10_000, "rows per series")
	series := flag.Int("series", 1000, "series")
	per := flag.Int("per", 5, "steps in one request")
	rounds := flag.Int("rounds", 1, "rounds; the median counts")
	only := flag.String("only", "", "name of the only system to measure")
	profile := flag.Int("wait", 0, "seconds to wait before the server is stopped, to look at it")
	flag.Parse()
	got := map[string][]figure{}
	var names []string
	for range *rounds {
		for _, s := range systems(*program, *peers) {
			if *only != "" && s.name != *only {
				continue
			}
			f, err := measure(s, *series, *steps, *per, time.Duration(*profile)*time.Second)
			if err != nil {
				log.Fatalf("%s: %v", s.name, err)
			}
			if got[s.name] == nil {
				names = append(names, s.name)
			}
			got[s.name] = append(got[s.name], f)
		}
	}
	fmt.Println("| system | samples per CPU second | samples per second | bytes on disk per sample |\n|---|---|---|---|")
	for _, n := range names {
		list := got[n]
		slices.SortFunc(list, func(a, b figure) int { return int(a.perCPU - b.perCPU) })
		f := list[len(list)/2]
		fmt.Printf("| %s | %.2f M | %.2f M | %.1f |\n", n, f.perCPU/1e6, f.perSecond/1e6, f.bytes)
	}
}

func measure(s system, series, steps, per int, wait time.Duration) (f figure, err error) {
	dir, err := os.MkdirTemp("", "ostraka-bench-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	srv, url, err := s.start(dir)
	if err != nil {
		return f, err
	}
	defer srv.Close()
	gen := timeseries.New(series)
	srv.Settled()
	from := srv.CPU()
	var busy time.Duration
	for at := 0; at < steps; at += per {
		body := s.encode(gen, at, per)
		began := time.Now()
		if err := post(url, s.header, body); err != nil {
			return f, err
		}
		busy += time.Since(began)
	}
	time.Sleep(wait)
	if s.flush != nil {
		if err := s.flush(url); err != nil {
			return f, err
		}
	}
	srv.Settled()
	n := float64(series * steps)
	f = figure{n / (srv.CPU() - from).Seconds(), n / busy.Seconds(), float64(size(dir)) / n}
	return f, nil
}

func post(url string, header http.Header, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err == nil && r.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return err
}

// size is the number of bytes that files below dir take.
func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if i, err := d.Info(); err == nil {
				n += i.Size()
			}
		}
		return nil
	})
	return n
}
