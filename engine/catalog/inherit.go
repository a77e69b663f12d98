package catalog

import "slices"

// inherit keeps the lists of children in step with a relation that is put or, with
// d nil, dropped.
func (b *builder) inherit(oid OID, d *Relation) {
	var before, after []OID
	if o := b.c.Relation(oid); o != nil {
		before = o.Parents
	}
	if d != nil {
		after = d.Parents
	}
	for _, p := range before {
		if !slices.Contains(after, p) {
			rest := slices.DeleteFunc(slices.Clone(b.c.children.get(oidKey(p))), func(c OID) bool { return c == oid })
			if len(rest) == 0 {
				b.children.del(oidKey(p))
			} else {
				b.children.set(oidKey(p), rest)
			}
		}
	}
	for _, p := range after {
		had := b.c.children.get(oidKey(p))
		if at, found := slices.BinarySearch(had, oid); !found {
			b.children.set(oidKey(p), slices.Insert(slices.Clone(had), at, oid))
		}
	}
}

// HasChildren reports whether any table inherits from the relation.
func (c *Catalog) HasChildren(oid OID) bool { return len(c.children.get(oidKey(oid))) > 0 }

// Children are the tables that inherit from a relation directly, by OID.
func (c *Catalog) Children(oid OID) []*Relation {
	var out []*Relation
	for _, o := range c.children.get(oidKey(oid)) {
		if r := c.Relation(o); r != nil {
			out = append(out, r)
		}
	}
	return out
}

// Tree is the relation and all that inherit from it, each once, level by level
// (PostgreSQL's find_all_inheritors).
func (c *Catalog) Tree(rel *Relation) []*Relation {
	out := []*Relation{rel}
	if !c.HasChildren(rel.OID) {
		return out
	}
	seen := map[OID]bool{rel.OID: true}
	for i := 0; i < len(out); i++ {
		for _, ch := range c.Children(out[i].OID) {
			if !seen[ch.OID] {
				seen[ch.OID] = true
				out = append(out, ch)
			}
		}
	}
	return out
}

// TreeFor is Tree as a session sees it: without the temporary tables of others.
func (c *Catalog) TreeFor(rel *Relation, temp OID) []*Relation {
	all := c.Tree(rel)
	out := all[:1:1]
	for _, r := range all[1:] {
		if r.Persistence != 't' || r.Schema == temp {
			out = append(out, r)
		}
	}
	return out
}

// Ancestors are the relations that one inherits from, nearest first: of a
// partition its parent, the parent's parent and so on to the root.
func (c *Catalog) Ancestors(rel *Relation) []*Relation {
	var out []*Relation
	seen := map[OID]bool{rel.OID: true}
	queue := slices.Clone(rel.Parents)
	for i := 0; i < len(queue); i++ {
		p := c.Relation(queue[i])
		if p == nil || seen[p.OID] {
			continue
		}
		seen[p.OID] = true
		out = append(out, p)
		queue = append(queue, p.Parents...)
	}
	return out
}

// AttrsIn maps the attributes of a relation to those of one that inherits from it,
// by name: index attribute - 1; 0 for dropped ones.
func AttrsIn(rel, child *Relation) []int16 {
	out := make([]int16, len(rel.Columns))
	for i, c := range rel.Columns {
		if c.Dropped {
			continue
		}
		if i < len(child.Columns) && !child.Columns[i].Dropped && child.Columns[i].Name == c.Name {
			out[i] = int16(i + 1)
			continue
		}
		for _, k := range child.Columns {
			if k.Name == c.Name && !k.Dropped {
				out[i] = k.Num
				break
			}
		}
	}
	return out
}

// Live is the number of columns that were not dropped.
func (r *Relation) Live() int {
	n := 0
	for _, c := range r.Columns {
		if !c.Dropped {
			n++
		}
	}
	return n
}
