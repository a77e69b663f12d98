package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	for _, f := range faults {
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(begin.Add(f.At))):
		}
		if ctx.Err() != nil {
			break
		}
		if alone(f.Kind) {
			wg.Wait() // these need a cluster that is whole
		}
		wg.Add(1)
		run := func() {
			defer wg.Done()
			o := n.one(ctx, f)
			n.log("%v", o)
			n.mu.Lock()
			n.done = append(n.done, o)
			n.mu.Unlock()
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

// choose resolves a role to nodes and marks them busy; it waits for a leader.
func (n *nemesis) choose(ctx context.Context, f Fault) ([]*cluster.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		lead, err := n.c.Leader(ctx)
		if err == nil {
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
	few := (len(all) - 1) / 2
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []*cluster.Node
	add := func(x *cluster.Node, limit int) {
		if len(out) < limit && (ofLinks(f.Kind) || !n.busy[x]) {
			out = append(out, x)
		}
	}
	switch f.Role {
	case Leader:
		add(lead, 1)
	case WithLead:
		add(lead, 1)
		for _, x := range all {
			if x != lead {
				add(x, few)
			}
		}
	case Follower, Minority:
		limit := few
		if f.Role == Follower {
			limit = 1
		}
		for _, x := range all {
			if x != lead {
				add(x, limit)
			}
		}
	case Majority:
		for _, x := range all {
			add(x, few+1)
		}
	default:
		for _, x := range all {
			add(x, len(all))
		}
	}
	for _, x := range out {
		if !ofLinks(f.Kind) {
			n.busy[x] = true
		}
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
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
	held, slowed, broken := n.c.Links.Hits()
	in := map[*cluster.Node]bool{}
	for _, x := range nodes {
		in[x] = true
	}
	set := func(rule cluster.Link) {
		for _, a := range n.c.Nodes {
			for _, b := range n.c.Nodes {
				if a == b || in[a] == in[b] {
					continue
				}
				if f.Kind == Asymmetric && in[a] != f.Flag {
					continue
				}
				n.c.Links.Set(a.ID, b.ID, rule)
			}
		}
	}
	rule := cluster.Link{Cut: true, Reset: f.Flag && f.Kind == Partition}
	if f.Kind == SlowLink {
		rule = cluster.Link{Delay: f.Amount / 2, Jitter: f.Amount}
	}
	set(rule)
	n.sleep(ctx, f.For)
	set(cluster.Link{})
	h, s, b := n.c.Links.Hits()
	switch {
	case f.Kind == SlowLink && s == slowed:
		return "", errors.New("nothing was sent over the slow links")
	case f.Kind != SlowLink && h == held:
		return "", errors.New("nothing was sent over the cut links")
	}
	return fmt.Sprintf("%d messages held, %d delayed, %d connections broken", h-held, s-slowed, b-broken), nil
}

// inside are the faults that a node's process has of its own.
func (n *nemesis) inside(ctx context.Context, f Fault, nodes []*cluster.Node) (string, error) {
	word := map[Kind]string{SlowDisk: "disk", Clock: "clock"}[f.Kind]
	tell := func(x *cluster.Node, command string) (cluster.Stat, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return x.Tell(ctx, command)
	}
	before := make([]cluster.Stat, len(nodes))
	var errs []error
	for i, x := range nodes {
		s, err := tell(x, word+" "+f.Amount.String())
		before[i], errs = s, append(errs, err)
	}
	n.sleep(ctx, f.For)
	total := int64(0)
	for i, x := range nodes {
		s, err := tell(x, word+" 0s")
		errs = append(errs, err)
		total += s.SlowSyncs - before[i].SlowSyncs + s.ClockReads - before[i].ClockReads
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	if total == 0 {
		return "", errors.New("nothing was delayed or read")
	}
	return fmt.Sprintf("%d syncs delayed or readings of the clock", total), nil
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
