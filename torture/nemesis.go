package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"ostraka/torture/cluster"
)

// occurrence is what came of one planned fault.
type occurrence struct {
	Fault
	Nodes    []string // whom it concerned
	Evidence string   // what shows that it happened; "" : it did not
	Err      error
}

func (o occurrence) String() string {
	s := o.Fault.String() + fmt.Sprintf("  nodes %v: ", o.Nodes)
	if o.Evidence == "" {
		return s + fmt.Sprintf("DID NOT OCCUR: %v", o.Err)
	}
	return s + o.Evidence
}

// nemesis carries out a schedule.
type nemesis struct {
	c   *cluster.Cluster
	log func(format string, args ...any)

	mu   sync.Mutex
	done []occurrence // guarded by mu
	// busy are nodes that another fault has stopped or killed; guarded by mu.
	busy map[*cluster.Node]bool
}

// run carries out the faults, each at its time, and returns when the last has healed.
func (n *nemesis) run(ctx context.Context, faults []Fault) []occurrence {
	begin := time.Now()
	n.busy = map[*cluster.Node]bool{}
	var wg sync.WaitGroup
	for i, f := range faults {
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(begin.Add(f.At))):
		}
		if ctx.Err() != nil {
			for _, f := range faults[i:] {
				n.finished(occurrence{Fault: f, Err: ctx.Err()})
			}
			break
		}
		if alone(f.Kind) {
			wg.Wait() // these need a cluster that is whole
		}
		wg.Add(1)
		run := func() {
			defer wg.Done()
			n.finished(n.one(ctx, f))
		}
		if alone(f.Kind) {
			run()
		} else {
			go run()
		}
	}
	wg.Wait()
	n.c.Links.Heal()
	return n.done
}

func (n *nemesis) finished(o occurrence) {
	n.log("%v", o)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.done = append(n.done, o)
}

func (n *nemesis) one(ctx context.Context, f Fault) occurrence {
	o := occurrence{Fault: f}
	nodes, err := n.choose(ctx, f)
	if err != nil {
		o.Err = err
		return o
	}
	for _, x := range nodes {
		o.Nodes = append(o.Nodes, x.ID)
	}
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, x := range nodes {
			if !ofLinks(f.Kind) {
				delete(n.busy, x)
			}
		}
	}()
	switch f.Kind {
	case Kill, KillAll:
		o.Evidence, o.Err = n.kill(ctx, f, nodes)
	case Pause:
		o.Evidence, o.Err = n.pause(ctx, f, nodes)
	case Partition, Asymmetric, SlowLink:
		o.Evidence, o.Err = n.links(ctx, f, nodes)
	case SlowDisk, Clock:
		o.Evidence, o.Err = n.inside(ctx, f, nodes)
	case Membership:
		o.Evidence, o.Err = n.membership(ctx, f, nodes[0])
	case Rolling:
		o.Evidence, o.Err = n.rolling(ctx, f)
	}
	return o
}

