package catalog

import (
	"cmp"
	"slices"
	"sync"

	"ostraka/sqltypes"
)

// Partitioning is a table's PARTITION BY clause.
type Partitioning struct {
	Strategy byte // l list, r range, h hash
	Keys     []PartitionKey
}

// PartitionKey is one column or expression of a partition key.
type PartitionKey struct {
	Attr    int16  // 0: expression
	Expr    string `json:",omitempty"` // SQL text
	Type    sqltypes.ColumnType
	OpClass OID
}

// PartitionBound is a FOR VALUES clause, or DEFAULT.
type PartitionBound struct {
	Default            bool             `json:",omitempty"`
	List               []sqltypes.Datum `json:",omitempty"` // with NULL, if it is listed
	Lower, Upper       []RangeBound     `json:",omitempty"`
	Modulus, Remainder int              `json:",omitempty"`
}

// RangeBound is one value of a range's bound; Kind -1 is MINVALUE, 1 MAXVALUE.
type RangeBound struct {
	Kind  int            `json:",omitempty"`
	Value sqltypes.Datum `json:",omitempty"`
}

// Partitions are the partitions of one table in the order of their bounds, with
// what finds the one of a row. It is not changed once it is made.
type Partitions struct {
	Rel     *Relation
	Parts   []*Relation // by bound; the default one last
	Default int         // index into Parts, -1 none
	types   []*sqltypes.Type

	list   []listValue // ascending
	null   int         // list: the partition of NULL, -1 none
	ranges []rangePart // ascending
	hashes []int       // by remainder of the greatest modulus: the partition, or -1
}

type listValue struct {
	v    sqltypes.Datum
	part int
}

type rangePart struct {
	lower, upper []RangeBound
	part         int
}

// partitionCache keeps the Partitions of a snapshot; it is shared by the snapshots
// between which no relation changed.
type partitionCache struct{ m sync.Map } // OID → *Partitions

// Partitions are those of a partitioned table; nil for other relations.
func (c *Catalog) Partitions(rel *Relation) *Partitions {
	if rel.Partitioning == nil {
		return nil
	}
	if c.parted != nil && c.Relation(rel.OID) == rel {
		if p, ok := c.parted.m.Load(rel.OID); ok {
			return p.(*Partitions)
		}
	}
	p := c.makePartitions(rel)
	if c.parted != nil && c.Relation(rel.OID) == rel {
		c.parted.m.Store(rel.OID, p)
	}
	return p
}

func (c *Catalog) makePartitions(rel *Relation) *Partitions {
	p := &Partitions{Rel: rel, Default: -1, null: -1}
	for _, k := range rel.Partitioning.Keys {
		p.types = append(p.types, c.Type(k.Type.OID))
	}
	children := c.Children(rel.OID)
	children = slices.DeleteFunc(children, func(r *Relation) bool { return r.Bound == nil })
	slices.SortStableFunc(children, func(a, b *Relation) int { return p.order(a.Bound, b.Bound) })
	p.Parts = children
	for i, r := range children {
		b := r.Bound
		if b.Default {
			p.Default = i
			continue
		}
		switch rel.Partitioning.Strategy {
		case 'l':
			for _, d := range b.List {
				if d.Null {
					p.null = i
				} else {
					p.list = append(p.list, listValue{d, i})
				}
			}
		case 'r':
			p.ranges = append(p.ranges, rangePart{b.Lower, b.Upper, i})
		case 'h':
			for len(p.hashes) < b.Modulus {
				p.hashes = append(p.hashes, -1)
			}
		}
	}
	slices.SortStableFunc(p.list, func(a, b listValue) int { return p.compare(0, a.v, b.v) })
	if rel.Partitioning.Strategy == 'h' {
		for i, r := range children {
			for h := r.Bound.Remainder; h < len(p.hashes); h += r.Bound.Modulus {
				p.hashes[h] = i
			}
		}
	}
	return p
}

// order compares two bounds: the default partition comes last, that of only NULL before it.
func (p *Partitions) order(a, b *PartitionBound) int {
	if a.Default != b.Default {
		if a.Default {
			return 1
		}
		return -1
	}
	switch {
	case a.Modulus > 0:
		return cmp.Or(cmp.Compare(a.Modulus, b.Modulus), cmp.Compare(a.Remainder, b.Remainder))
	case len(a.Upper) > 0 && len(b.Upper) > 0:
		return p.compareBounds(a.Upper, b.Upper)
	}
	least := func(l []sqltypes.Datum) (out sqltypes.Datum) {
		out = sqltypes.Null
		for _, d := range l {
			if !d.Null && (out.Null || p.compare(0, d, out) < 0) {
				out = d
			}
		}
		return out
	}
	x, y := least(a.List), least(b.List)
	switch {
	case x.Null || y.Null:
		if x.Null == y.Null {
			return 0
		}
		if x.Null {
			return 1
		}
		return -1
	}
	return p.compare(0, x, y)
}

func (p *Partitions) compare(key int, a, b sqltypes.Datum) int {
	if t := p.types[key]; t != nil && t.Compare != nil {
		return t.Compare(a, b)
	}
	return 0
}

