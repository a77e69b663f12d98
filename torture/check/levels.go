package check

// always is what no level allows: states that cannot come from the transactions
// that were acknowledged, in any order.
var always = []Kind{LostWrite, AppliedTwice, Resurrected, Phantom, Diverged, Internal, Incompatible, Duplicate, G0, G1a, G1b, G1c}

// Levels tells what each isolation level forbids (docs/promises.md).
//
// READ COMMITTED is Adya's PL-2: each statement sees only what was committed.
// REPEATABLE READ is PostgreSQL's, snapshot isolation: it allows only cycles with
// two rw next to each other (write skew). SERIALIZABLE allows none.
var Levels = map[string]map[Kind]bool{
	"read committed":  set(always),
	"repeatable read": set(always, GSingle, GNonadjacent),
	"serializable":    set(always, GSingle, GNonadjacent, G2Item),
}

func set(base []Kind, more ...Kind) map[Kind]bool {
	m := map[Kind]bool{}
	for _, k := range append(base[:len(base):len(base)], more...) {
		m[k] = true
	}
	return m
}
