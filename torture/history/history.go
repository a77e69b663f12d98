// Package history is what a run saw: operations of concurrent clients, each with
// the moment of its call, the moment of its answer, and one of three outcomes.
//
// An operation whose answer was lost is Unknown: it may have taken effect at any
// time after its call, also after the end of the run, or never. Checkers must not
// take it for a failure. A Recorder is safe for concurrent use; a History is not
// changed once it is made.
package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"
)

// Outcome of an operation.
type Outcome string

// Outcomes.
const (
	OK      Outcome = "ok"
	Fail    Outcome = "fail" // certainly had no effect
	Unknown Outcome = "unknown"
)

// Forever is the Return of an operation that may still take effect.
const Forever = int64(1) << 62

// Mop is one step of an operation. What F, Key, Arg and Read mean is the
// workload's: a list append is {"append", key, element}, its read {"r", key}
// with the elements in Read.
type Mop struct {
	F    string  `json:"f"`
	Key  int64   `json:"k"`
	Arg  int64   `json:"a,omitempty"`
	Arg2 int64   `json:"b,omitempty"`
	Read []int64 `json:"r,omitempty"`
}

func (m Mop) String() string {
	switch m.F {
	case "r":
		return fmt.Sprintf("r(%d)=%v", m.Key, m.Read)
	case "cas":
		return fmt.Sprintf("cas(%d, %d→%d)", m.Key, m.Arg, m.Arg2)
	}
	return fmt.Sprintf("%s(%d, %d)", m.F, m.Key, m.Arg)
}

// Op is one operation.
type Op struct {
	ID      int     `json:"id"`
	Process int     `json:"p"` // the client, which does one thing at a time
	Session int     `json:"s"` // the connection: a client gets a new one when the old one breaks
	Node    string  `json:"n"` // whom it asked
	Mops    []Mop   `json:"m"` // what it did, with what it read when OK
	Invoke  int64   `json:"t"` // nanoseconds since the beginning of the run
	Return  int64   `json:"u"` // Forever when Unknown
	Outcome Outcome `json:"o"` //
	Err     string  `json:"e,omitempty"`
	Final   bool    `json:"f,omitempty"` // made after everything had come to rest
}

func (o *Op) String() string {
	parts := make([]string, len(o.Mops))
	for i, m := range o.Mops {
		parts[i] = m.String()
	}
	end := "…"
	if o.Return < Forever {
		end = fmt.Sprintf("%.6f", float64(o.Return)/1e9)
	}
	s := fmt.Sprintf("#%d client %d session %d node %s [%.6f %s] %s %s", o.ID, o.Process, o.Session, o.Node, float64(o.Invoke)/1e9, end,
		strings.Join(parts, " "), o.Outcome)
	if o.Err != "" {
		s += " (" + o.Err + ")"
	}
	return s
}

// History is the operations of one workload in the order of their calls.
type History []*Op

// Count counts operations by outcome.
func (h History) Count() (ok, fail, unknown int) {
	for _, o := range h {
		switch o.Outcome {
		case OK:
			ok++
		case Fail:
			fail++
		default:
			unknown++
		}
	}
	return
}

// Write writes one JSON object a line.
func (h History) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	for _, o := range h {
		if err := enc.Encode(o); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Read reads what Write wrote.
func Read(r io.Reader) (History, error) {
	dec := json.NewDecoder(r)
	var h History
	for {
		o := new(Op)
		err := dec.Decode(o)
		if err == io.EOF {
			return h, nil
		}
		if err != nil {
			return nil, fmt.Errorf("history, operation %d: %w", len(h), err)
		}
		h = append(h, o)
	}
}

// Recorder collects a history.
type Recorder struct {
	begin time.Time

	mu  sync.Mutex
	ops History // guarded by mu
}

// NewRecorder returns a recorder whose clock begins now.
func NewRecorder() *Recorder { return &Recorder{begin: time.Now()} }

// Now is the time of the run, in nanoseconds.
func (r *Recorder) Now() int64 { return int64(time.Since(r.begin)) }

// Call notes that an operation begins. The caller fills in what came of it and
// passes it to Done.
func (r *Recorder) Call(process, session int, node string, mops ...Mop) *Op {
	o := &Op{Process: process, Session: session, Node: node, Mops: mops}
	r.mu.Lock()
	defer r.mu.Unlock()
	o.ID = len(r.ops)
	o.Invoke = r.Now()
	o.Return, o.Outcome = Forever, Unknown
	r.ops = append(r.ops, o)
	return o
}

// Done notes the outcome of o, and with it what its Mops read.
func (r *Recorder) Done(o *Op, mops []Mop, outcome Outcome, err error) {
	now := r.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Mops, o.Outcome = mops, outcome
	if err != nil {
		o.Err = err.Error()
	}
	if outcome != Unknown {
		o.Return = now
	}
}

// Len is the number of operations so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// History returns what was recorded; no operation may be running any more.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := append(History(nil), r.ops...)
	sort.SliceStable(h, func(i, j int) bool { return h[i].Invoke < h[j].Invoke })
	return h
}
