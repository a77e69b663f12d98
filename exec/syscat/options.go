package syscat

import (
	"strings"

	"ostraka/sqltypes"
)

func init() {
	sqltypes.RegisterSet("pg_options_to_table", func(_ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
		out := &rowList{}
		if len(a) == 0 || a[0].Null {
			return out, nil
		}
		for _, d := range sqltypes.OpenArray(a[0]).Elements() {
			name, value, ok := strings.Cut(d.S, "=")
			v := sqltypes.Null
			if ok {
				v = text(value)
			}
			out.rows = append(out.rows, []sqltypes.Datum{text(name), v})
		}
		return out, nil
	})
	sqltypes.RegisterSet("pg_get_catalog_foreign_keys", func(*sqltypes.Call, []sqltypes.Datum) (sqltypes.RowSource, error) { return &rowList{}, nil })
	register(map[string]scalar{"pg_sequence_parameters": sequenceParameters})
}

func sequenceParameters(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	r := l.cat.Relation(argOID(a[0]))
	if r == nil || r.Sequence == nil {
		return sqltypes.Null, nil
	}
	s := r.Sequence
	return outRecord(c.Proc, []sqltypes.Datum{sqltypes.Int(s.Start), sqltypes.Int(s.Min), sqltypes.Int(s.Max), sqltypes.Int(s.Increment), yes(s.Cycle),
		sqltypes.Int(s.Cache), oid(s.Type)}), nil
}
