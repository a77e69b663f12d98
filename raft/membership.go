package raft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
	"ostraka/raft/transport"
)

// What hashicorp/raft calls its stable records.
const (
	stableTerm     = "CurrentTerm"
	stableVoteTerm = "LastVoteTerm"
)

var (
	// ErrNoMembers: a membership without members was asked for.
	ErrNoMembers = errors.New("raft: the set of members is empty")
	// ErrUnknownMember: a member is not known as a learner or voter.
	ErrUnknownMember = errors.New("raft: unknown member")
	// ErrBootstrapped: the group has members already.
	ErrBootstrapped = errors.New("raft: the group is bootstrapped already")
	// ErrNoLeader: the change needs a leader and there is none.
	ErrNoLeader = errors.New("raft: no leader is known")
)

// Bootstrap makes this node the only voter of a new group and waits until it
// leads. Call it on exactly one node. A second call returns ErrBootstrapped.
func (g *Group) Bootstrap(ctx context.Context) error {
	err := g.raft.BootstrapCluster(hraft.Configuration{Servers: []hraft.Server{{
		Suffrage: hraft.Voter,
		ID:       hraft.ServerID(g.self),
		Address:  hraft.ServerAddress(g.host.Addr()),
	}}}).Error()
	if errors.Is(err, hraft.ErrCantBootstrap) {
		return ErrBootstrapped
	}
	if err != nil {
		return err
	}
	g.trans.Campaign(ctx)
	_, err = g.waitLeader(ctx)
	return err
}

// undoHalfBootstrap makes a group that ended between the two writes of a bootstrap
// (term 1, then the membership as the first entry) one that can be bootstrapped.
// Nothing else leaves term 1 without a vote and without an entry: leaders have
// later terms.
func (g *Group) undoHalfBootstrap(applied uint64) error {
	stable := g.host.db.Stable(g.cfg.ID)
	last, err := g.store.LastIndex()
	if err != nil || last > 0 || applied > 0 {
		return err
	}
	term, err := stable.Number(stableTerm)
	if err != nil || term != 1 {
		return err
	}
	if vote, err := stable.Number(stableVoteTerm); err != nil || vote != 0 {
		return err
	}
	return stable.SetUint64([]byte(stableTerm), 0)
}

// waitLeader waits until this node leads.
func (g *Group) waitLeader(ctx context.Context) (uint64, error) {
	for {
		changed := g.lead.next()
		if l := g.lead.get(); l.IsLeader {
			return l.Term, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-g.stop:
			return 0, errClosed
		}
	}
}

// adminCall is the body of a forwarded membership call.
type adminCall struct {
	ID   string   `json:"id,omitempty"`
	Addr string   `json:"addr,omitempty"`
	IDs  []string `json:"ids,omitempty"`
}

type adminReply struct {
	Position commitlog.Position `json:"position"`
}

// AddLearner adds a node as a learner, who gets the log but has no vote, and
// returns when it has caught up, with the position of the membership. Adding a
// member again waits for it to catch up and updates its address. On a follower
// the call is forwarded to the leader.
func (g *Group) AddLearner(ctx context.Context, id, addr string) (commitlog.Position, error) {
	if n, err := strconv.ParseUint(id, 10, 64); err != nil || n == 0 {
		return commitlog.Position{}, fmt.Errorf("node id %q is not a positive decimal number", id)
	}
	if addr == "" {
		return commitlog.Position{}, errors.New("the address of the learner is missing")
	}
	return g.administer(ctx, opAddLearner, adminCall{ID: id, Addr: addr})
}

// Join asks the member of a group at addr to add this node, which hosts the group
// already: as a learner, and when it has caught up, as a voter. It can be called
// again, also by a node that is a member and has a new address. What joins is
// who the handshake says: with a join secret, only a node that knows it.
func (h *Host) Join(ctx context.Context, group uint32, addr string) (commitlog.Position, error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	var out adminReply
	err := h.control.Call(ctx, "", addr, opJoinVia, group, adminCall{Addr: h.Addr()}, &out)
	if err != nil {
		return out.Position, fmt.Errorf("joining group %d through %s: %w", group, addr, err)
	}
	return out.Position, nil
}