// choose resolves a role to nodes and marks them busy; it waits for a leader and
// until other faults leave as many nodes as the role has.
func (n *nemesis) choose(ctx context.Context, f Fault) ([]*cluster.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		lead, err := n.c.Leader(ctx)
		if err == nil || f.Role == "all" || f.Role == Majority { // who leads does not matter

			if nodes := n.pick(f, lead); len(nodes) > 0 {
				return nodes, nil
			}
			err = errors.New("no node fits its role that is not in another fault")
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (n *nemesis) pick(f Fault, lead *cluster.Node) []*cluster.Node {
	rng := rand.New(rand.NewPCG(f.Pick, 1))
	all := append([]*cluster.Node(nil), n.c.Nodes...)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	n.mu.Lock()
	defer n.mu.Unlock()
	out := choice(f, lead, all, func(x *cluster.Node) bool { return ofLinks(f.Kind) || !n.busy[x] })
	for _, x := range out {
		if !ofLinks(f.Kind) {
			n.busy[x] = true
		}
	}
	return out
}

// choice is the nodes that a fault's role means, in the order of all; none if
// there are not as many as it means that are free.
func choice(f Fault, lead *cluster.Node, all []*cluster.Node, free func(*cluster.Node) bool) []*cluster.Node {
	few := (len(all) - 1) / 2
	var out []*cluster.Node
	want := 1
	add := func(from ...*cluster.Node) {
		for _, x := range from {
			if len(out) < want && free(x) && !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	followers := slices.DeleteFunc(slices.Clone(all), func(x *cluster.Node) bool { return x == lead })
	switch f.Role {
	case Leader:
		add(lead)
	case WithLead:
		if add(lead); len(out) == 1 {
			want = few
			add(followers...)
		}
	case Follower:
		add(followers...)
	case Minority:
		want = few
		add(followers...)
	case Majority:
		want = few + 1
		add(all...)
	default:
		want = len(all)
		add(all...)
	}
	if len(out) < want {
		return nil
	}
	return out
}

// ofLinks: faults of the network, which can meet a node that has another one.
func ofLinks(k Kind) bool { return k == Partition || k == Asymmetric || k == SlowLink }

func (n *nemesis) sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// start starts a node again, whatever happens to the run.
func (n *nemesis) start(ctx context.Context, x *cluster.Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*patience)
	defer cancel()
	return x.Start(ctx)
}

func (n *nemesis) kill(ctx context.Context, f Fault, nodes []*cluster.Node) (string, error) {
	var killed []string
	for _, x := range nodes {
		if x.Kill() {
			killed = append(killed, x.ID)
		}
	}
	n.sleep(ctx, f.For)
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, x := range nodes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = n.start(ctx, x)
		}()
	}
	wg.Wait()
	if len(killed) < len(nodes) {
		return "", fmt.Errorf("only %v were alive: %w", killed, errors.Join(errs...))
	}
	return "killed and started again", errors.Join(errs...)
}

func (n *nemesis) pause(ctx context.Context, f Fault, nodes []*cluster.Node) (string, error) {
	stopped := 0
	for _, x := range nodes {
		if x.Pause() {
			stopped++
		}
	}
	n.sleep(ctx, f.For)
	for _, x := range nodes {
		x.Resume()
	}
	if stopped < len(nodes) {
		return "", fmt.Errorf("%d of %d processes stopped", stopped, len(nodes))
	}
	return "stopped, as the kernel says", nil
}

// links cuts or slows what lies between the nodes and the others.
func (n *nemesis) links(ctx context.Context, f Fault, nodes []*cluster.Node) (string, error) {
	var edges []cluster.Edge
	for _, a := range n.c.Nodes {
		for _, b := range n.c.Nodes {
			in := slices.Contains(nodes, a)
			if in != slices.Contains(nodes, b) && (f.Kind != Asymmetric || in == f.Flag) {
				edges = append(edges, cluster.Edge{From: a.ID, To: b.ID})
			}
		}
	}
	rule := cluster.Link{Cut: true, Reset: f.Flag && f.Kind == Partition}
	if f.Kind == SlowLink {
		rule = cluster.Link{Delay: f.Amount / 2, Jitter: f.Amount}
	}
	d := n.c.Links.Disturb(rule, edges)
	// Members talk all the time, but not ones that another fault has stopped.
	err := window{length: f.For, extra: patience, met: func(_ context.Context, x *cluster.Node) (bool, error) { return d.Met(x.ID) > 0, nil }}.stayOpen(ctx, nodes)
	d.Lift()
	if err != nil {
		return "", fmt.Errorf("sending over the disturbed links: %w", err)
	}
	return d.String(), nil
}

// inside are the faults that a node's process has of its own.
func (n *nemesis) inside(ctx context.Context, f Fault, nodes []*cluster.Node) (string, error) {
	word, what, provoke := "disk", "syncs delayed", n.write
	count := func(s cluster.Stat) int64 { return s.SlowSyncs }
	if f.Kind == Clock {
		word, what, provoke = "clock", "readings of the clock", n.readClock
		count = func(s cluster.Stat) int64 { return s.ClockReads }
	}
	tell := func(ctx context.Context, x *cluster.Node, command string) (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, patience/2)
		defer cancel()
		s, err := x.Tell(ctx, command)
		return count(s), err
	}
	before, now := map[*cluster.Node]int64{}, map[*cluster.Node]int64{}
	var errs []error
	for _, x := range nodes {
		v, err := tell(ctx, x, word+" "+f.Amount.String())
		before[x], errs = v, append(errs, err)
	}
	met := func(ctx context.Context, x *cluster.Node) (bool, error) {
		v, err := tell(ctx, x, "stat")
		now[x] = v
		return v > before[x], err
	}
	errs = append(errs, window{length: f.For, extra: patience, met: met, provoke: provoke}.stayOpen(ctx, nodes))
	total := int64(0)
	for _, x := range nodes {
		_, err := tell(context.WithoutCancel(ctx), x, word+" 0s")
		errs = append(errs, err)
		total += now[x] - before[x]
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %s", total, what), nil
}

// write makes one entry of the log, which every member syncs: through x, or
// through another node where x does not reach the leader.
func (n *nemesis) write(ctx context.Context, x *cluster.Node) error {
	err := cluster.Exec(ctx, x, provoked)
	for _, y := range n.c.Nodes {
		if err == nil {
			break
		}
		if y != x {
			err = cluster.Exec(ctx, y, provoked)
		}
	}
	return err
}

// provoked is a write that changes no data.
const provoked = "NOTIFY torture, 'a write for a fault to meet'"

// readClock lets x read its clock.
func (n *nemesis) readClock(ctx context.Context, x *cluster.Node) error {
	return cluster.Exec(ctx, x, "SELECT clock_timestamp()")
}

// membership removes a voter and, later, brings it back.
func (n *nemesis) membership(ctx context.Context, f Fault, x *cluster.Node) (string, error) {
	var rest, all []string
	for _, y := range n.c.Nodes {
		all = append(all, y.ID)
		if y != x {
			rest = append(rest, y.ID)
		}
	}
	if err := n.admin(ctx, x, "SELECT raft_change_membership(ARRAY["+strings.Join(rest, ",")+"]::bigint[])", func(voters int) bool { return voters == len(rest) }); err != nil {
		return "", fmt.Errorf("removing node %s: %w", x.ID, err)
	}
	n.sleep(ctx, f.For)
	if err := n.admin(ctx, x, fmt.Sprintf("SELECT raft_add_learner(%s, '%s')", x.ID, x.RaftName()), nil); err != nil {
		return "", fmt.Errorf("adding node %s: %w", x.ID, err)
	}
	if err := n.admin(ctx, x, "SELECT raft_change_membership(ARRAY["+strings.Join(all, ",")+"]::bigint[])", func(voters int) bool { return voters == len(all) }); err != nil {
		return "", fmt.Errorf("promoting node %s: %w", x.ID, err)
	}
	return "left and came back", nil
}

// admin runs a cluster function on a node that is not x, until it succeeds and
// the number of voters is as wanted.
func (n *nemesis) admin(ctx context.Context, x *cluster.Node, sql string, done func(voters int) bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
	defer cancel()
	var err error
	for {
		for _, y := range n.c.Nodes {
			if y == x {
				continue
			}
			one, stop := context.WithTimeout(ctx, 20*time.Second)
			_, err = cluster.Query[string](one, y, sql)
			if err == nil && done != nil {
				var voters int
				voters, err = cluster.Query[int](one, y, "SELECT count(*) FROM ostraka.members WHERE suffrage = 'voter'")
				if err == nil && !done(voters) {
					err = fmt.Errorf("node %s says %d voters", y.ID, voters)
				}
			}
			stop()
			if err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// rolling restarts the nodes in turn, each when the one before is back.
func (n *nemesis) rolling(ctx context.Context, f Fault) (string, error) {
	for _, x := range n.c.Nodes {
		if !x.Stop(15 * time.Second) {
			return "", fmt.Errorf("node %s was not running", x.ID)
		}
		if err := n.start(ctx, x); err != nil {
			return "", err
		}
		n.sleep(ctx, f.For/time.Duration(len(n.c.Nodes)))
	}
	return "every node was restarted", nil
}
