package txn

import (
	"encoding/binary"
	"fmt"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// edge says that an owner waits for another one.
type edge struct {
	from, to *Owner
	class    Class
	key      string
	mode     uint8
}

// findCycle looks for a way from w's owner back to it in the graph of who waits
// for whom. The table's dl is held, so waits are only added by us; edges on a
// cycle through us cannot go away while we look, since nobody on it can move.
func (t *Table) findCycle(w *waiter) []edge {
	seen := map[*Owner]bool{}
	var path []edge
	var walk func(x *waiter) bool
	walk = func(x *waiter) bool {
		for _, b := range t.blockers(x) {
			path = append(path, edge{x.o, b, x.class, x.key, x.mode})
			if b == w.o {
				return true
			}
			if !seen[b] {
				seen[b] = true
				if next := b.waiting.Load(); next != nil && walk(next) {
					return true
				}
			}
			path = path[:len(path)-1]
		}
		return false
	}
	if walk(w) {
		return path
	}
	return nil
}

// blockers lists whom a waiter waits for: holders and earlier waiters that conflict.
func (t *Table) blockers(w *waiter) []*Owner {
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	if w.o.waiting.Load() != w { // granted meanwhile; its entry may be another's by now
		return nil
	}
	var out []*Owner
	c := conflicts[w.class][w.mode]
	for _, h := range w.e.holders {
		if !h.o.with(w.o, w.class) && h.modes&c != 0 {
			out = append(out, h.o)
		}
	}
	for _, x := range w.e.waiters {
		if x == w {
			break
		}
		if x.o != w.o && c&(1<<x.mode) != 0 {
			out = append(out, x.o)
		}
	}
	return out
}

func deadlockError(cycle []edge) error {
	lines := make([]string, len(cycle))
	for i, e := range cycle {
		lines[i] = fmt.Sprintf("Process %d waits for %s; blocked by process %d.", e.from.PID, describe(e), e.to.PID)
	}
	return pgerror.New(pgerror.TRDeadlockDetected, "deadlock detected").
		WithDetail("%s", strings.Join(lines, "\n")).WithHint("See server log for query details.")
}

func describe(e edge) string {
	switch e.class {
	case ClassRelation:
		db, rel := SplitRelationKey(e.key)
		return fmt.Sprintf("%s on relation %d of database %d", relationModeNames[e.mode], rel, db)
	case ClassAdvisory:
		db, hi, lo, kind := SplitAdvisoryKey(e.key)
		return fmt.Sprintf("%s on advisory lock [%d,%d,%d,%d]", ModeName(ClassAdvisory, e.mode), db, hi, lo, kind)
	}
	return fmt.Sprintf("ShareLock on transaction %d", uint32(e.to.Xid.Load()))
}

// RelationKey is the lock key of a relation.
func RelationKey(db, rel uint32) string {
	var b [9]byte
	b[0] = 'R'
	binary.BigEndian.PutUint32(b[1:], db)
	binary.BigEndian.PutUint32(b[5:], rel)
	return string(b[:])
}

// SplitRelationKey is the inverse.
func SplitRelationKey(key string) (db, rel uint32) {
	if len(key) != 9 {
		return 0, 0
	}
	return binary.BigEndian.Uint32([]byte(key[1:5])), binary.BigEndian.Uint32([]byte(key[5:]))
}

// AdvisoryKey is the lock key of an advisory lock; kind is 1 for one int8, 2 for two int4.
func AdvisoryKey(db, hi, lo uint32, kind byte) string {
	b := binary.BigEndian.AppendUint32([]byte{'A'}, db)
	b = binary.BigEndian.AppendUint32(b, hi)
	b = binary.BigEndian.AppendUint32(b, lo)
	return string(append(b, kind))
}

// SplitAdvisoryKey is the inverse.
func SplitAdvisoryKey(key string) (db, hi, lo uint32, kind byte) {
	if len(key) != 14 {
		return 0, 0, 0, 0
	}
	b := []byte(key)
	return binary.BigEndian.Uint32(b[1:]), binary.BigEndian.Uint32(b[5:]), binary.BigEndian.Uint32(b[9:]), b[13]
}