// compareBounds compares two bounds as points between rows.
func (p *Partitions) compareBounds(a, b []RangeBound) int {
	c, _ := p.compareBoundsAt(a, b)
	return c
}

// compareBoundsAt tells, too, which column decided.
func (p *Partitions) compareBoundsAt(a, b []RangeBound) (c, at int) {
	for i := range a {
		if i >= len(b) {
			break
		}
		at = i
		if c := cmp.Compare(a[i].Kind, b[i].Kind); c != 0 {
			return c, i
		}
		if a[i].Kind != 0 {
			return 0, i // what follows MINVALUE and MAXVALUE does not count
		}
		if c := p.compare(i, a[i].Value, b[i].Value); c != 0 {
			return c, i
		}
	}
	return 0, at
}

// compareRow compares a bound with a row's key.
func (p *Partitions) compareRow(b []RangeBound, key []sqltypes.Datum) int {
	for i := range b {
		if b[i].Kind != 0 {
			return b[i].Kind
		}
		if c := p.compare(i, b[i].Value, key[i]); c != 0 {
			return c
		}
	}
	return 0
}

// Find is the index into Parts of the partition that has rows with the key, -1 if
// there is none.
func (p *Partitions) Find(key []sqltypes.Datum) int {
	at := -1
	switch p.Rel.Partitioning.Strategy {
	case 'h':
		if len(p.hashes) == 0 {
			return -1
		}
		return p.hashes[p.Hash(key)%uint64(len(p.hashes))]
	case 'l':
		if key[0].Null {
			at = p.null
			break
		}
		if i, ok := p.FindList(key[0]); ok {
			at = p.list[i].part
		}
	default:
		for _, d := range key {
			if d.Null {
				return p.Default
			}
		}
		// The last range that begins at or before the key.
		i, _ := slices.BinarySearchFunc(p.ranges, key, func(r rangePart, key []sqltypes.Datum) int {
			if p.compareRow(r.upper, key) > 0 {
				return 1
			}
			return -1
		})
		if i < len(p.ranges) && p.compareRow(p.ranges[i].lower, key) <= 0 {
			at = p.ranges[i].part
		}
	}
	if at < 0 {
		at = p.Default
	}
	return at
}

// FindList is the place of a value among the listed ones, or where it would be.
func (p *Partitions) FindList(v sqltypes.Datum) (int, bool) {
	return slices.BinarySearchFunc(p.list, v, func(l listValue, v sqltypes.Datum) int { return p.compare(0, l.v, v) })
}

// hashSeed is PostgreSQL's HASH_PARTITION_SEED.
const hashSeed = 0x7A5B22367996DCFD

// Hash is PostgreSQL's hash of a partition key (compute_partition_hash_value).
func (p *Partitions) Hash(key []sqltypes.Datum) uint64 { return PartitionHash(p.types, key) }

// PartitionHash is the hash of a key of these types.
func PartitionHash(types []*sqltypes.Type, key []sqltypes.Datum) uint64 {
	var h uint64
	for i, d := range key {
		if d.Null {
			continue
		}
		v, _ := sqltypes.HashExtended(types[i], d, hashSeed)
		h ^= v + 0x49a0f4dd15e5a8e3 + h<<54 + h>>7
	}
	return h
}

// Overlap is what stands in the way of a new bound.
type Overlap struct {
	Part  int  // index of the partition that has rows which the bound would have too; -1 none
	Empty bool // the bound is a range without rows
	Upper bool // the upper bound is to blame, not the lower
	Value int  // which value of the bound is
}

// Overlapping looks for a partition that has rows which the bound would have too.
func (p *Partitions) Overlapping(b *PartitionBound) Overlap {
	switch p.Rel.Partitioning.Strategy {
	case 'h':
		for i, r := range p.Parts {
			small, big := min(r.Bound.Modulus, b.Modulus), max(r.Bound.Modulus, b.Modulus)
			if small > 0 && big > 0 && r.Bound.Remainder%small == b.Remainder%small {
				return Overlap{Part: i}
			}
		}
	case 'l':
		for n, d := range b.List {
			if d.Null {
				if p.null >= 0 {
					return Overlap{Part: p.null, Value: n}
				}
			} else if i, ok := p.FindList(d); ok {
				return Overlap{Part: p.list[i].part, Value: n}
			}
		}
	case 'r':
		if c, at := p.compareBoundsAt(b.Lower, b.Upper); c >= 0 {
			return Overlap{Part: -1, Empty: true, Value: at}
		}
		for _, r := range p.ranges {
			up, at := p.compareBoundsAt(r.lower, b.Upper)
			if up >= 0 || p.compareBounds(b.Lower, r.upper) >= 0 {
				continue
			}
			if c, low := p.compareBoundsAt(r.lower, b.Lower); c <= 0 {
				if c == 0 {
					low = 0
				}
				return Overlap{Part: r.part, Value: low}
			}
			return Overlap{Part: r.part, Upper: true, Value: at}
		}
	}
	return Overlap{Part: -1}
}

// Types are the types of the key.
func (p *Partitions) Types() []*sqltypes.Type { return p.types }
