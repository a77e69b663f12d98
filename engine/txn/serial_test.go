package txn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ostraka/engine/commitlog"
)

// history drives a Tracker as an engine does: snapshots of a log, first-updater-wins,
// commits in two steps that may overtake each other in the log; and keeps what happened.
type history struct {
	t       *Tracker
	log     []*actor // committed, in the order of the log
	writers map[string]*actor
	all     []*actor
}

// actor is one transaction.
type actor struct {
	name        string
	s           *Serial
	readOnly    bool
	snap        int // length of the log
	reads       map[string]bool
	ranges      [][2]string
	writes      map[string]bool
	dead        bool
	preparedNow bool
	at          int // place in the log, 1 is the first; 0: not there
	end         int // length of the log when it ended, for readers
}

func position(n int) commitlog.Position { return commitlog.Position{Index: uint64(n)} }

func newHistory() *history {
	return &history{t: NewTracker(func(string) int { return 1 }), writers: map[string]*actor{}}
}

func (h *history) begin(readOnly bool) *actor {
	a := &actor{name: fmt.Sprint("t", len(h.all)), s: h.t.Start(readOnly), readOnly: readOnly, snap: len(h.log), reads: map[string]bool{}, writes: map[string]bool{}}
	a.s.Opened(position(a.snap))
	h.all = append(h.all, a)
	return a
}

func (h *history) abort(a *actor) {
	a.dead = true
	for k := range a.writes {
		delete(h.writers, k)
	}
	a.s.Abort()
}

func (h *history) did(a *actor, err error) bool {
	if err != nil {
		h.abort(a)
	}
	return err == nil
}

func (h *history) read(a *actor, key string) {
	if h.did(a, a.s.Point(key)) {
		a.reads[key] = true
	}
}

func (h *history) scan(a *actor, lo, hi string) {
	if h.did(a, a.s.Range(lo, hi)) {
		a.ranges = append(a.ranges, [2]string{lo, hi})
	}
}

func (a *actor) hasRead(key string) bool {
	return a.reads[key] || slices.ContainsFunc(a.ranges, func(r [2]string) bool { return r[0] <= key && key < r[1] })
}

// write answers false when another one holds the key.
func (h *history) write(a *actor, key string) bool {
	if w := h.writers[key]; w != nil && w != a {
		return false
	}
	for _, o := range h.log[a.snap:] {
		if o.writes[key] { // could not serialize access due to concurrent update
			h.abort(a)
			return true
		}
	}
	h.writers[key] = a
	a.writes[key] = true
	h.did(a, a.s.Write(key))
	return true
}

func (h *history) prepare(a *actor) {
	if h.did(a, a.s.Prepare()) {
		a.preparedNow = true
	}
}

func (h *history) finish(a *actor) {
	a.preparedNow = false
	if len(a.writes) == 0 {
		a.end = len(h.log)
		a.at = -1
		a.s.Finish(commitlog.Position{}, false)
		return
	}
	h.log = append(h.log, a)
	a.at = len(h.log)
	for k := range a.writes {
		delete(h.writers, k)
	}
	a.s.Finish(position(a.at), true)
}

// check looks for a cycle among those who committed: the order of writes of a key is the log's.
func (h *history) check() error {
	var done []*actor
	for _, a := range h.all {
		if a.at != 0 {
			done = append(done, a)
		}
	}
	sees := func(a, b *actor) bool { return b.at > 0 && b.at <= a.snap }
	edge := func(a, b *actor) bool { // a is before b in every serial order
		for k := range b.writes {
			if a.hasRead(k) && !sees(a, b) {
				return true
			}
			if a.writes[k] && a.at < b.at {
				return true
			}
		}
		for k := range a.writes {
			if b.hasRead(k) && sees(b, a) {
				return true
			}
		}
		return false
	}
	state := map[*actor]int{}
	var path []string
	var visit func(a *actor) bool
	visit = func(a *actor) bool {
		state[a] = 1
		path = append(path, a.name)
		for _, b := range done {
			if b != a && edge(a, b) && (state[b] == 1 || state[b] == 0 && visit(b)) {
				path = append(path, b.name)
				return true
			}
		}
		state[a] = 2
		path = path[:len(path)-1]
		return false
	}
	for _, a := range done {
		if path = path[:0]; state[a] == 0 && visit(a) {
			return fmt.Errorf("no serial order: %s", strings.Join(path, " "))
		}
	}
	return nil
}

