package check

import (
	"fmt"

	"ostraka/torture/history"
)

// Bank wants every read of all accounts ("r", the balances in Read) to add up to
// total, with no balance below zero.
func Bank(h history.History, total int64) []Anomaly {
	var out []Anomaly
	for _, o := range h {
		if o.Outcome != history.OK {
			continue
		}
		for _, m := range o.Mops {
			if m.F != "r" {
				continue
			}
			sum := int64(0)
			for _, b := range m.Read {
				sum += b
				if b < 0 {
					out = append(out, Anomaly{Negative, fmt.Sprintf("a balance of %d", b), []*history.Op{o}})
				}
			}
			if sum != total {
				out = append(out, Anomaly{WrongTotal, fmt.Sprintf("the accounts add up to %d, not %d", sum, total), []*history.Op{o}})
			}
		}
	}
	return out
}
