package node

import (
	"encoding/json"
	"os"
	"testing"

	"ostraka/bench/timeseries/promset"
)

// TestPrometheusAnswers: the HTTP API answers as a Prometheus does that has the same
// samples; its answers were recorded by bench/timeseries/promql.
func TestPrometheusAnswers(t *testing.T) {
	n := alone(t, t.TempDir(), nil)
	w := web{t, "http://" + n.http.l.Addr().String()}
	body, err := promset.Request()
	if err != nil {
		t.Fatal(err)
	}
	if st, text := w.send("POST", "/api/v1/write", body); st != 204 {
		t.Fatal(st, text)
	}
	b, err := os.ReadFile("testdata/promql.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]promset.Answer
	if err := json.Unmarshal(b, &answers); err != nil {
		t.Fatal(err)
	}
	ask := func(path string, ordered bool) {
		t.Helper()
		want, recorded := answers[path]
		if !recorded {
			t.Errorf("%s: no recorded answer", path)
			return
		}
		st, text := w.send("GET", path, nil)
		if why := promset.Same(promset.Answer{Code: st, Body: []byte(text)}, want, ordered); why != "" {
			t.Errorf("%s\n%s", path, why)
		}
	}
	for _, q := range promset.Queries() {
		ask(q.Path(), q.Ordered())
	}
	for _, path := range promset.Paths {
		ask(path, true)
	}
}