// ChangeMembership makes ids the voters of the group, one step at a time: first
// it promotes learners (when they have caught up), then it removes voters that
// are not in ids; other learners stay. It refuses an empty set and members that
// are not known. If the leader itself is to go it hands leadership to a remaining
// voter, who goes on. Every intermediate membership is a valid one, so a call
// that was interrupted is completed by calling again. On a follower the call is
// forwarded to the leader.
func (g *Group) ChangeMembership(ctx context.Context, ids []string) (commitlog.Position, error) {
	if len(ids) == 0 {
		return commitlog.Position{}, ErrNoMembers
	}
	return g.administer(ctx, opChange, adminCall{IDs: ids})
}

// TransferLeadership hands leadership to id, or to the most advanced follower if
// id is "". On a follower the call is forwarded to the leader. If id leads
// already it does nothing.
func (g *Group) TransferLeadership(ctx context.Context, id string) error {
	_, err := g.administer(ctx, opTransfer, adminCall{ID: id})
	return err
}

// RemoveMember takes a voter or learner, not the leader, out of the group; it does
// nothing when it is no member. The last voter is not removed. On a follower the
// call is forwarded to the leader.
func (g *Group) RemoveMember(ctx context.Context, id string) (commitlog.Position, error) {
	return g.administer(ctx, opRemove, adminCall{ID: id})
}

func (g *Group) remove(ctx context.Context, id string) (pos commitlog.Position, err error) {
	s, ok := g.member(id)
	switch {
	case !ok:
		pos.Index = g.raft.GetConfiguration().Index()
		return pos, nil
	case id == g.self:
		return pos, fmt.Errorf("node %s leads the group and cannot be removed", id)
	}
	if pos, err = g.step(ctx, g.raft.RemoveServer(s.ID, 0, g.stepTimeout())); err != nil {
		return pos, fmt.Errorf("removing node %s: %w", id, err)
	}
	return pos, nil
}

// patient gives a membership call, which may have to wait for a large checkpoint
// to be sent, an hour if its context has no deadline.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Hour)
}

// administer runs op here if this node leads, else on the leader.
func (g *Group) administer(ctx context.Context, op string, q adminCall) (commitlog.Position, error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	for {
		l := g.lead.get()
		changed := g.lead.next()
		switch {
		case l.IsLeader:
			pos, next, err := g.execute(ctx, op, q)
			if op != opTransfer && leadershipLost(err) {
				break // every step can be repeated; go on where leadership is
			}
			if err != nil || next == "" {
				return pos, err
			}
			// Leadership has been handed on; wait to see the heir, then go on there.
			if err := g.waitNot(ctx, g.self); err != nil {
				return pos, err
			}
			continue
		case l.LeaderID != "" && l.LeaderID != g.self:
			s, ok := g.member(l.LeaderID)
			if !ok {
				break
			}
			var out adminReply
			err := g.host.control.Call(ctx, l.LeaderID, string(s.Address), op, g.cfg.ID, q, &out)
			var remote *transport.RemoteError
			if errors.As(err, &remote) {
				switch remote.Code {
				case codeNotLeader:
					err = nil // it moved; look again
				case codeUnknownMember:
					return out.Position, fmt.Errorf("%w (%s)", ErrUnknownMember, remote.Text)
				}
				if err == nil {
					break
				}
			}
			return out.Position, err
		}
		t := time.NewTimer(g.timers.Heartbeat / 5)
		select {
		case <-changed:
			t.Stop()
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return commitlog.Position{}, fmt.Errorf("%w: %w", ErrNoLeader, ctx.Err())
		case <-g.stop:
			t.Stop()
			return commitlog.Position{}, errClosed
		}
	}
}

// Codes of remote errors.
const (
	codeNotLeader     = "not_leader"
	codeUnknownMember = "unknown_member"
)

// serveJoin runs Join for the caller, wherever leadership is.
func (g *Group) serveJoin(ctx context.Context, c transport.Call) (any, error) {
	var q adminCall
	if err := json.Unmarshal(c.Body, &q); err != nil {
		return nil, err
	}
	if n, err := strconv.ParseUint(c.From, 10, 64); err != nil || n == 0 || q.Addr == "" {
		return nil, fmt.Errorf("node %q at %q cannot join", c.From, q.Addr)
	}
	pos, err := g.administer(ctx, opJoin, adminCall{ID: c.From, Addr: q.Addr})
	return adminReply{Position: pos}, err
}

