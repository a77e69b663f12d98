package node

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/prom"
)

// firstPromProc is the OID of promql(query, start, end, step); 9800 to 9849 are this file's.
const firstPromProc sqltypes.OID = 9800

func init() {
	in := []sqltypes.OID{sqltypes.OIDText, sqltypes.OIDTimestamptz, sqltypes.OIDTimestamptz, sqltypes.OIDInterval}
	names := []string{"query", "start", "end", "step"}
	out := []sqltypes.OID{sqltypes.OIDJsonb, sqltypes.OIDTimestamptz, sqltypes.OIDFloat8}
	add := func(at sqltypes.OID, n int, names []string) {
		p := &sqltypes.Proc{OID: firstPromProc + at, Name: "promql", Namespace: catalog.SchemaPgCatalog, Kind: 'f', Strict: true, RetSet: true,
			Volatility: sqltypes.Volatile, ArgTypes: in[:n], RetType: sqltypes.OIDRecord, Src: "ostraka_promql", Cost: 1000, Rows: 1000, Parallel: 'u', Node: true, Set: promqlRows}
		p.AllArgTypes = append(append(p.AllArgTypes, in[:n]...), out...)
		p.ArgNames = append(append(p.ArgNames, names...), "metric", "time", "value")
		for i := range p.AllArgTypes {
			mode := byte('i')
			if i >= n {
				mode = 't'
			}
			p.ArgModes = append(p.ArgModes, mode)
		}
		sqltypes.RegisterProc(p)
	}
	add(0, 4, names)
	add(1, 2, []string{"query", "at"})
}

// promqlRows runs a range query, or an instant one with two arguments.
func promqlRows(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.RowSource, error) {
	s, n, err := nodeOf(c)
	if err != nil {
		return nil, err
	}
	cat := s.PlanContext().Catalog
	role := cat.RoleByName(s.CurrentUser())
	if role == nil {
		return nil, pgerror.New(pgerror.UndefinedObject, "role \"%s\" does not exist", s.CurrentUser())
	}
	r := prom.Reader{Catalog: cat, Role: role.OID}
	start, err := promTime(args[1])
	if err != nil {
		return nil, err
	}
	var res *promql.Result
	var release func()
	if len(args) == 2 {
		res, release, err = n.metrics.Instant(c.Env.Ctx, r, args[0].S, start, 0)
	} else {
		var end time.Time
		var step time.Duration
		if end, err = promTime(args[2]); err != nil {
			return nil, err
		}
		if end.Before(start) {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "end of the range is before its start")
		}
		if step, err = promStep(args[3]); err != nil {
			return nil, err
		}
		res, release, err = n.metrics.Range(c.Env.Ctx, r, args[0].S, start, end, step, 0)
	}
	if err != nil {
		return nil, promError(err)
	}
	defer release()
	if res.Err != nil {
		return nil, promError(res.Err)
	}
	return promResult(c.Env, res)
}

// promRows are the rows of a result.
type promRows struct {
	rows []promRow
	row  [3]sqltypes.Datum
}

type promRow struct {
	metric sqltypes.Datum
	t      int64 // ms since 1970
	v      float64
}

// Next implements sqltypes.RowSource.
func (p *promRows) Next() ([]sqltypes.Datum, bool, error) {
	if len(p.rows) == 0 {
		return nil, false, nil
	}
	r := p.rows[0]
	p.rows = p.rows[1:]
	p.row = [3]sqltypes.Datum{r.metric, sqltypes.Int((r.t - unix2000*1000) * 1000), sqltypes.Float(r.v)}
	return p.row[:], true, nil
}

// unix2000 is 2000-01-01 UTC, the zero of timestamps, in seconds since 1970.
const unix2000 = 946_684_800

func promResult(env *sqltypes.Env, res *promql.Result) (*promRows, error) {
	out := &promRows{}
	metric := func(ls labels.Labels) (sqltypes.Datum, error) {
		text, err := json.Marshal(ls)
		if err != nil {
			return sqltypes.Null, err
		}
		return sqltypes.TypeByOID(sqltypes.OIDJsonb).In(env, string(text), -1)
	}
	switch v := res.Value.(type) {
	case promql.Matrix:
		for _, s := range v {
			m, err := metric(s.Metric)
			if err != nil {
				return nil, err
			}
			for _, p := range s.Floats {
				out.rows = append(out.rows, promRow{m, p.T, p.F})
			}
		}
	case promql.Vector:
		for _, s := range v {
			m, err := metric(s.Metric)
			if err != nil {
				return nil, err
			}
			out.rows = append(out.rows, promRow{m, s.T, s.F})
		}
	case promql.Scalar:
		m, err := metric(labels.EmptyLabels())
		if err != nil {
			return nil, err
		}
		out.rows = append(out.rows, promRow{m, v.T, v.V})
	default:
		return nil, pgerror.NotSupported("PromQL expression of type %s", res.Value.Type())
	}
	return out, nil
}

func promTime(d sqltypes.Datum) (time.Time, error) {
	if d.I == math.MaxInt64 || d.I == math.MinInt64 {
		return time.Time{}, pgerror.New(pgerror.DatetimeFieldOverflow, "a PromQL query needs finite times")
	}
	return time.UnixMicro(d.I + unix2000*1_000_000).UTC(), nil
}

func promStep(d sqltypes.Datum) (time.Duration, error) {
	iv := sqltypes.IntervalOf(d)
	if iv.Months != 0 {
		return 0, pgerror.New(pgerror.InvalidParameterValue, "step of a PromQL query cannot have months")
	}
	if iv.Days > 100_000 || iv.Usec > math.MaxInt64/2000 {
		return 0, pgerror.New(pgerror.InvalidParameterValue, "step of a PromQL query is too long")
	}
	step := time.Duration(iv.Days)*24*time.Hour + time.Duration(iv.Usec)*time.Microsecond
	if step < time.Millisecond {
		return 0, pgerror.New(pgerror.InvalidParameterValue, "step of a PromQL query must be at least one millisecond")
	}
	return step, nil
}

// promError gives an error of the engine its SQLSTATE.
func promError(err error) error {
	var (
		pe       *pgerror.Error
		text     *prom.QueryError
		timeout  promql.ErrQueryTimeout
		canceled promql.ErrQueryCanceled
		samples  promql.ErrTooManySamples
	)
	switch {
	case errors.As(err, &pe):
		return pe
	case errors.As(err, &text):
		return pgerror.New(pgerror.SyntaxError, "PromQL: %v", text.Err)
	case errors.As(err, &samples):
		return pgerror.New(pgerror.ProgramLimitExceeded, "PromQL: %v", err)
	case errors.As(err, &timeout), errors.As(err, &canceled), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return pgerror.New(pgerror.QueryCanceled, "PromQL: %v", err)
	}
	return pgerror.New(pgerror.InvalidParameterValue, "PromQL: %v", err)
}
