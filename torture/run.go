package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/torture/cluster"
	"ostraka/torture/history"
	"ostraka/torture/workload"
)

// Options of a run.
type Options struct {
	Seed   uint64
	Length time.Duration // of the load; checking comes after it
	Nodes  int
	// Clients per workload; 0: one per node.
	Clients   int
	Workloads []workload.Workload
	Faults    []Kind
	// Plan replaces the schedule that Seed and Faults give.
	Plan []Fault
	Dir  string // data directories, logs and histories
	// Command and Env start a node (see cluster.Options).
	Command   []string
	Env       []string
	Heartbeat time.Duration
	// Rest is how long the cluster may take to come to rest after the last fault. Default 90 s.
	Rest time.Duration
	Log  func(format string, args ...any)
}

// Run does one run. The error is about the run itself, not about what it found.
func Run(ctx context.Context, opts Options) (*Report, error) {
	if opts.Clients == 0 {
		opts.Clients = opts.Nodes
	}
	if opts.Rest == 0 {
		opts.Rest = 90 * time.Second
	}
	if opts.Log == nil {
		opts.Log = func(string, ...any) {}
	}
	plan := opts.Plan
	if plan == nil {
		plan = Schedule(opts.Seed, opts.Length, opts.Faults)
	}
	rep := &Report{Options: opts, Begin: time.Now()}
	setup, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c, err := cluster.Start(setup, cluster.Options{Nodes: opts.Nodes, Dir: opts.Dir, Command: opts.Command, Env: opts.Env, Heartbeat: opts.Heartbeat, Seed: opts.Seed})
	if err != nil {
		return nil, fmt.Errorf("starting the cluster: %w", err)
	}
	defer c.Close()
	loads, err := prepare(setup, c, opts)
	if err != nil {
		return nil, err
	}
	opts.Log("seed %d: %d nodes, %d workloads, %d faults planned", opts.Seed, opts.Nodes, len(loads), len(plan))

	load, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, l := range loads {
		l.run(load, &wg)
	}
	n := &nemesis{c: c, log: opts.Log}
	begin := time.Now()
	rep.Faults = n.run(ctx, plan)
	select {
	case <-ctx.Done():
	case <-time.After(max(time.Until(begin.Add(opts.Length)), 2*time.Second)):
	}
	stop()
	wg.Wait()
	rep.Load = time.Since(begin)

	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.Rest)
	defer cancel()
	rep.Unrest = settle(rest, c, loads)
	rep.Crashes = c.Crashes()
	c.Close()
	for _, l := range loads {
		opts.Log("checking %s", l.Name)
		if err := l.save(opts.Dir); err != nil {
			return nil, err
		}
		rep.Results = append(rep.Results, l.result())
	}
	return rep, nil
}

// load is a workload at work.
type load struct {
	workload.Workload
	clients []*workload.Client
	rec     *history.Recorder
	errs    *workload.Errors
}

func prepare(ctx context.Context, c *cluster.Cluster, opts Options) ([]*load, error) {
	conn, err := c.Nodes[0].Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	var loads []*load
	for i, w := range opts.Workloads {
		l := &load{Workload: w, rec: history.NewRecorder(), errs: &workload.Errors{}}
		for _, sql := range w.Setup {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", w.Name, sql, err)
			}
		}
		for j := range opts.Clients {
			l.clients = append(l.clients, &workload.Client{Process: j, Node: c.Nodes[j%len(c.Nodes)], Rand: rand.New(rand.NewPCG(opts.Seed, uint64(i)<<16|uint64(j))),
				Rec: l.rec, Errors: l.errs, Read: w.Read, OpLimit: 10 * time.Second, All: c.Nodes})
		}
		loads = append(loads, l)
	}
	return loads, everywhere(ctx, conn, c)
}

// everywhere waits until every node has what conn has done: a local read may be
// older than the tables.
func everywhere(ctx context.Context, conn *pgx.Conn, c *cluster.Cluster) error {
	var position string
	if err := conn.QueryRow(ctx, "SHOW ostraka.position", pgx.QueryExecModeSimpleProtocol).Scan(&position); err != nil {
		return err
	}
	for _, n := range c.Nodes {
		other, err := n.Connect(ctx)
		if err != nil {
			return err
		}
		_, err = other.Exec(ctx, "SET ostraka.min_position = '"+position+"'; SELECT 1", pgx.QueryExecModeSimpleProtocol)
		if err = errors.Join(err, other.Close(ctx)); err != nil {
			return fmt.Errorf("node %s, waiting for the tables: %w", n.ID, err)
		}
	}
	return nil
}

func (l *load) run(ctx context.Context, wg *sync.WaitGroup) {
	for _, c := range l.clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer c.Close()
			for ctx.Err() == nil {
				l.Step(ctx, c)
			}
		}()
	}
}

// settle waits until every node answers with everything that was acknowledged, and
// lets the workloads read it; it returns what does not come to rest.
func settle(ctx context.Context, c *cluster.Cluster, loads []*load) []string {
	var out []string
	note := func(err error) {
		if err != nil {
			out = append(out, err.Error())
		}
	}
	note(c.AwaitVoters(ctx, len(c.Nodes)))
	for _, l := range loads {
		if l.Final == nil {
			continue
		}
		for i, n := range c.Nodes {
			// At rest even a local read must have everything, once it was waited for.
			r := &workload.Client{Process: 1000 + i, Node: n, Rec: l.rec, Errors: l.errs, Read: "linearizable", OpLimit: time.Minute, All: c.Nodes}
			if err := l.Final(ctx, r); err != nil {
				note(fmt.Errorf("%s: %w", l.Name, err))
			}
			r.Close()
		}
	}
	return out
}

// save writes the history beside the data.
func (l *load) save(dir string) error {
	f, err := os.Create(filepath.Join(dir, strings.NewReplacer("/", "-", " ", "-").Replace(l.Name)+".jsonl"))
	if err != nil {
		return err
	}
	if err := l.rec.History().Write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (l *load) result() Result {
	h := l.rec.History()
	r := Result{Workload: l.Name, Result: l.Check(h), Errors: l.errs.Counts()}
	r.OK, r.Failed, r.Unknown = h.Count()
	return r
}
