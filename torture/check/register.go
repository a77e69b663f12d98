package check

import (
	"fmt"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"ostraka/torture/history"
)

// Absent is the value of a register that is not there.
const Absent = int64(-1)

// registerOut is what an operation on a register answered.
type registerOut struct {
	known bool // false: the answer was lost
	value int64
	done  bool // a compare-and-set that found what it expected
}

// Registers decides with porcupine whether reads ("r", value in Read[0], none:
// absent), writes ("w") and compare-and-sets ("cas", Read[0] 1 when it took
// place) of registers are linearizable. limit bounds the work per register;
// undecided counts registers where it did not suffice.
func Registers(h history.History, limit time.Duration) (out []Anomaly, undecided int) {
	keys := map[int64][]porcupine.Operation{}
	byKey := map[int64][]*history.Op{}
	for _, o := range h {
		m := o.Mops[0]
		if o.Outcome == history.Fail || o.Outcome == history.Unknown && m.F == "r" {
			continue
		}
		res := registerOut{known: o.Outcome == history.OK, value: Absent}
		if res.known && len(m.Read) > 0 {
			res.value, res.done = m.Read[0], m.Read[0] == 1
		}
		keys[m.Key] = append(keys[m.Key], porcupine.Operation{ClientId: o.Process, Input: m, Output: res, Call: o.Invoke, Return: o.Return})
		byKey[m.Key] = append(byKey[m.Key], o)
	}
	var order []int64
	for k := range keys {
		order = append(order, k)
	}
	sort.Slice(order, func(i, j int) bool { return order[i] < order[j] })
	for _, k := range order {
		switch porcupine.CheckOperationsTimeout(registerModel, keys[k], limit) {
		case porcupine.Illegal:
			out = append(out, Anomaly{NotLinearizable, fmt.Sprintf("register %d: no order explains these operations", k), smallest(keys[k], byKey[k], limit)})
		case porcupine.Unknown:
			undecided++
		}
	}
	return out, undecided
}

// smallest is a short beginning of an illegal history that is illegal already:
// operations called up to some moment, those that had not answered by then with
// their answers forgotten.
func smallest(ops []porcupine.Operation, of []*history.Op, limit time.Duration) []*history.Op {
	ends := make([]int64, 0, len(ops))
	for _, o := range ops {
		if o.Return < history.Forever {
			ends = append(ends, o.Return)
		}
	}
	sort.Slice(ends, func(i, j int) bool { return ends[i] < ends[j] })
	until := func(end int64) (part []porcupine.Operation, named []*history.Op) {
		for i, o := range ops {
			if o.Call > end {
				continue
			}
			if o.Return > end {
				if o.Input.(history.Mop).F == "r" {
					continue
				}
				o.Return, o.Output = history.Forever, registerOut{}
			}
			part, named = append(part, o), append(named, of[i])
		}
		return
	}
	i := sort.Search(len(ends), func(i int) bool {
		part, _ := until(ends[i])
		return porcupine.CheckOperationsTimeout(registerModel, part, limit) == porcupine.Illegal
	})
	if i == len(ends) {
		return of
	}
	_, named := until(ends[i])
	if len(named) > 24 {
		named = named[len(named)-24:]
	}
	return named
}

var registerModel = porcupine.Model{
	Init: func() any { return Absent },
	Step: func(state, input, output any) (bool, any) {
		m, res, s := input.(history.Mop), output.(registerOut), state.(int64)
		switch m.F {
		case "r":
			return res.value == s, s
		case "w":
			return true, m.Arg
		case "cas":
			took := s == m.Arg
			if res.known && res.done != took {
				return false, s
			}
			if took {
				return true, m.Arg2
			}
			return true, s
		}
		return false, s
	},
}
