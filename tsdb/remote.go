package tsdb

import (
	"context"
	"fmt"
	"strings"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/store"
)

// RemoteScan is what other nodes are asked for: these columns of a time-series
// table (not system columns) of a database, where SQL conditions hold.
type RemoteScan struct {
	Database sqltypes.OID
	Rel      *catalog.Relation
	Cols     []int16
	Where    string // "" none
	// Aggregate, if not nil, is asked for instead.
	Aggregate *engine.PeerAggregate
}

// AggregatePeers implements engine.PeerAggregator.
func (r *reader) AggregatePeers(ctx context.Context, q engine.PeerAggregate) ([]engine.PeerRows, error) {
	if r.db.opt.Remotes == nil {
		return nil, nil
	}
	if q.Rel.Schema == catalog.SchemaOstraka {
		return nil, errStoredBuckets
	}
	return r.db.opt.Remotes(ctx, RemoteScan{Database: r.database, Rel: q.Rel, Aggregate: &q})
}

var errStoredBuckets = pgerror.NotSupported("the stored buckets of a continuous aggregate with ostraka.ts_scope = 'cluster'")

// remotes begins a scan on all other nodes, for a scan with Cluster.
func (r *reader) remotes(ctx context.Context, rel *Relation, spec *engine.ScanSpec, rng store.Range) ([]engine.PeerRows, error) {
	if r.db.opt.Remotes == nil {
		return nil, nil
	}
	if rel.Rel.Schema == catalog.SchemaOstraka {
		return nil, errStoredBuckets
	}
	q := RemoteScan{Database: r.database, Rel: rel.Rel}
	for _, a := range spec.Cols {
		if a > 0 {
			q.Cols = append(q.Cols, a)
		}
	}
	var conds []string
	name := func(a int16) string { return sqltypes.QuoteIdent(rel.Rel.Columns[a-1].Name) }
	if rng != store.All {
		hi := rng.Hi
		if hi < 1<<63-1 { // no row has the greatest time there is
			hi++
		}
		conds = append(conds, fmt.Sprintf("pg_catalog.ostraka_time_between('%d'::int8, '%d'::int8, %s)", rng.Lo, hi, name(rel.Spec.Time)))
	}
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	for _, c := range spec.Conds {
		if c.Attr == rel.Spec.Time || c.Op != '=' {
			continue
		}
		var any []string
		typ := rel.Rel.Columns[c.Attr-1].Type.OID
		for _, d := range c.Values {
			any = append(any, fmt.Sprintf("%s = %s::%s", name(c.Attr), sqltypes.QuoteLiteral(string(sqltypes.TypeByOID(typ).Out(env, nil, d))), sqltypes.FormatType(typ, -1)))
		}
		if c.Null {
			any = append(any, name(c.Attr)+" IS NULL")
		}
		if len(any) == 0 {
			any = []string{"false"}
		}
		conds = append(conds, "("+strings.Join(any, " OR ")+")")
	}
	q.Where = strings.Join(conds, " AND ")
	return r.db.opt.Remotes(ctx, q)
}

// emitRemote appends rows of other nodes to the batch, as far as there is room.
func (s *scanner) emitRemote() error {
	for s.n < expr.BatchSize && len(s.others) > 0 {
		row, ok, err := s.others[0].Next()
		if err != nil {
			return err
		}
		if !ok {
			s.others[0].Close()
			s.others = s.others[1:]
			continue
		}
		k := 0
		for i, a := range s.spec.Cols {
			v := s.out[i]
			v.Ensure(s.n + 1)
			switch {
			case a > 0:
				v.Set(s.n, row[k])
				k++
			case a == engine.AttrTableOID:
				v.Set(s.n, sqltypes.Int(int64(s.rel.Rel.OID)))
			default:
				v.Set(s.n, sqltypes.Int(0))
			}
		}
		s.n++
	}
	return nil
}
