// Package stmtstats counts what the statements of a node did since it started,
// or since the last reset: calls, rows and time by statement, where statements
// that differ only in their constants are one (pg_stat_statements).
//
// A Table is bounded: when it is full the entries that were called least make
// room. It is safe for concurrent use. It counts what ran to its end here: a
// statement that was forwarded counts on the node that executed it.
package stmtstats

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/sqltypes"
)

// DefaultEntries is how many statements a table keeps, as pg_stat_statements.max has it.
const DefaultEntries = 5000

// maxQuery bounds the text that is kept of a statement, in bytes.
const maxQuery = 8 << 10

// Key tells statements apart.
type Key struct {
	User, Database sqltypes.OID
	ID             int64
}

// Entry counts one statement.
type Entry struct {
	Key
	Query string
	gone  atomic.Bool // no longer in the table

	mu sync.Mutex
	c  Counters // guarded by mu
}

// Counters are what is known of a statement. Times are in milliseconds.
type Counters struct {
	Calls, Rows                 int64
	Total, Min, Max, Mean, sumV float64
}

// StdDev is the population's standard deviation of the time of a call.
func (c Counters) StdDev() float64 {
	if c.Calls < 2 {
		return 0
	}
	return math.Sqrt(c.sumV / float64(c.Calls))
}

// Gone reports that the entry was reset or made room: what it is told is lost, Find gives a new one.
func (e *Entry) Gone() bool { return e.gone.Load() }

// Add counts one call. Time since the last part of a portal that is fetched in
// parts is added with more set: it is the same call.
func (e *Entry) Add(d time.Duration, rows int64, more bool) {
	ms := float64(d) / float64(time.Millisecond)
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &e.c
	c.Rows += rows
	if more {
		c.Total += ms
		return
	}
	c.Calls++
	c.Total += ms
	if c.Calls == 1 {
		c.Min, c.Max, c.Mean = ms, ms, ms
		return
	}
	c.Min, c.Max = min(c.Min, ms), max(c.Max, ms)
	old := c.Mean // Welford's method
	c.Mean += (ms - old) / float64(c.Calls)
	c.sumV += (ms - old) * (ms - c.Mean)
}

// Read returns the counters as they are now.
func (e *Entry) Read() Counters {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.c
}

// Table is the statements of a node.
type Table struct {
	limit int
	now   func() time.Time

	mu      sync.RWMutex
	entries map[Key]*Entry // guarded by mu
	dealloc int64          // how often entries made room; guarded by mu
	reset   time.Time      // guarded by mu
}

// New returns an empty table of at most limit statements.
func New(limit int, now func() time.Time) *Table {
	if now == nil {
		now = time.Now
	}
	return &Table{limit: max(limit, 20), now: now, entries: map[Key]*Entry{}, reset: now()}
}

// Find returns the entry of a statement; it is made when there is none. constants:
// they become parameters (Normalize).
func (t *Table) Find(user, database sqltypes.OID, sql string, constants bool) *Entry {
	text, id := Normalize(sql, constants)
	k := Key{user, database, id}
	t.mu.RLock()
	e := t.entries[k]
	t.mu.RUnlock()
	if e != nil {
		return e
	}
	if len(text) > maxQuery {
		text = text[:maxQuery]
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e = t.entries[k]; e == nil {
		if len(t.entries) >= t.limit {
			t.makeRoom()
		}
		e = &Entry{Key: k, Query: string([]byte(text))}
		t.entries[k] = e
	}
	return e
}

// makeRoom drops the twentieth of the entries with the fewest calls. The caller holds mu.
func (t *Table) makeRoom() {
	all := make([]*Entry, 0, len(t.entries))
	for _, e := range t.entries {
		all = append(all, e)
	}
	calls := make(map[*Entry]int64, len(all))
	for _, e := range all {
		calls[e] = e.Read().Calls
	}
	slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(calls[a], calls[b]) })
	for _, e := range all[:max(len(all)/20, 10)] {
		e.gone.Store(true)
		delete(t.entries, e.Key)
	}
	t.dealloc++
}

// All lists the entries.
func (t *Table) All() []*Entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]*Entry, 0, len(t.entries))
	for _, e := range t.entries {
		out = append(out, e)
	}
	return out
}

// Info is how often entries made room for others and when all were reset last.
func (t *Table) Info() (dealloc int64, reset time.Time) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.dealloc, t.reset
}

// Reset forgets the entries of a user, database and statement; 0 stands for all.
func (t *Table) Reset(user, database sqltypes.OID, id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.entries {
		if (user == 0 || k.User == user) && (database == 0 || k.Database == database) && (id == 0 || k.ID == id) {
			e.gone.Store(true)
			delete(t.entries, k)
		}
	}
	if user == 0 && database == 0 && id == 0 {
		t.dealloc, t.reset = 0, t.now()
	}
}
