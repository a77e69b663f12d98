package syscat

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Functions that maintain BRIN and GIN indexes, whose entries are not kept here: they
// check their arguments and find nothing to do. Nor are values ever stored compressed
// by themselves, and there are no extended statistics.
func init() {
	null := func(*lookup, *sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) { return sqltypes.Null, nil }
	register(map[string]scalar{
		"brin_summarize_new_values": indexUpkeep("brin", "BRIN", false),
		"brin_summarize_range":      indexUpkeep("brin", "BRIN", false),
		"brin_desummarize_range":    indexUpkeep("brin", "BRIN", true),
		"gin_clean_pending_list":    indexUpkeep("gin", "GIN", false),
		"pg_column_compression":     null,
	})
}

// indexUpkeep is a function of an index and, optionally, a block number; it answers
// the number of things done, 0, or nothing.
func indexUpkeep(method, title string, void bool) scalar {
	return func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		if len(a) > 1 && (a[1].I < 0 || a[1].I > 1<<32-1) {
			return sqltypes.Null, pgerror.New(pgerror.NumericValueOutOfRange, "block number out of range: %d", a[1].I)
		}
		switch r, ix := l.relation(argOID(a[0])); {
		case ix != nil && ix.Method != method:
			return sqltypes.Null, pgerror.New(pgerror.WrongObjectType, "%q is not a %s index", ix.Name, title)
		case ix == nil && r != nil:
			return sqltypes.Null, pgerror.New(pgerror.WrongObjectType, "%q is not an index", r.Name)
		case r == nil:
			return sqltypes.Null, pgerror.New(pgerror.UndefinedTable, "could not open relation with OID %d", argOID(a[0]))
		case !l.cat.Member(l.ctx.Role, r.Owner):
			return sqltypes.Null, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of index %s", ix.Name)
		}
		if void {
			return text(""), nil
		}
		return sqltypes.Int(0), nil
	}
}
