package node

import (
	"context"
	"errors"
	"math"

	"ostraka/engine/catalog"
	"ostraka/exec"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb"
)

// refreshRollup stores the finished buckets of a continuous aggregate between lo
// and hi that are not stored on this node or are out of date there.
func (n *Node) refreshRollup(ctx context.Context, database sqltypes.OID, view *catalog.Relation, lo, hi int64) (tsdb.RefreshResult, error) {
	cat := n.shard.Catalog(database)
	if cat == nil {
		return tsdb.RefreshResult{}, pgerror.New(pgerror.CannotConnectNow, "the catalogue has not arrived yet")
	}
	store, raw := cat.Relation(view.Rollup.Store), cat.Relation(view.Rollup.Raw)
	if store == nil || raw == nil {
		return tsdb.RefreshResult{}, pgerror.New(pgerror.UndefinedTable, "continuous aggregate %q does not exist any more", view.Name)
	}
	rt := &exec.Runtime{Engine: n.series.Engine(), TempDir: n.tempDir(), Logger: n.log}
	from := []*catalog.Relation{raw}
	for v := view; v.Rollup.Source != 0; {
		if v = cat.Relation(v.Rollup.Source); v == nil || v.Rollup == nil {
			return tsdb.RefreshResult{}, pgerror.New(pgerror.UndefinedTable, "the continuous aggregate below %q does not exist any more", view.Name)
		}
		if s := cat.Relation(v.Rollup.Store); s != nil {
			from = append(from, s)
		}
	}
	return n.series.Refresh(ctx, view, store, from, lo, hi, func(ctx context.Context, lo, hi int64, f func([]sqltypes.Datum) error) error {
		return runRollup(ctx, rt, database, view, lo, hi, f)
	})
}

// runRollup runs the query of a continuous aggregate over the raw rows of a range
// of time, on a snapshot of now. It calls immutable functions only, so no session
// is needed.
func runRollup(ctx context.Context, rt *exec.Runtime, database sqltypes.OID, view *catalog.Relation, lo, hi int64, f func([]sqltypes.Datum) error) error {
	v, err := rt.Engine.View(ctx, database)
	if err != nil {
		return err
	}
	defer v.Close()
	tree, err := bind.RollupBetween(v.Catalog(), view, lo, hi)
	if err != nil {
		return err
	}
	env := &sqltypes.Env{Ctx: ctx, Formats: sqltypes.DefaultFormats()}
	plan, err := compile(&planner.Context{Catalog: v.Catalog(), SearchPath: []sqltypes.OID{catalog.SchemaPgCatalog}, Env: env}, tree)
	if err != nil {
		return err
	}
	return eachRow(ctx, rt, plan, exec.Args{View: v, Env: env}, f)
}

// firstRollupProc is the OID of refresh_continuous_aggregate; 9740 to 9789 are this
// file's and rollupjobs.go's.
const firstRollupProc sqltypes.OID = 9740

// refresh_continuous_aggregate(view, start, end), called: NULL is as far as there
// are rows. It acts on the node that it is called on.
func init() {
	sqltypes.RegisterProc(&sqltypes.Proc{OID: firstRollupProc, Name: "refresh_continuous_aggregate", Namespace: catalog.SchemaPgCatalog, Kind: 'p',
		Volatility: sqltypes.Volatile, ArgTypes: []sqltypes.OID{sqltypes.OIDRegclass, sqltypes.OIDAny, sqltypes.OIDAny}, ArgNames: []string{"continuous_aggregate", "window_start", "window_end"},
		RetType: sqltypes.OIDVoid, Src: "ostraka_refresh_continuous_aggregate", Cost: 1000, Parallel: 'u', Writes: true, Node: true, Fn: callRefresh})
}

func callRefresh(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	s, n, err := nodeOf(c)
	if err != nil {
		return sqltypes.Null, err
	}
	cat := s.PlanContext().Catalog
	view := cat.Relation(sqltypes.OID(a[0].I))
	switch {
	case a[0].Null:
		return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, "invalid continuous aggregate")
	case view == nil || view.Rollup == nil:
		return sqltypes.Null, pgerror.New(pgerror.WrongObjectType, "relation with OID %d is not a continuous aggregate", a[0].I)
	case !s.Superuser() && !s.MemberOf(view.Owner):
		return sqltypes.Null, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of view %s", view.Name)
	case s.InBlock():
		return sqltypes.Null, pgerror.New(pgerror.ActiveSqlTransaction, "refresh_continuous_aggregate() cannot run inside a transaction block")
	case s.ReadOnly():
		return sqltypes.Null, pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot execute refresh_continuous_aggregate() in a read-only transaction")
	}
	bound := view.Columns[view.Rollup.Bucket-1].Type.OID
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	for i, to := range []*int64{&lo, &hi} {
		d := a[i+1]
		if d.Null {
			continue
		}
		if d, err = refreshBound(c, c.ArgTypes[i+1].OID, bound, d); err != nil {
			return sqltypes.Null, err
		}
		*to = d.I
	}
	if lo >= hi {
		return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, "refresh window must have a start before its end")
	}
	res, err := n.refreshRollup(c.Env.Ctx, cat.DatabaseByName(s.Database()).OID, view, lo, hi)
	if errors.Is(err, context.Canceled) && c.Env.Ctx.Err() != nil {
		err = context.Cause(c.Env.Ctx)
	}
	if err == nil && res.Buckets == 0 {
		s.NoticeError(&pgerror.Error{Severity: "NOTICE", Code: pgerror.SuccessfulCompletion, Message: "continuous aggregate \"" + view.Name + "\" is already up-to-date"})
	}
	return sqltypes.Null, err
}

// refreshBound is a value of any type as one of the bucket's.
func refreshBound(c *sqltypes.Call, have, want sqltypes.OID, d sqltypes.Datum) (sqltypes.Datum, error) {
	stamp := func(o sqltypes.OID) bool { return o == sqltypes.OIDTimestamptz || o == sqltypes.OIDTimestamp }
	switch {
	case have == want, want == sqltypes.OIDInt8 && (have == sqltypes.OIDInt4 || have == sqltypes.OIDInt2):
		return d, nil
	case have == sqltypes.OIDUnknown, have == sqltypes.OIDText:
		return sqltypes.TypeByOID(want).In(c.Env, d.S, -1)
	case want == sqltypes.OIDTimestamp && stamp(have):
		return callProc(c, procLocalTime, d)
	case want == sqltypes.OIDTimestamptz && stamp(have):
		return callProc(c, procZonedTime, d)
	}
	return d, pgerror.New(pgerror.InvalidParameterValue, "invalid time argument type \"%s\"", sqltypes.FormatType(have, -1)).
		WithHint("Try casting the argument to \"%s\".", sqltypes.FormatType(want, -1))
}

const procZonedTime = 2028 // timestamptz(timestamp)
