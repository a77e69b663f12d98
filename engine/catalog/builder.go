package catalog

// builder makes one snapshot out of another; what it does not touch is shared.
type builder struct {
	c         *Catalog
	schemas   tableEdit[*Schema]
	relations tableEdit[*Relation]
	indexes   tableEdit[indexRef]
	types     tableEdit[*UserType]
	functions cowEdit[oidKey, *Function]
	funcNames cowEdit[nameKey, []*Function]
	operators cowEdit[oidKey, *Operator]
	operNames cowEdit[nameKey, []*Operator]
	casts     cowEdit[oidKey, *Cast]
	castPairs cowEdit[pairKey, *Cast]
	roles     tableEdit[*Role]
	databases tableEdit[*Database]
	stats     cowEdit[oidKey, *TableStats]
	children  cowEdit[oidKey, []OID]

	publications  tableEdit[*Publication]
	subscriptions tableEdit[*Subscription]
}

type tableEdit[T comparable] struct {
	byOID  cowEdit[oidKey, T]
	byName cowEdit[nameKey, T]
}

func editTable[T comparable](t *table[T]) tableEdit[T] {
	return tableEdit[T]{cowEdit[oidKey, T]{m: &t.byOID}, cowEdit[nameKey, T]{m: &t.byName}}
}

// put replaces what has the OID; old is its former name.
func (e *tableEdit[T]) put(oid OID, old, name nameKey, v T) {
	e.drop(oid, old)
	e.byOID.set(oidKey(oid), v)
	e.byName.set(name, v)
}

func (e *tableEdit[T]) drop(oid OID, old nameKey) {
	var zero T
	cur := e.byOID.m.get(oidKey(oid))
	if cur == zero {
		return
	}
	e.byOID.del(oidKey(oid))
	if e.byName.m.get(old) == cur { // the name may have been given to another object already
		e.byName.del(old)
	}
}

func (c *Catalog) edit(changes []Change) *Catalog {
	n := *c
	b := &builder{c: &n}
	b.schemas = editTable(&n.schemas)
	b.relations = editTable(&n.relations)
	b.indexes = editTable(&n.indexes)
	b.types = editTable(&n.types)
	b.functions.m = &n.functions
	b.funcNames.m = &n.funcNames
	b.operators.m, b.operNames.m = &n.operators, &n.operNames
	b.casts.m, b.castPairs.m = &n.casts, &n.castPairs
	b.roles = editTable(&n.roles)
	b.databases = editTable(&n.databases)
	b.stats.m = &n.stats
	b.children.m = &n.children
	b.publications, b.subscriptions = editTable(&n.publications), editTable(&n.subscriptions)
	typesChanged, relsChanged := false, false
	for _, ch := range changes {
		if !ch.Kind.Shared() && ch.DB != c.DB {
			continue
		}
		b.apply(ch)
		typesChanged = typesChanged || ch.Kind == ObjType
		relsChanged = relsChanged || ch.Kind == ObjRelation
	}
	if typesChanged || relsChanged {
		n.built, n.parted = new(typeCache), new(partitionCache)
	}
	if typesChanged {
		b.refreshPhysical()
	}
	return &n
}

func (b *builder) apply(ch Change) {
	switch ch.Kind {
	case ObjDatabase:
		var old nameKey
		if o := b.c.Database(ch.OID); o != nil {
			old = nameKey{0, o.Name}
		}
		if d, ok := ch.Desc.(*Database); ok {
			b.databases.put(ch.OID, old, nameKey{0, d.Name}, d)
		} else {
			b.databases.drop(ch.OID, old)
		}
	case ObjRole:
		var old nameKey
		if o := b.c.Role(ch.OID); o != nil {
			old = nameKey{0, o.Name}
		}
		if d, ok := ch.Desc.(*Role); ok {
			b.roles.put(ch.OID, old, nameKey{0, d.Name}, d)
		} else {
			b.roles.drop(ch.OID, old)
		}
	case ObjSchema:
		var old nameKey
		if o := b.c.Schema(ch.OID); o != nil {
			old = nameKey{0, o.Name}
		}
		if d, ok := ch.Desc.(*Schema); ok {
			b.schemas.put(ch.OID, old, nameKey{0, d.Name}, d)
		} else {
			b.schemas.drop(ch.OID, old)
		}
	case ObjType:
		d, _ := ch.Desc.(*UserType)
		b.putType(ch.OID, d)
	case ObjRelation:
		d, _ := ch.Desc.(*Relation)
		b.putRelation(ch.OID, d)
	case ObjFunction:
		d, _ := ch.Desc.(*Function)
		b.putFunction(ch.OID, d)
	case ObjOperator:
		d, _ := ch.Desc.(*Operator)
		b.putOperator(ch.OID, d)
	case ObjCast:
		if o := b.c.Cast(ch.OID); o != nil {
			b.castPairs.del(pairKey{o.Source, o.Target})
			b.casts.del(oidKey(ch.OID))
		}
		if d, ok := ch.Desc.(*Cast); ok {
			b.casts.set(oidKey(ch.OID), d)
			b.castPairs.set(pairKey{d.Source, d.Target}, d)
		}
	case ObjPublication, ObjSubscription:
		b.applyReplication(ch)
	case ObjDefaultACL:
		acls := make([]*DefaultACL, 0, len(b.c.defaultACL)+1)
		for _, a := range b.c.defaultACL {
			if a.Role != ch.OID || a.Schema != ch.Schema || a.ObjType != ch.ObjType {
				acls = append(acls, a)
			}
		}
		if d, ok := ch.Desc.(*DefaultACL); ok {
			acls = append(acls, d)
		}
		b.c.defaultACL = acls
	case ObjStats:
		if d, ok := ch.Desc.(*TableStats); ok {
			b.stats.set(oidKey(ch.OID), d)
		} else {
			b.stats.del(oidKey(ch.OID))
		}
	case ObjShards:
		b.c.sharding.shards, _ = ch.Desc.(*Shards)
	case ObjOwned:
		b.c.sharding.owned, _ = ch.Desc.(*Owned)
	}
}

