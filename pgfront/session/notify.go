package session

import (
	"slices"
	"sort"
	"sync"

	"ostraka/engine"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// maxQueued bounds the notifications that wait for an idle moment of the session.
const maxQueued = 100000

// notifier is a session's LISTEN state. LISTEN and UNLISTEN take effect at commit.
type notifier struct {
	s      *Session
	ops    []listenOp // of the running transaction
	cancel func()

	mu       sync.Mutex
	channels map[string]bool       // guarded by mu
	pending  map[string]bool       // guarded by mu; what the transaction that commits listens on from its commit on
	queue    []engine.Notification // guarded by mu
}

type listenOp struct {
	on      bool
	channel string // "" with on false: all
}

func (n *notifier) listen(channel string)   { n.ops = append(n.ops, listenOp{true, channel}) }
func (n *notifier) unlisten(channel string) { n.ops = append(n.ops, listenOp{false, channel}) }
func (n *notifier) mark() int               { return len(n.ops) }
func (n *notifier) rollback(to int)         { n.ops = n.ops[:min(to, len(n.ops))] }

// listenCommit starts receiving before the transaction commits, so that nothing
// that follows is missed.
func (s *Session) listenCommit() error {
	n := &s.notify
	n.mu.Lock()
	n.pending = nil
	for _, op := range n.ops {
		if op.on {
			if n.pending == nil {
				n.pending = map[string]bool{}
			}
			n.pending[op.channel] = true
		}
	}
	n.mu.Unlock()
	for _, op := range n.ops {
		if op.on && n.cancel == nil {
			n.cancel = s.deps.Engine.Listen(s.client.Database, n.receive)
		}
	}
	return nil
}

func (n *notifier) commit() {
	if len(n.ops) == 0 {
		return
	}
	n.mu.Lock()
	if n.channels == nil {
		n.channels = map[string]bool{}
	}
	for _, op := range n.ops {
		switch {
		case op.on:
			n.channels[op.channel] = true
		case op.channel == "" || op.channel == "*":
			clear(n.channels)
		default:
			delete(n.channels, op.channel)
		}
	}
	n.pending = nil
	any := len(n.channels) > 0
	n.mu.Unlock()
	n.ops = n.ops[:0]
	n.s.listening.Store(any)
	if !any && n.cancel != nil {
		n.cancel()
		n.cancel = nil
	}
}

// receive is called by the engine at apply; it does not block.
func (n *notifier) receive(m engine.Notification) {
	n.mu.Lock()
	want := n.channels[m.Channel] || n.pending[m.Channel]
	full := false
	if want {
		if full = len(n.queue) >= maxQueued; !full {
			n.queue = append(n.queue, m)
		}
	}
	n.mu.Unlock()
	switch {
	case full:
		n.s.Terminate() // better than losing notifications silently
	case want:
		n.s.in.Wake()
	}
}

// awaitNotified waits, where the session listens and a transaction of its own was committed on another node, until this
// node has applied it: what a session notifies itself of is told before the end of the command, as in PostgreSQL.
func (s *Session) awaitNotified() {
	if s.deps.Forwarder != nil && s.listening.Load() {
		s.caughtUp()
		s.deps.Engine.Notified()
	}
}

// deliver writes the queued notifications.
func (n *notifier) deliver() {
	if n.cancel == nil {
		return
	}
	n.mu.Lock()
	queue := n.queue
	n.queue = nil
	queue = slices.DeleteFunc(queue, func(m engine.Notification) bool { return !n.channels[m.Channel] }) // a commit that failed, UNLISTEN
	n.mu.Unlock()
	for _, m := range queue {
		n.s.out.Notification(m.PID, m.Channel, m.Payload)
	}
}

func (n *notifier) close() {
	if n.cancel != nil {
		n.cancel()
		n.cancel = nil
	}
}

// ListeningChannels are the channels that the session listens on.
func (s *Session) ListeningChannels() []string {
	n := &s.notify
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for c := range n.channels {
		out = append(out, c)
	}
	sort.Strings(out)
	return out
}

// notifyStmt is NOTIFY.
func (s *Session) notifyStmt(channel, payload string) error {
	if err := s.checkReadOnly("NOTIFY"); err != nil && !s.leads() {
		return err
	}
	if _, release, err := s.statement(planner.ClassWrite); err != nil {
		return err
	} else {
		defer release()
	}
	return s.Notify(channel, payload)
}

// Notify queues a notification in the running transaction (pg_notify too).
func (s *Session) Notify(channel, payload string) error {
	switch {
	case channel == "":
		return pgerror.New(pgerror.InvalidParameterValue, "channel name cannot be empty")
	case len(channel) > 63:
		return pgerror.New(pgerror.InvalidParameterValue, "channel name too long")
	case len(payload) >= 8000:
		return pgerror.New(pgerror.InvalidParameterValue, "payload string too long")
	}
	if err := s.beginTxn(); err != nil {
		return err
	}
	return s.tx.txn.Notify(channel, payload)
}
