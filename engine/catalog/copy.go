package catalog

// Everything lists the Changes that would make all of a database's own objects.
// Types that come with others (row types, arrays) are included where someone put
// them.
func Everything(c *Catalog) []Change {
	var out []Change
	c.AllSchemas(func(d *Schema) bool { out = append(out, Put(c.DB, d)); return true })
	c.AllTypes(func(d *UserType) bool { out = append(out, Put(c.DB, d)); return true })
	c.AllRelations(func(d *Relation) bool { out = append(out, Put(c.DB, d)); return true })
	c.AllFunctions(func(d *Function) bool { out = append(out, Put(c.DB, d)); return true })
	c.AllOperators(func(d *Operator) bool { out = append(out, Put(c.DB, d)); return true })
	c.AllCasts(func(d *Cast) bool { out = append(out, Put(c.DB, d)); return true })
	c.AllPublications(func(d *Publication) bool { out = append(out, Put(c.DB, d)); return true })
	for _, d := range c.defaultACL {
		out = append(out, Put(c.DB, d))
	}
	c.stats.all(func(d *TableStats) bool { out = append(out, Put(c.DB, d)); return true })
	return out
}

// CopyRelation copies a descriptor so far that its storage ids can be changed.
func CopyRelation(r *Relation) *Relation {
	c := *r
	c.phys = new(physical)
	c.Indexes = make([]*Index, len(r.Indexes))
	for i, ix := range r.Indexes {
		x := *ix
		c.Indexes[i] = &x
	}
	if r.Sequence != nil {
		q := *r.Sequence
		c.Sequence = &q
	}
	return &c
}

// StorageIDPointers lists where a descriptor keeps storage ids.
func StorageIDPointers(r *Relation) []*uint64 {
	var out []*uint64
	if r.StorageID != 0 {
		out = append(out, &r.StorageID)
	}
	for _, ix := range r.Indexes {
		if !ix.Clustered && ix.StorageID != 0 {
			out = append(out, &ix.StorageID)
		}
	}
	if r.Sequence != nil && r.Sequence.StorageID != 0 {
		out = append(out, &r.Sequence.StorageID)
	}
	return out
}

// StorageIDs lists the storage ids of a relation, its indexes and its sequence.
func StorageIDs(r *Relation) []uint64 {
	var out []uint64
	for _, p := range StorageIDPointers(r) {
		out = append(out, *p)
	}
	return out
}
