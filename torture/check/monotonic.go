package check

import (
	"fmt"

	"ostraka/torture/history"
)

// Monotonic checks counters that only grow: an "inc" answers the value it made
// (in Read), an "r" the value it saw. In one session values must not go back: a
// read sees at least what the session has read before and what it has written
// ("own writes"). No two increments make the same value, and the final value is
// between the acknowledged increments and those that may have happened too.
func Monotonic(h history.History) []Anomaly {
	type where struct {
		session int
		key     int64
	}
	type made struct{ key, value int64 }
	var out []Anomaly
	seen, wrote := map[where]*history.Op{}, map[where]*history.Op{}
	makers := map[made]*history.Op{}
	acked, possible := map[int64]int64{}, map[int64]int64{}
	for _, o := range h {
		m := o.Mops[0]
		if m.F == "inc" && o.Outcome != history.Fail {
			possible[m.Key]++
		}
		if o.Outcome != history.OK {
			continue
		}
		if len(m.Read) == 0 {
			continue
		}
		v, at := m.Read[0], where{o.Session, m.Key}
		if m.F == "inc" {
			acked[m.Key]++
			if other := makers[made{m.Key, v}]; other != nil {
				out = append(out, Anomaly{AppliedTwice, fmt.Sprintf("two increments of counter %d made it %d: one is lost", m.Key, v), []*history.Op{other, o}})
			}
			makers[made{m.Key, v}] = o
		}
		if w := wrote[at]; w != nil && v < w.Mops[0].Read[0] {
			out = append(out, Anomaly{OwnWriteLost, fmt.Sprintf("counter %d: the session wrote %d and then saw %d", m.Key, w.Mops[0].Read[0], v), []*history.Op{w, o}})
		} else if s := seen[at]; s != nil && v < s.Mops[0].Read[0] {
			out = append(out, Anomaly{WentBack, fmt.Sprintf("counter %d: the session saw %d and then %d", m.Key, s.Mops[0].Read[0], v), []*history.Op{s, o}})
		}
		seen[at] = o
		if m.F == "inc" {
			wrote[at] = o
		}
	}
	for _, o := range h {
		if !o.Final || o.Outcome != history.OK || o.Mops[0].F != "r" {
			continue
		}
		m := o.Mops[0]
		v := int64(-1) // gone
		if len(m.Read) > 0 {
			v = m.Read[0]
		}
		if v < acked[m.Key] {
			out = append(out, Anomaly{LostWrite, fmt.Sprintf("counter %d is %d after %d acknowledged increments", m.Key, v, acked[m.Key]), []*history.Op{o}})
		} else if v > possible[m.Key] {
			out = append(out, Anomaly{AppliedTwice, fmt.Sprintf("counter %d is %d after at most %d increments", m.Key, v, possible[m.Key]), []*history.Op{o}})
		}
	}
	return out
}
