package syscat

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// registerInheritance declares what shows inheritance and partitions.
func registerInheritance(s *Set) {
	s.static("pg_catalog.pg_inherits", columnNames("pg_inherits"), func(q *Query, emit Emit) error {
		for _, r := range relations(q.Cat) {
			for i, p := range r.Parents {
				emit(oid(r.OID), oid(p), num(i+1), yes(false))
			}
			for _, ix := range r.Indexes {
				if ix.Parent != 0 {
					emit(oid(ix.OID), oid(ix.Parent), num(1), yes(false))
				}
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_partitioned_table", columnNames("pg_partitioned_table"), func(q *Query, emit Emit) error {
		for _, r := range relations(q.Cat) {
			p := r.Partitioning
			if p == nil {
				continue
			}
			var attrs []int16
			var classes, colls []sqltypes.OID
			exprs := sqltypes.Null
			for _, k := range p.Keys {
				attrs = append(attrs, k.Attr)
				classes = append(classes, k.OpClass)
				coll := k.Type.Collation
				if t := q.Cat.Type(k.Type.OID); t != nil && coll == 0 {
					coll = t.Collation
				}
				colls = append(colls, coll)
				if k.Attr == 0 {
					exprs = nodeText('e', 0, k.Expr)
				}
			}
			def := sqltypes.OID(0)
			if parts := q.Cat.Partitions(r); parts.Default >= 0 {
				def = parts.Parts[parts.Default].OID
			}
			emit(oid(r.OID), char(p.Strategy), num(len(p.Keys)), oid(def), sqltypes.Int2Vector(attrs), sqltypes.OIDVector(classes), sqltypes.OIDVector(colls), exprs)
		}
		return nil
	})
}

func init() {
	register(map[string]scalar{
		"pg_get_partkeydef": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return textOrNull(l.partitionKeyDef(argOID(a[0]))), nil
		},
		"pg_get_partition_constraintdef": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			r := l.cat.Relation(argOID(a[0]))
			if r == nil || r.Bound == nil {
				return sqltypes.Null, nil
			}
			s, _ := l.relationText(r, l.cat.PartitionConstraint(r), true, false)
			return textOrNull(s), nil
		},
		"pg_partition_root": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			chain := l.partitionChain(argOID(a[0]))
			if len(chain) == 0 {
				return sqltypes.Null, nil
			}
			return oid(chain[len(chain)-1]), nil
		},
		"satisfies_hash_partition": satisfiesHash,
	})
	sqltypes.RegisterSet("pg_partition_ancestors", func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
		l, err := lookupOf(c)
		if err != nil {
			return nil, err
		}
		out := &rowList{}
		for _, o := range l.partitionChain(argOID(a[0])) {
			out.rows = append(out.rows, []sqltypes.Datum{oid(o)})
		}
		return out, nil
	})
	sqltypes.RegisterSet("pg_partition_tree", func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
		l, err := lookupOf(c)
		if err != nil {
			return nil, err
		}
		out := &rowList{}
		root := argOID(a[0])
		chain := l.partitionChain(root)
		if len(chain) == 0 {
			return out, nil
		}
		type place struct {
			oid   sqltypes.OID
			depth int
		}
		queue := []place{{root, 0}}
		for i := 0; i < len(queue); i++ {
			at := queue[i]
			up := l.partitionChain(at.oid)
			parent := sqltypes.Null
			if len(up) > 1 {
				parent = oid(up[1])
			}
			below := l.partsBelow(at.oid)
			r, _ := l.relation(at.oid)
			leaf := r.Partitioning == nil
			out.rows = append(out.rows, []sqltypes.Datum{oid(at.oid), parent, yes(leaf), num(at.depth)})
			for _, o := range below {
				queue = append(queue, place{o, at.depth + 1})
			}
		}
		return out, nil
	})
}

