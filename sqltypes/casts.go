package sqltypes

import "sync"

// Cast is a row of pg_cast.
type Cast struct {
	OID            OID
	Source, Target OID
	Proc           *Proc // nil for methods b and i
	Context        byte  // i implicit, a assignment, e explicit
	Method         byte  // f function, i by text (I/O conversion), b binary-coercible
}

var casts struct {
	once  sync.Once
	all   []*Cast
	pairs map[[2]OID]*Cast
}

// CastBetween returns the cast from src to dst, or nil. With src == dst it is
// the cast that applies a length or precision (varchar → varchar(n)).
func CastBetween(src, dst OID) *Cast {
	loadCasts()
	return casts.pairs[[2]OID{src, dst}]
}

// AllCasts returns every row of pg_cast; the slice is shared.
func AllCasts() []*Cast {
	loadCasts()
	return casts.all
}

func loadCasts() {
	casts.once.Do(func() {
		casts.pairs = make(map[[2]OID]*Cast, 256)
		eachFact(castFacts, func(l *factLine) {
			c := &Cast{OID: l.oid(), Source: l.oid(), Target: l.oid(), Proc: ProcByOID(l.oid())}
			flags := l.str()
			c.Context, c.Method = flags[0], flags[1]
			casts.all = append(casts.all, c)
			casts.pairs[[2]OID{c.Source, c.Target}] = c
		})
	})
}
