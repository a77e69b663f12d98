package syscat

import (
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// sizes reads how much space relations take: an estimate of the storage, which
// holds rows compressed and merged with others'.
type sizes interface {
	SizeView() (engine.View, func(), error)
}

func init() {
	relation := func(table, indexes bool) scalar {
		return func(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			s, ok := c.Env.Session.Ext().(sizes)
			if !ok {
				return sqltypes.Null, nil
			}
			r, ix := l.relation(argOID(a[0]))
			if r == nil {
				return sqltypes.Null, nil
			}
			if r.Kind == catalog.KindVirtual {
				return sqltypes.Int(0), nil
			}
			v, done, err := s.SizeView()
			if err != nil {
				return sqltypes.Null, err
			}
			defer done()
			if ix != nil {
				return sqltypes.Int(v.EstimateBytes(r, ix)), nil
			}
			var n int64
			if table && r.StorageID != 0 {
				n += v.EstimateBytes(r, nil)
			}
			if indexes {
				for _, i := range r.Indexes {
					if !i.Clustered {
						n += v.EstimateBytes(r, i)
					}
				}
			}
			return sqltypes.Int(n), nil
		}
	}
	register(map[string]scalar{
		"pg_relation_size":           relation(true, false),
		"pg_relation_size(regclass)": relation(true, false),
		"pg_table_size":              relation(true, false),
		"pg_indexes_size":            relation(false, true),
		"pg_total_relation_size":     relation(true, true),
		"pg_database_size_name":      databaseSize,
		"pg_database_size_oid":       databaseSize,
		"pg_partition_root": func(_ *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return sqltypes.Null, nil
		},
	})
	sqltypes.RegisterSet("pg_partition_ancestors", func(*sqltypes.Call, []sqltypes.Datum) (sqltypes.RowSource, error) { return &rowList{}, nil })
	sqltypes.RegisterSet("pg_partition_tree", func(*sqltypes.Call, []sqltypes.Datum) (sqltypes.RowSource, error) { return &rowList{}, nil })
}

// databaseSize adds up the tables of the session's own database.
func databaseSize(l *lookup, c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	s, ok := c.Env.Session.Ext().(sizes)
	if !ok {
		return sqltypes.Null, nil
	}
	v, done, err := s.SizeView()
	if err != nil {
		return sqltypes.Null, err
	}
	defer done()
	var n int64
	l.cat.AllRelations(func(r *catalog.Relation) bool {
		if r.StorageID != 0 && (r.Kind == catalog.KindTable || r.Kind == catalog.KindMatView) {
			n += v.EstimateBytes(r, nil)
			for _, i := range r.Indexes {
				if !i.Clustered {
					n += v.EstimateBytes(r, i)
				}
			}
		}
		return true
	})
	return sqltypes.Int(n), nil
}
