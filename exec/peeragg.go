package exec

import (
	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// With ostraka.ts_scope = 'cluster' an aggregation over a time-series table asks the
// other nodes for what their rows come to, group by group, where the result can be put
// together from that: count and sum for avg, the value and its time for first and
// last. The answers are states that are merged into this node's.

// merger is an aggregate whose states take in what another node has computed, in the
// form that peerParts asks for.
type merger interface {
	aggFn
	merge(g int32, parts []sqltypes.Datum) error
}

// peerAggs are the questions to the other nodes for one aggregation.
type peerAggs struct {
	x     *Execution
	p     *planner.Aggregate
	scan  *planner.Scan
	parts []int // by aggregate: how many values
}

// peerScan is the scan of an aggregation over a time-series table; nil: it is over
// something else.
func peerScan(p *planner.Aggregate) *planner.Scan {
	scan, ok := p.Input.(*planner.Scan)
	if !ok || scan.Rel.TimeSeriesSpec() == nil || scan.RefSlot >= 0 || scan.Ranges != nil || scan.Sample != nil || scan.Newest {
		return nil
	}
	return scan
}

// AsksPeers reports that an aggregation over the time series of all nodes has the
// others aggregate their rows; over that it has a scan of a time-series table at all.
func AsksPeers(p *planner.Aggregate) (asks, over bool) {
	scan := peerScan(p)
	if scan == nil {
		return false, false
	}
	_, _, ok := peerQuestions(&peerSQL{scan: scan}, p)
	return ok, true
}

// newPeerAggs is nil when the other nodes are to be asked for rows.
func (x *Execution) newPeerAggs(p *planner.Aggregate) *peerAggs {
	scan := peerScan(p)
	if scan == nil || !x.wholeCluster() {
		return nil
	}
	if _, ok := x.view.(engine.PeerAggregator); !ok {
		return nil
	}
	_, parts, ok := peerQuestions(&peerSQL{scan: scan}, p)
	if !ok {
		return nil
	}
	if x.partial == nil {
		x.partial = map[*planner.Scan]bool{}
	}
	x.partial[scan] = true
	return &peerAggs{x: x, p: p, scan: scan, parts: parts}
}

// peerQuestions are the columns that another node is asked for: the GROUP BY
// expressions, then what the aggregates' states come from.
func peerQuestions(q *peerSQL, p *planner.Aggregate) (cols []engine.PeerColumn, parts []int, ok bool) {
	if p.Sets != nil || len(p.Groupings) > 0 || p.Strategy == planner.AggSorted && len(p.GroupBy) > 0 {
		return nil, nil, false
	}
	for _, g := range p.GroupBy {
		cols = append(cols, engine.PeerColumn{SQL: q.text(g), Type: g.Type().OID})
	}
	for _, a := range p.Aggs {
		list := q.parts(a)
		cols = append(cols, list...)
		parts = append(parts, len(list))
	}
	if !q.no {
		q.where()
	}
	return cols, parts, !q.no
}

// parts are the aggregates that another node computes for one of ours.
func (q *peerSQL) parts(a *expr.Agg) []engine.PeerColumn {
	if a.Distinct || len(a.ArgSorts) > 0 || len(a.Direct) > 0 || a.Proc.Namespace != sqltypes.NamespaceCatalog || a.VariadicArray || !fixedCollation(a.Collation) {
		q.fail()
		return nil
	}
	filter := ""
	if a.Filter != nil {
		filter = " FILTER (WHERE " + q.text(a.Filter) + ")"
	}
	var args []string
	for _, e := range a.Args {
		args = append(args, q.text(e))
	}
	col := func(fn, args string, typ sqltypes.OID) engine.PeerColumn {
		return engine.PeerColumn{SQL: "pg_catalog." + fn + "(" + args + ")" + filter, Type: typ}
	}
	cast := func(c engine.PeerColumn, typ sqltypes.OID) engine.PeerColumn {
		return engine.PeerColumn{SQL: q.cast(c.SQL, typ), Type: typ}
	}
	const bigint, num, float = sqltypes.OIDInt8, sqltypes.OIDNumeric, sqltypes.OIDFloat8
	arg := sqltypes.OID(0)
	if len(a.Proc.ArgTypes) > 0 {
		arg = a.Proc.ArgTypes[0]
	}
	integer := arg == sqltypes.OIDInt2 || arg == sqltypes.OIDInt4 || arg == bigint
	floating := arg == sqltypes.OIDFloat4 || arg == float
	switch name := a.Proc.Name; name {
	case "count":
		if len(args) == 0 {
			return []engine.PeerColumn{col("count", "*", bigint)}
		}
		if len(args) == 1 {
			return []engine.PeerColumn{col("count", args[0], bigint)}
		}
	case "sum", "avg":
		switch {
		case name == "sum" && (arg == sqltypes.OIDInt2 || arg == sqltypes.OIDInt4):
			return []engine.PeerColumn{col("sum", args[0], bigint)}
		case integer, arg == num:
			return []engine.PeerColumn{cast(col("sum", args[0], num), num), col("count", args[0], bigint)}
		case name == "avg" && floating:
			return []engine.PeerColumn{col("sum", q.cast(args[0], float), float), col("count", args[0], bigint)}
		case floating:
			return []engine.PeerColumn{col("sum", args[0], arg), col("count", args[0], bigint)}
		}
	case "min", "max":
		if len(args) == 1 && len(a.Args) == 1 {
			if t := sqltypes.TypeByOID(a.Typ.OID); t != nil && t.Compare != nil && !t.IsArray {
				return []engine.PeerColumn{col(name, args[0], a.Typ.OID)}
			}
		}
	case "first", "last":
		if len(args) == 2 {
			switch t := a.Args[1].Type().OID; t {
			case sqltypes.OIDTimestamptz, sqltypes.OIDTimestamp, sqltypes.OIDDate, bigint, sqltypes.OIDInt4, sqltypes.OIDInt2, float:
				edge := map[string]string{"first": "min", "last": "max"}[name]
				return []engine.PeerColumn{col(name, args[0]+", "+args[1], a.Typ.OID), col(edge, args[1], t)}
			}
		}
	case "variance", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop":
		switch {
		case integer, arg == num:
			x := q.cast(args[0], num)
			return []engine.PeerColumn{col("count", args[0], bigint), col("sum", x, num), col("sum", x+" OPERATOR(pg_catalog.*) "+x, num)}
		case floating:
			x := q.cast(args[0], float)
			return []engine.PeerColumn{col("count", args[0], bigint), col("sum", x, float), col("regr_sxx", x+", "+x, float)}
		}
	case "histogram":
		if constant(a.Args[1]) && constant(a.Args[2]) && constant(a.Args[3]) {
			return []engine.PeerColumn{col(name, args[0]+", "+args[1]+", "+args[2]+", "+args[3], sqltypes.OIDInt4Array)}
		}
	case "bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor":
		return []engine.PeerColumn{col(name, args[0], a.Typ.OID)}
	}
	q.fail()
	return nil
}

// ask puts the questions to all other nodes. nil: there is nobody to be asked.
func (o *peerAggs) ask() ([]engine.PeerRows, error) {
	q := &peerSQL{x: o.x, scan: o.scan}
	where, none := q.where()
	if none {
		return nil, nil
	}
	cols, _, ok := peerQuestions(q, o.p)
	switch {
	case q.err != nil:
		return nil, q.err
	case !ok:
		return nil, pgerror.New(pgerror.InternalError, "an aggregate cannot be asked for")
	}
	ask := engine.PeerAggregate{Rel: o.scan.Rel, Cols: cols, Keys: len(o.p.GroupBy), Where: where}
	if q.zone {
		ask.Zone, _ = o.x.env.Session.Setting("TimeZone")
	}
	return o.x.view.(engine.PeerAggregator).AggregatePeers(o.x.ctx, ask)
}

// collect reads the answers: f gets the keys of a group and a function that merges its
// states into those of a group of this node.
func (o *peerAggs) collect(answers []engine.PeerRows, f func(keys, parts []sqltypes.Datum) error) error {
	n := int64(0)
	for _, r := range answers {
		for {
			row, ok, err := r.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			keys := row[:len(o.p.GroupBy)]
			if err := f(keys, row[len(keys):]); err != nil {
				return err
			}
			if n++; n&63 == 0 {
				if err := o.x.cancelled(); err != nil {
					return err
				}
			}
		}
	}
	if st := o.x.stats[o.scan]; st != nil {
		if st.Detail == nil {
			st.Detail = map[string]int64{}
		}
		st.Detail["Groups from Other Nodes"] += n
	}
	return nil
}

func closePeers(list []engine.PeerRows) {
	for _, r := range list {
		r.Close()
	}
}

// mergeParts gives one group's parts to the aggregates.
func (o *peerAggs) mergeParts(g int32, parts []sqltypes.Datum, fn func(k int) aggFn) error {
	for k, n := range o.parts {
		m, ok := fn(k).(merger)
		if !ok {
			return pgerror.New(pgerror.InternalError, "aggregate %s has no states that merge", o.p.Aggs[k].Proc.Name)
		}
		if err := m.merge(g, parts[:n]); err != nil {
			return err
		}
		parts = parts[n:]
	}
	return nil
}

// mergePeers asks the other nodes and makes groups of what they answer.
func (o *aggregateOp) mergePeers() error {
	answers, err := o.peers.ask()
	if err != nil || len(answers) == 0 {
		return err
	}
	defer closePeers(answers)
	s := o.sets[0]
	var keys []*expr.Vec
	for _, k := range o.gkinds {
		keys = append(keys, expr.NewVec(k))
	}
	rows := 0
	return o.peers.collect(answers, func(key, parts []sqltypes.Datum) error {
		g := int32(0)
		if s.table != nil {
			for i, v := range keys {
				v.Reset(v.Kind)
				v.Set(0, key[i])
			}
			s.table.lookup(keys, []uint16{0}, o.ids, false)
			g = o.ids[0]
			s.n = s.table.n()
		}
		for _, a := range s.aggs {
			a.fn.resize(s.n)
		}
		if err := o.peers.mergeParts(g, parts, func(k int) aggFn { return s.aggs[k].fn }); err != nil {
			return err
		}
		if rows++; rows&255 == 0 {
			return o.mem.grow(o.stateBytes() - o.mem.used)
		}
		return nil
	})
}

// mergePeers makes groups of what the other nodes answer.
func (o *seriesAggOp) mergePeers(answers []engine.PeerRows) error {
	tags := make([]sqltypes.Datum, 0, len(o.tagAt))
	rows := 0
	return o.peers.collect(answers, func(key, parts []sqltypes.Datum) error {
		tags = tags[:0]
		bucket := int64(0)
		for i, d := range key {
			if i == o.bucket {
				bucket = d.I
			} else {
				tags = append(tags, d)
			}
		}
		g := o.group(bucket, o.prefix(tags))
		if rows++; rows&255 == 0 {
			if err := o.account(); err != nil {
				return err
			}
		}
		return o.peers.mergeParts(g, parts, func(k int) aggFn { return o.fns[k] })
	})
}