// serveAdmin runs a forwarded call if this node leads.
func (g *Group) serveAdmin(ctx context.Context, c transport.Call) (any, error) {
	var q adminCall
	if err := json.Unmarshal(c.Body, &q); err != nil {
		return nil, err
	}
	if !g.lead.get().IsLeader {
		return nil, &transport.RemoteError{Code: codeNotLeader, Text: fmt.Sprintf("node %s does not lead group %d", g.self, g.cfg.ID)}
	}
	pos, next, err := g.execute(ctx, c.Op, q)
	switch {
	case errors.Is(err, ErrUnknownMember):
		return nil, &transport.RemoteError{Code: codeUnknownMember, Text: err.Error()}
	case c.Op != opTransfer && leadershipLost(err), next != "" && err == nil:
		// The caller goes on with the heir.
		return nil, &transport.RemoteError{Code: codeNotLeader, Text: fmt.Sprintf("node %s does not lead group %d any more", g.self, g.cfg.ID)}
	}
	return adminReply{Position: pos}, err
}

// leadershipLost reports whether a step failed because this node stopped leading.
func leadershipLost(err error) bool {
	return errors.Is(err, hraft.ErrNotLeader) || errors.Is(err, hraft.ErrLeadershipLost) || errors.Is(err, hraft.ErrLeadershipTransferInProgress)
}

// execute runs op on the leader. next, if not "", is the node to whom leadership
// was handed and on which the call must go on.
func (g *Group) execute(ctx context.Context, op string, q adminCall) (pos commitlog.Position, next string, err error) {
	g.admin.Lock()
	defer g.admin.Unlock()
	switch op {
	case opAddLearner:
		pos, err = g.addLearner(ctx, q.ID, q.Addr)
		return pos, "", err
	case opJoin:
		if pos, err = g.addLearner(ctx, q.ID, q.Addr); err == nil {
			pos, err = g.promote(ctx, q.ID)
		}
		return pos, "", err
	case opChange:
		return g.changeMembership(ctx, q.IDs)
	case opRemove:
		pos, err = g.remove(ctx, q.ID)
		return pos, "", err
	case opTransfer:
		if q.ID == g.self {
			return pos, "", nil
		}
		return pos, "", g.transfer(ctx, q.ID)
	}
	return pos, "", fmt.Errorf("unknown call %q", op)
}

// step waits for one membership change of raft.
func (g *Group) step(ctx context.Context, f hraft.IndexFuture) (commitlog.Position, error) {
	done := make(chan error, 1)
	go func() { done <- f.Error() }() // raft answers: committed, or leadership lost
	select {
	case err := <-done:
		if err != nil {
			return commitlog.Position{}, err
		}
		return commitlog.Position{Index: f.Index()}, nil
	case <-ctx.Done():
		return commitlog.Position{}, ctx.Err()
	}
}

// stepTimeout bounds how long a change waits for the one before it.
func (g *Group) stepTimeout() time.Duration { return 10 * g.timers.Election }

func (g *Group) addLearner(ctx context.Context, id, addr string) (commitlog.Position, error) {
	if id != g.self {
		// A node that is not up yet may be added; one of another cluster would never catch up.
		call, cancel := context.WithTimeout(ctx, g.timers.Election)
		err := g.host.control.Call(call, id, addr, opPing, 0, struct{}{}, nil)
		cancel()
		if errors.Is(err, transport.ErrForeign) {
			return commitlog.Position{}, fmt.Errorf("node %s at %s cannot be added: %w", id, addr, err)
		}
	}
	if _, ok := g.member(id); !ok {
		g.peers.Forget(id) // it may have been a member before, with another log
	}
	pos, err := g.step(ctx, g.raft.AddNonvoter(hraft.ServerID(id), hraft.ServerAddress(addr), 0, g.stepTimeout()))
	if err != nil {
		return pos, fmt.Errorf("adding node %s at %s: %w", id, addr, err)
	}
	return pos, g.caughtUp(ctx, id)
}