// partitionChain is a partition, or partitioned table or index, and its ancestors;
// nil for other relations.
func (l *lookup) partitionChain(o sqltypes.OID) []sqltypes.OID {
	r, ix := l.relation(o)
	switch {
	case r == nil || r.Kind == catalog.KindVirtual:
		return nil
	case ix != nil:
		if r.Partitioning == nil && ix.Parent == 0 {
			return nil
		}
		out := []sqltypes.OID{ix.OID}
		for ix.Parent != 0 {
			_, up := l.cat.Index(ix.Parent)
			if up == nil {
				break
			}
			out, ix = append(out, up.OID), up
		}
		return out
	case r.Partitioning == nil && r.Bound == nil:
		return nil
	}
	out := []sqltypes.OID{o}
	for r.Bound != nil {
		up := l.cat.Relation(r.Parents[0])
		if up == nil {
			break
		}
		out, r = append(out, up.OID), up
	}
	return out
}

// partsBelow are the partitions of a partitioned table or index.
func (l *lookup) partsBelow(o sqltypes.OID) []sqltypes.OID {
	r, ix := l.relation(o)
	var out []sqltypes.OID
	for _, c := range l.cat.Children(r.OID) {
		if ix == nil {
			if c.Bound != nil {
				out = append(out, c.OID)
			}
			continue
		}
		for _, k := range c.Indexes {
			if k.Parent == ix.OID {
				out = append(out, k.OID)
			}
		}
	}
	return out
}

// partitionKeyDef is a PARTITION BY clause without its first two words.
func (l *lookup) partitionKeyDef(o sqltypes.OID) string {
	r := l.cat.Relation(o)
	if r == nil || r.Partitioning == nil {
		return ""
	}
	var keys []string
	for _, k := range r.Partitioning.Keys {
		if k.Attr != 0 {
			keys = append(keys, quoteIdent(r.Columns[k.Attr-1].Name))
			continue
		}
		s, call := l.relationText(r, k.Expr, false, false)
		if !call {
			s = "(" + s + ")"
		}
		keys = append(keys, s)
	}
	word := map[byte]string{'l': "LIST", 'r': "RANGE", 'h': "HASH"}[r.Partitioning.Strategy]
	return word + " (" + strings.Join(keys, ", ") + ")"
}

// satisfiesHash is satisfies_hash_partition(parent, modulus, remainder, VARIADIC key).
func satisfiesHash(l *lookup, c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
	if a[0].Null || a[1].Null || a[2].Null {
		return yes(false), nil
	}
	bad := func(format string, args ...any) (sqltypes.Datum, error) {
		return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, format, args...)
	}
	r := l.cat.Relation(argOID(a[0]))
	switch {
	case r == nil:
		return bad("could not open relation with OID %d", argOID(a[0]))
	case r.Partitioning == nil || r.Partitioning.Strategy != 'h':
		return bad("\"%s\" is not a hash partitioned table", r.Name)
	case a[1].I <= 0:
		return bad("modulus for hash partition must be an integer value greater than zero")
	case a[2].I < 0:
		return bad("remainder for hash partition must be an integer value greater than or equal to zero")
	case a[2].I >= a[1].I:
		return bad("remainder for hash partition must be less than modulus")
	}
	keys := r.Partitioning.Keys
	vals := a[3:]
	if len(vals) != len(keys) {
		return bad("number of partitioning columns (%d) does not match number of partition keys provided (%d)", len(keys), len(vals))
	}
	var types []*sqltypes.Type
	for i, k := range keys {
		if i+3 < len(c.ArgTypes) && c.ArgTypes[i+3].OID != k.Type.OID {
			return bad("column %d of the partition key has type %s, but supplied value is of type %s", i+1,
				sqltypes.FormatType(k.Type.OID, -1), sqltypes.FormatType(c.ArgTypes[i+3].OID, -1))
		}
		types = append(types, l.cat.Type(k.Type.OID))
	}
	return yes(catalog.PartitionHash(types, vals)%uint64(a[1].I) == uint64(a[2].I)), nil
}
