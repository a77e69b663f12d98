package builtin

import (
	"strings"

	"ostraka/sqltypes"
)

// enumOf returns what the enum type of a call consists of.
func enumOf(c *Call) *sqltypes.EnumInfo {
	if len(c.ArgTypes) > 0 {
		if t := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID); t != nil {
			return t.Enum
		}
	}
	return nil
}

// enumEdge is enum_first and enum_last; the argument only tells the type.
func enumEdge(pick func(labels []sqltypes.EnumLabel) sqltypes.EnumLabel) sqltypes.ScalarFunc {
	return func(c *Call, _ []Datum) (Datum, error) {
		if e := enumOf(c); e != nil && len(e.Labels) > 0 {
			return integer(int64(pick(e.Labels).OID))
		}
		return isNull()
	}
}

// enumRange is enum_range of a type or between two values (NULL: no bound).
func enumRange(c *Call, args []Datum) (Datum, error) {
	e := enumOf(c)
	if e == nil {
		return isNull()
	}
	from, to := 0, len(e.Labels)-1
	if len(args) > 1 {
		if !args[0].Null {
			from = e.Index(sqltypes.OID(args[0].I))
		}
		if !args[1].Null {
			to = e.Index(sqltypes.OID(args[1].I))
		}
	}
	var out []Datum
	for i := from; i <= to; i++ {
		out = append(out, sqltypes.Int(int64(e.Labels[i].OID)))
	}
	return sqltypes.MakeVector(sqltypes.LookupType(c.Env, c.ArgTypes[0].OID), out), nil
}

func init() {
	comparePolymorphic("enum_*", "enum_cmp")
	scalarTable{
		"enum_first":     enumEdge(func(l []sqltypes.EnumLabel) sqltypes.EnumLabel { return l[0] }),
		"enum_last":      enumEdge(func(l []sqltypes.EnumLabel) sqltypes.EnumLabel { return l[len(l)-1] }),
		"enum_range_all": enumRange, "enum_range_bounds": enumRange,
	}.register()
	for op, test := range map[string]func(int) bool{
		"eq": func(c int) bool { return c == 0 }, "ne": func(c int) bool { return c != 0 },
		"lt": func(c int) bool { return c < 0 }, "le": func(c int) bool { return c <= 0 },
		"gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 },
	} {
		scalarTable{
			"record_" + op: func(c *Call, a []Datum) (Datum, error) {
				r, err := sqltypes.CompareRecords(c.Env, a[0], a[1])
				return sqltypes.Bool(test(r)), err
			},
			"record_image_" + op: func(_ *Call, a []Datum) (Datum, error) { return boolean(test(strings.Compare(a[0].S, a[1].S))) },
		}.register()
	}
	scalarTable{
		"btrecordcmp": func(c *Call, a []Datum) (Datum, error) {
			r, err := sqltypes.CompareRecords(c.Env, a[0], a[1])
			return sqltypes.Int(int64(r)), err
		},
		"btrecordimagecmp": func(_ *Call, a []Datum) (Datum, error) { return integer(int64(strings.Compare(a[0].S, a[1].S))) },
	}.register()
}