// TestSerialHistories: whatever commits fits a serial order.
func TestSerialHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory()
		keys := rapid.IntRange(2, 6).Draw(rt, "keys")
		key := rapid.Custom(func(rt *rapid.T) string { return fmt.Sprint("k", rapid.IntRange(0, keys-1).Draw(rt, "key")) })
		for range rapid.IntRange(10, 60).Draw(rt, "steps") {
			var open []*actor
			for _, a := range h.all {
				if a.at == 0 && !a.dead {
					open = append(open, a)
				}
			}
			if len(open) == 0 || len(open) < 5 && rapid.IntRange(0, 4).Draw(rt, "begin") == 0 {
				h.begin(rapid.IntRange(0, 3).Draw(rt, "read only") == 0)
				continue
			}
			a := rapid.SampledFrom(open).Draw(rt, "who")
			if a.preparedNow {
				if rapid.IntRange(0, 5).Draw(rt, "fails") == 0 {
					h.abort(a)
				} else {
					h.finish(a)
				}
				continue
			}
			switch op := rapid.IntRange(0, 9).Draw(rt, "op"); {
			case op < 3:
				h.read(a, key.Draw(rt, "read"))
			case op < 4:
				h.scan(a, "k0", key.Draw(rt, "to"))
			case op < 7 && !a.readOnly:
				h.write(a, key.Draw(rt, "write"))
			case op == 7:
				h.abort(a)
			default:
				h.prepare(a)
			}
		}
		for _, a := range h.all {
			if a.at == 0 && !a.dead {
				if !a.preparedNow {
					h.prepare(a)
				}
				if !a.dead {
					h.finish(a)
				}
			}
		}
		if err := h.check(); err != nil {
			rt.Fatal(err)
		}
		if n := h.t.Size(); n != 0 || h.t.size != 0 {
			rt.Fatalf("%d transactions and %d keys are remembered after the last", n, h.t.size)
		}
	})
}

// TestSerialShapes: what PostgreSQL lets through and what not.
func TestSerialShapes(t *testing.T) {
	for _, c := range []struct{ name, steps, fails string }{
		{"write skew", "a:begin b:begin a:r:x b:r:y a:w:y b:w:x a:commit b:commit", "b"},
		{"one edge is no harm", "a:begin b:begin a:r:x b:w:x b:commit a:w:y a:commit", ""},
		{"reads of what another one changes, both orders", "a:begin b:begin b:w:x a:r:x a:w:y a:commit b:commit", ""},
		{"read-only anomaly", "p:begin d:begin p:r:x p:r:y d:w:y d:commit q:begin:ro q:r:x q:r:y q:commit p:w:x p:commit", "p"},
		{"the same with the report before the deposit", "p:begin d:begin q:begin:ro p:r:x p:r:y d:w:y d:commit q:r:x q:r:y q:commit p:w:x p:commit", ""},
		{"three in a chain, the last first", "a:begin b:begin c:begin a:r:x b:r:y c:w:y c:commit b:w:x b:commit a:w:z a:commit", "b"},
		{"three in a chain, the first first", "a:begin b:begin c:begin a:r:x b:r:y a:w:z a:commit b:w:x b:commit c:w:y c:commit", ""},
	} {
		h := newHistory()
		who := map[string]*actor{}
		for _, step := range strings.Fields(c.steps) {
			f := strings.Split(step, ":")
			a := who[f[0]]
			if a != nil && a.dead {
				continue
			}
			switch f[1] {
			case "begin":
				who[f[0]] = h.begin(len(f) > 2)
			case "r":
				h.read(a, f[2])
			case "w":
				h.write(a, f[2])
			case "commit":
				if h.prepare(a); !a.dead {
					h.finish(a)
				}
			}
		}
		var failed []string
		for name, a := range who {
			if a.dead {
				failed = append(failed, name)
			}
		}
		if got := strings.Join(failed, " "); got != c.fails {
			t.Errorf("%s: %q fails, want %q", c.name, got, c.fails)
		}
		if err := h.check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
