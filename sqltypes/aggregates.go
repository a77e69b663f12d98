package sqltypes

import "strconv"

// AggregateRow is a row of pg_aggregate as catalogue tables show it. The
// functions it names describe PostgreSQL's implementation; Ostraka's is Proc.Agg.
type AggregateRow struct {
	Fn                                  OID  // aggfnoid
	Kind                                byte // n normal, o ordered-set, h hypothetical-set
	NumDirect                           int
	Trans, Final, Combine, Serial       OID
	Deserial, MTrans, MInvTrans, MFinal OID
	FinalExtra, MFinalExtra, HasMInit   bool
	TransStrict, HasInit                bool
	FinalModify, MFinalModify           byte
	SortOp                              OID // min, max: the operator whose first value is the result
	TransType, MTransType               OID
	TransSpace, MTransSpace             int
	InitVal, MInitVal                   string // valid with HasInit, HasMInit
}

var aggregateRows []*AggregateRow

// AllAggregates returns the rows of pg_aggregate.
func AllAggregates() []*AggregateRow {
	procs.load()
	return aggregateRows
}

// loadAggregates parses pg_aggregate and gives each aggregate its Agg, still
// without an implementation.
func loadAggregates(byOID *[firstUserOID]*Proc) {
	eachFact(aggregateFacts, func(l *factLine) {
		r := &AggregateRow{Fn: l.oid()}
		f := l.str()
		r.Kind, r.FinalModify, r.MFinalModify = f[0], f[1], f[2]
		r.FinalExtra, r.MFinalExtra, r.TransStrict = f[3] == '1', f[4] == '1', f[5] == '1'
		r.HasInit, r.HasMInit = f[6] == '1', f[7] == '1'
		r.NumDirect, _ = strconv.Atoi(l.str())
		fns := l.oids()
		r.Trans, r.Final, r.Combine, r.Serial = fns[0], fns[1], fns[2], fns[3]
		r.Deserial, r.MTrans, r.MInvTrans, r.MFinal = fns[4], fns[5], fns[6], fns[7]
		r.SortOp = l.oid()
		r.TransType = l.oid()
		r.TransSpace, _ = strconv.Atoi(l.str())
		r.MTransType = l.oid()
		r.MTransSpace, _ = strconv.Atoi(l.str())
		r.InitVal, r.MInitVal = l.str(), l.str()
		aggregateRows = append(aggregateRows, r)
		p := byOID[r.Fn]
		p.AggRow = r
		p.Agg = &Aggregate{
			OrderedSet:   r.Kind != 'n',
			Hypothetical: r.Kind == 'h',
			NumDirect:    r.NumDirect,
			SkipNull:     r.TransStrict,
		}
	})
}