// caughtUp waits until a member has everything that was in the log when a round
// began, in rounds, until a round takes less than an election time-out (Raft
// thesis, 4.2.1) or ten have passed.
func (g *Group) caughtUp(ctx context.Context, id string) error {
	if id == g.self {
		return nil
	}
	for range 10 {
		begin := time.Now()
		target := g.raft.LastIndex()
		for {
			changed := g.peers.Changed()
			term := g.raft.CurrentTerm()
			if !g.isRaftLeader(term) {
				return hraft.ErrNotLeader
			}
			if g.peers.Progress(id, term).Match >= target {
				break
			}
			t := time.NewTimer(g.timers.Heartbeat)
			select {
			case <-changed:
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				return fmt.Errorf("node %s has not caught up: %w", id, ctx.Err())
			case <-g.stop:
				t.Stop()
				return errClosed
			}
			t.Stop()
		}
		if time.Since(begin) < g.timers.Election {
			return nil
		}
	}
	return nil
}

func (g *Group) changeMembership(ctx context.Context, ids []string) (pos commitlog.Position, next string, err error) {
	want := map[string]bool{}
	for _, id := range ids {
		if _, ok := g.member(id); !ok {
			return pos, "", fmt.Errorf("%w: node %s is neither voter nor learner", ErrUnknownMember, id)
		}
		want[id] = true
	}
	pos.Index = g.raft.GetConfiguration().Index()
	for _, id := range slices.Sorted(mapKeys(want)) {
		if pos, err = g.promote(ctx, id); err != nil {
			return pos, "", err
		}
	}
	for _, s := range g.servers() {
		if s.Suffrage != hraft.Voter || want[string(s.ID)] || string(s.ID) == g.self {
			continue
		}
		if pos, err = g.step(ctx, g.raft.RemoveServer(s.ID, 0, g.stepTimeout())); err != nil {
			return pos, "", fmt.Errorf("removing node %s: %w", s.ID, err)
		}
	}
	if want[g.self] {
		return pos, "", nil
	}
	heir := g.mostAdvanced(want)
	if err := g.transfer(ctx, heir); err != nil {
		return pos, "", fmt.Errorf("handing leadership over before leaving: %w", err)
	}
	return pos, heir, nil
}

// promote makes a member who has caught up a voter.
func (g *Group) promote(ctx context.Context, id string) (pos commitlog.Position, err error) {
	s, ok := g.member(id)
	if !ok {
		return pos, fmt.Errorf("%w: node %s is neither voter nor learner", ErrUnknownMember, id)
	}
	if s.Suffrage == hraft.Voter {
		pos.Index = g.raft.GetConfiguration().Index()
		return pos, nil
	}
	if err := g.caughtUp(ctx, id); err != nil {
		return pos, err
	}
	if pos, err = g.step(ctx, g.raft.AddVoter(s.ID, s.Address, 0, g.stepTimeout())); err != nil {
		return pos, fmt.Errorf("promoting node %s: %w", id, err)
	}
	return pos, nil
}

func mapKeys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// mostAdvanced is the follower among ids who has most of the log.
func (g *Group) mostAdvanced(ids map[string]bool) string {
	best, match := "", uint64(0)
	term := g.raft.CurrentTerm()
	for _, id := range slices.Sorted(mapKeys(ids)) {
		if id == g.self {
			continue
		}
		if m := g.peers.Progress(id, term).Match; best == "" || m > match {
			best, match = id, m
		}
	}
	return best
}

// transfer hands leadership over and waits until it is gone. The read lease ends
// first: the heir may be elected within it.
func (g *Group) transfer(ctx context.Context, id string) error {
	term := g.raft.CurrentTerm()
	g.transferred.Store(term)
	var f hraft.Future
	if id == "" {
		f = g.raft.LeadershipTransfer()
	} else {
		s, ok := g.member(id)
		if !ok {
			return fmt.Errorf("%w: %s", ErrUnknownMember, id)
		}
		if s.Suffrage != hraft.Voter {
			return fmt.Errorf("node %s is a learner and cannot lead", id)
		}
		f = g.raft.LeadershipTransferToServer(s.ID, s.Address)
	}
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		g.lead.hint()
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitNot waits until another node than id is known to lead.
func (g *Group) waitNot(ctx context.Context, id string) error {
	for {
		changed := g.lead.next()
		if l := g.lead.get(); l.LeaderID != "" && l.LeaderID != id {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-g.stop:
			return errClosed
		}
	}
}