func (b *builder) putType(oid OID, d *UserType) {
	var old nameKey
	if o := b.c.UserType(oid); o != nil {
		old = nameKey{o.Schema, o.Name}
		if o.ArrayOID != 0 {
			b.types.drop(o.ArrayOID, nameKey{o.Schema, o.ArrayName})
		}
	}
	if d == nil {
		b.types.drop(oid, old)
		return
	}
	b.types.put(oid, old, nameKey{d.Schema, d.Name}, d)
	if d.ArrayOID != 0 {
		a := &UserType{OID: d.ArrayOID, Name: d.ArrayName, Schema: d.Schema, Owner: d.Owner, Kind: 'a', Subtype: d.OID}
		b.types.put(a.OID, nameKey{}, nameKey{a.Schema, a.Name}, a)
	}
}

func (b *builder) putRelation(oid OID, d *Relation) {
	var old nameKey
	b.inherit(oid, d)
	if o := b.c.Relation(oid); o != nil {
		old = nameKey{o.Schema, o.Name}
		for _, ix := range o.Indexes {
			b.indexes.drop(ix.OID, nameKey{ix.Schema, ix.Name})
		}
		if d == nil || d.RowType != o.RowType {
			if t := b.c.UserType(o.RowType); t != nil && t.Relation == oid {
				b.putType(o.RowType, nil)
			}
		}
	}
	if d == nil {
		b.relations.drop(oid, old)
		b.stats.del(oidKey(oid))
		return
	}
	r := *d
	r.phys = new(physical)
	b.relations.put(oid, old, nameKey{r.Schema, r.Name}, &r)
	for _, ix := range r.Indexes {
		b.indexes.put(ix.OID, nameKey{}, nameKey{ix.Schema, ix.Name}, indexRef{&r, ix})
	}
	if r.RowType != 0 {
		b.rowType(&r)
	}
}

// rowType keeps the row type of a relation in step with it; it is made here when
// nobody has put one (without an array type then).
func (b *builder) rowType(r *Relation) {
	t := b.c.UserType(r.RowType)
	if t != nil && t.Name == r.Name && t.Schema == r.Schema && t.Owner == r.Owner {
		return
	}
	n := UserType{OID: r.RowType, Kind: 'c', Relation: r.OID}
	if t != nil {
		n = *t
		if n.ArrayName == "_"+t.Name {
			n.ArrayName = "_" + r.Name
		}
	}
	n.Name, n.Schema, n.Owner = r.Name, r.Schema, r.Owner
	b.putType(n.OID, &n)
}

func (b *builder) putFunction(oid OID, d *Function) {
	if o := b.c.Function(oid); o != nil {
		unlist(&b.funcNames, nameKey{o.Schema, o.Name}, o)
		b.functions.del(oidKey(oid))
	}
	if d == nil {
		return
	}
	list(&b.funcNames, nameKey{d.Schema, d.Name}, d)
	b.functions.set(oidKey(oid), d)
}

func (b *builder) putOperator(oid OID, d *Operator) {
	if o := b.c.Operator(oid); o != nil {
		unlist(&b.operNames, nameKey{0, o.Name}, o)
		b.operators.del(oidKey(oid))
	}
	if d == nil {
		return
	}
	list(&b.operNames, nameKey{0, d.Name}, d)
	b.operators.set(oidKey(oid), d)
}

// list and unlist keep the overloads of a name.
func list[T any](names *cowEdit[nameKey, []T], k nameKey, v T) {
	had := names.m.get(k)
	names.set(k, append(had[:len(had):len(had)], v))
}

func unlist[T comparable](names *cowEdit[nameKey, []T], k nameKey, v T) {
	var rest []T
	for _, o := range names.m.get(k) {
		if o != v {
			rest = append(rest, o)
		}
	}
	if len(rest) == 0 {
		names.del(k)
	} else {
		names.set(k, rest)
	}
}

// refreshPhysical gives relations with columns of user types a fresh physical
// form: an enum's order, say, may have changed.
func (b *builder) refreshPhysical() {
	var stale []*Relation
	b.c.AllRelations(func(r *Relation) bool {
		for _, c := range r.Columns {
			if c.Type.OID >= FirstUserOID {
				stale = append(stale, r)
				break
			}
		}
		return true
	})
	for _, r := range stale {
		c := *r
		b.putRelation(r.OID, &c)
	}
}
