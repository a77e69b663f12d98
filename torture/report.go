package torture

import (
	"fmt"
	"io"
	"sort"
	"time"

	"ostraka/torture/workload"
)

// Report of a run.
type Report struct {
	Options
	Begin   time.Time
	Load    time.Duration
	Faults  []occurrence
	Crashes []string // nodes that ended by themselves
	Unrest  []string // what did not come to rest
	Results []Result
}

// Result of one workload.
type Result struct {
	Workload string
	workload.Result
	OK, Failed, Unknown int
	Errors              map[string]int
}

// Problems are the reasons why the run failed; none: it passed.
func (r *Report) Problems() []string {
	var out []string
	out = append(out, r.Crashes...)
	for _, u := range r.Unrest {
		out = append(out, "the cluster did not come to rest: "+u)
	}
	for _, f := range r.Faults {
		if f.Evidence == "" {
			out = append(out, fmt.Sprintf("a planned fault did not occur: %v", f))
		} else if f.Err != nil {
			out = append(out, fmt.Sprintf("after a fault: %v: %v", f, f.Err))
		}
	}
	for _, w := range r.Results {
		for _, a := range w.Anomalies {
			out = append(out, fmt.Sprintf("%s: %v", w.Workload, a))
		}
		if w.OK == 0 {
			out = append(out, w.Workload+": nothing was acknowledged: the run shows nothing")
		}
	}
	return out
}

// Anomalies counts what checkers found that was not allowed.
func (r *Report) Anomalies() int {
	n := 0
	for _, w := range r.Results {
		n += len(w.Anomalies)
	}
	return n
}

// maxShown bounds the problems that Print writes out.
const maxShown = 20

// Print writes the report.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "seed %d, %d nodes, %d clients a workload, load for %.0fs\n\nfaults\n", r.Seed, r.Nodes, r.Clients, r.Load.Seconds())
	for _, f := range r.Faults {
		fmt.Fprintf(w, "  %v\n", f)
	}
	fmt.Fprintf(w, "\nworkloads\n")
	ok := 0
	for _, x := range r.Results {
		ok += x.OK
		state := "ok"
		switch {
		case len(x.Anomalies) > 0:
			state = fmt.Sprintf("%d ANOMALIES", len(x.Anomalies))
		case x.Undecided:
			state = "ok so far as decided"
		}
		fmt.Fprintf(w, "  %-36s %6d ok %5d failed %4d unknown  %s", x.Workload, x.OK, x.Failed, x.Unknown, state)
		if x.Note != "" {
			fmt.Fprintf(w, " (%s)", x.Note)
		}
		fmt.Fprintln(w)
	}
	errs := map[string]int{}
	for _, x := range r.Results {
		for e, n := range x.Errors {
			errs[e] += n
		}
	}
	var texts []string
	for e := range errs {
		texts = append(texts, e)
	}
	sort.Slice(texts, func(i, j int) bool { return errs[texts[i]] > errs[texts[j]] })
	fmt.Fprintf(w, "\nerrors that clients saw\n")
	for _, e := range texts[:min(len(texts), 25)] {
		fmt.Fprintf(w, "  %5d × %.160s\n", errs[e], e)
	}
	problems := r.Problems()
	for i, p := range problems[:min(len(problems), maxShown)] {
		fmt.Fprintf(w, "\nproblem %d: %.4000s\n", i+1, p)
	}
	if len(problems) == 0 {
		fmt.Fprintf(w, "\nPASSED: %d operations acknowledged, no anomaly, every planned fault occurred\n", ok)
	} else {
		fmt.Fprintf(w, "\nFAILED: %d problems\n", len(problems))
	}
}
