package syscat

import (
	"math"
	"slices"
	"strconv"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Access methods (pg_am).
const (
	amHeap  sqltypes.OID = 2
	amBtree sqltypes.OID = 403
	amHash  sqltypes.OID = 405
)

func registerObjects(s *Set) {
	s.static("pg_catalog.pg_namespace", []string{"oid", "nspname", "nspowner", "nspacl"}, func(q *Query, emit Emit) error {
		for _, n := range sorted(q.Cat.AllSchemas, func(n *catalog.Schema) sqltypes.OID { return n.OID }) {
			emit(oid(n.OID), text(n.Name), oid(n.Owner), aclArray(q.Cat, n.ACL))
		}
		// The schemas of Ostraka's own functions have no descriptor.
		for _, n := range []catalog.Schema{{OID: sqltypes.NamespaceDoc, Name: "doc"}, {OID: sqltypes.NamespaceTS, Name: "ts"}} {
			if q.Cat.SchemaByName(n.Name) == nil {
				acl := []catalog.ACLItem{{Grantee: 0, Grantor: catalog.BootstrapRole, Privs: "U"}}
				emit(oid(n.OID), text(n.Name), oid(catalog.BootstrapRole), aclArray(q.Cat, acl))
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_class", columnNames("pg_class"), classRows)
	s.static("pg_catalog.pg_attribute", []string{"attrelid", "attname", "atttypid", "attstattarget", "attlen", "attnum", "attndims", "attcacheoff",
		"atttypmod", "attbyval", "attalign", "attstorage", "attcompression", "attnotnull", "atthasdef", "atthasmissing", "attidentity", "attgenerated",
		"attisdropped", "attislocal", "attinhcount", "attcollation", "attacl", "attoptions"}, attributeRows)
	s.static("pg_catalog.pg_attrdef", []string{"oid", "adrelid", "adnum", "adbin"}, func(q *Query, emit Emit) error {
		for _, r := range relations(q.Cat) {
			for _, c := range r.Columns {
				if c.HasDefault && !c.Dropped {
					emit(oid(attrdefOID(r, c)), oid(r.OID), num(int(c.Num)), nodeText('d', sqltypes.OID(c.Num), c.Default))
				}
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_index", []string{"indexrelid", "indrelid", "indnatts", "indnkeyatts", "indisunique", "indnullsnotdistinct", "indisprimary",
		"indisexclusion", "indimmediate", "indisclustered", "indisvalid", "indcheckxmin", "indisready", "indislive", "indisreplident", "indkey",
		"indcollation", "indclass", "indoption", "indexprs", "indpred"}, indexRows)
	s.static("pg_catalog.pg_sequence", []string{"seqrelid", "seqtypid", "seqstart", "seqincrement", "seqmax", "seqmin", "seqcache", "seqcycle"},
		func(q *Query, emit Emit) error {
			for _, r := range relations(q.Cat) {
				if d := r.Sequence; d != nil {
					emit(oid(r.OID), oid(d.Type), sqltypes.Int(d.Start), sqltypes.Int(d.Increment), sqltypes.Int(d.Max), sqltypes.Int(d.Min),
						sqltypes.Int(d.Cache), yes(d.Cycle))
				}
			}
			return nil
		})
	s.static("pg_catalog.pg_rewrite", columnNames("pg_rewrite"),
		func(q *Query, emit Emit) error {
			emitFixed("pg_rewrite", emit)
			for _, r := range relations(q.Cat) {
				if r.Kind == catalog.KindView || r.Kind == catalog.KindMatView {
					emit(oid(r.OID), text("_RETURN"), oid(r.OID), char('1'), char('O'), yes(true), text("<>"), text(r.ViewDef))
				}
			}
			return nil
		})
	s.static("pg_catalog.pg_description", []string{"objoid", "classoid", "objsubid", "description"}, descriptionRows)
	s.static("pg_catalog.pg_shdescription", []string{"objoid", "classoid", "description"}, func(q *Query, emit Emit) error {
		q.Cat.AllDatabases(func(d *catalog.Database) bool {
			if d.Comment != "" {
				emit(oid(d.OID), oid(classDatabase), text(d.Comment))
			}
			return true
		})
		q.Cat.AllRoles(func(r *catalog.Role) bool {
			if r.Comment != "" {
				emit(oid(r.OID), oid(classAuthid), text(r.Comment))
			}
			return true
		})
		return nil
	})
	s.static("pg_catalog.pg_depend", []string{"classid", "objid", "objsubid", "refclassid", "refobjid", "refobjsubid", "deptype"}, dependRows)
}

// attrdefOID makes a stable OID for a column default, which has no descriptor of its own.
func attrdefOID(r *catalog.Relation, c *catalog.Column) sqltypes.OID {
	return sqltypes.OID(1<<31) | r.OID<<7 ^ sqltypes.OID(c.Num)
}

func classRows(q *Query, emit Emit) error {
	q.system(func() {
		q.emitFixedACL("pg_class", "relacl", emit)
		for _, t := range q.set.order {
			if t.own {
				emitClass(q, emit, t.virtual.Rel, t.kind, false, false)
			}
		}
	})
	triggers := tablesWithTriggers(q.Cat)
	flag := func(r *catalog.Relation) int {
		n := 0
		if triggers[r.OID] {
			n = 1
		}
		if q.Cat.HasChildren(r.OID) {
			n |= 2
		}
		for _, ix := range r.Indexes {
			if hasParts(q.Cat, r, ix) {
				n += 4
			}
		}
		return n
	}
	q.each(flag, func(r *catalog.Relation) {
		emitClass(q, emit, r, byte(r.Kind), len(r.Indexes) > 0, triggers[r.OID])
		for _, ix := range r.Indexes {
			emitIndexClass(q, emit, r, ix)
		}
	})
	return nil
}

const pageSize = 8192 // relpages counts in PostgreSQL's pages

func emitClass(q *Query, emit Emit, r *catalog.Relation, kind byte, hasIndex, triggers bool) {
	tuples, pages := -1.0, 0
	if st := q.Cat.Stats(r.OID); st != nil {
		tuples, pages = st.Rows, int(math.Ceil(float64(st.Bytes)/pageSize))
	}
	am, replica := amHeap, byte('d')
	if kind != 'r' && kind != 'm' {
		am, replica = 0, 'n'
		if kind == 'p' {
			replica = 'd'
		}
	}
	if r.Kind == catalog.KindVirtual {
		replica = 'n'
	} else if r.ReplicaIdentity != 0 {
		replica = r.ReplicaIdentity
	}
	if kind == 'v' || kind == 'c' {
		tuples = 0
	}
	if kind == 'S' {
		tuples, pages = 1, 1
	}
	opts := sqltypes.Null
	if o := relationOptions(r); len(o) > 0 {
		opts = textArray(o)
	}
	file, frozen, minMulti := sqltypes.OID(0), 0, 0
	if kind == 'r' || kind == 'm' || kind == 'S' {
		file = r.OID
	}
	if kind == 'r' || kind == 'm' {
		frozen, minMulti = frozenXid, 1
	}
	bound := sqltypes.Null
	if b := q.Cat.BoundText(r); b != "" {
		bound = nodeText('b', r.OID, b)
	}
	emit(oid(r.OID), text(r.Name), oid(r.Schema), oid(r.RowType), oid(r.OfType), oid(r.Owner), oid(am), oid(file),
		oid(0), num(pages), float4(tuples), num(0), oid(0), yes(hasIndex), yes(sharedRelation(r.OID)), char(r.Persistence), char(kind),
		num(len(r.Columns)), num(len(r.Checks)), yes(kind == 'v' || kind == 'm'), yes(triggers), yes(r.Kind != catalog.KindVirtual && q.Cat.HasChildren(r.OID)),
		yes(r.RowSecurity), yes(r.ForceRowSecurity),
		yes(r.Kind != catalog.KindMatView || r.Populated),
		char(replica), yes(r.Bound != nil), oid(0), num(frozen), num(minMulti), aclArray(q.Cat, r.ACL), opts, bound)
}

// relationOptions are reloptions; a view's check option is one.
func relationOptions(r *catalog.Relation) []string {
	check := map[byte]string{'l': "check_option=local", 'c': "check_option=cascaded"}[r.ViewOptions.CheckOption]
	if check == "" || slices.Contains(r.Options, check) {
		return r.Options
	}
	return append(slices.Clone(r.Options), check)
}

// tablesWithTriggers: foreign keys are triggers in PostgreSQL's eyes, on both tables.
func tablesWithTriggers(cat *catalog.Catalog) map[sqltypes.OID]bool {
	out := map[sqltypes.OID]bool{}
	cat.AllRelations(func(r *catalog.Relation) bool {
		for _, fk := range r.ForeignKeys {
			out[r.OID], out[fk.RefTable] = true, true
		}
		if len(r.Triggers) > 0 {
			out[r.OID] = true
		}
		return true
	})
	return out
}

func sharedRelation(o sqltypes.OID) bool {
	switch o {
	case 1213, 1260, 1261, 1262, 1214, 2396, 2964, 3592, 6000, 6100, 6243:
		return true
	}
	return false
}

// methodOID is the access method of an index in pg_am.
func methodOID(ix *catalog.Index) sqltypes.OID {
	switch ix.Method {
	case "hash":
		return amHash
	case "gin":
		return sqltypes.AMGin
	case "gist":
		return sqltypes.AMGist
	case "spgist":
		return sqltypes.AMSpgist
	case "brin":
		return sqltypes.AMBrin
	}
	return amBtree
}

func emitIndexClass(q *Query, emit Emit, r *catalog.Relation, ix *catalog.Index) {
	am := methodOID(ix)
	opts := sqltypes.Null
	if len(ix.Options) > 0 {
		opts = textArray(ix.Options)
	}
	tuples, pages := 0.0, 1
	if st := q.Cat.Stats(r.OID); st != nil {
		tuples = st.Rows
		pages = int(math.Ceil(st.Rows*32/pageSize)) + 1
	}
	kind, file := byte('i'), ix.OID
	if r.Partitioning != nil {
		kind, file, pages = 'I', 0, 0
	}
	emit(oid(ix.OID), text(ix.Name), oid(ix.Schema), oid(0), oid(0), oid(r.Owner), oid(am), oid(file),
		oid(0), num(pages), float4(tuples), num(0), oid(0), yes(false), yes(sharedRelation(r.OID)), char(r.Persistence), char(kind),
		num(len(ix.Keys)+len(ix.Include)), num(0), yes(false), yes(false), yes(hasParts(q.Cat, r, ix)), yes(false), yes(false), yes(true),
		char('n'), yes(ix.Parent != 0), oid(0), sqltypes.Int(0), sqltypes.Int(0), sqltypes.Null, opts)
}

// hasParts reports whether any partition has a part of an index.
func hasParts(cat *catalog.Catalog, r *catalog.Relation, ix *catalog.Index) bool {
	if r.Partitioning == nil {
		return false
	}
	for _, part := range cat.Children(r.OID) {
		for _, k := range part.Indexes {
			if k.Parent == ix.OID {
				return true
			}
		}
	}
	return false
}

func attributeRows(q *Query, emit Emit) error {
	q.system(func() {
		for _, t := range q.set.order {
			emitAttributes(q, emit, t.virtual.Rel, t.kind)
			emitIndexAttributes(q, emit, t.virtual.Rel, t.indexes)
		}
	})
	q.each(nil, func(r *catalog.Relation) {
		emitAttributes(q, emit, r, byte(r.Kind))
		emitIndexAttributes(q, emit, r, r.Indexes)
	})
	return nil
}

func emitIndexAttributes(q *Query, emit Emit, r *catalog.Relation, indexes []*catalog.Index) {
	for _, ix := range indexes {
		for i, c := range indexColumns(r, ix) {
			c.Num = int16(i + 1)
			emitAttribute(q, emit, ix.OID, c, 'i')
		}
	}
}

// indexColumns are an index's attributes as columns.
func indexColumns(r *catalog.Relation, ix *catalog.Index) []*catalog.Column {
	var out []*catalog.Column
	names := catalog.IndexColumnNames(r, ix)
	for i, k := range ix.Keys {
		c := &catalog.Column{Name: names[i], Type: k.Type, StatTarget: k.StatTarget - 1}
		if k.Attr > 0 {
			c.Type = r.Columns[k.Attr-1].Type
		}
		switch { // what the access method keeps
		case ix.Method == "hash":
			c.Type = sqltypes.ColumnType{OID: sqltypes.OIDInt4, TypMod: -1}
		case c.Type.OID == sqltypes.OIDName:
			c.Type.OID = sqltypes.OIDCstring
		}
		out = append(out, c)
	}
	for i, a := range ix.Include {
		out = append(out, &catalog.Column{Name: names[len(ix.Keys)+i], Type: r.Columns[a-1].Type, StatTarget: -1})
	}
	return out
}

// systemColumns are what every table has besides its own.
var systemColumns = []*catalog.Column{
	{Num: -6, Name: "tableoid", Type: sqltypes.ColumnType{OID: sqltypes.OIDOid, TypMod: -1}, NotNull: true},
	{Num: -5, Name: "cmax", Type: sqltypes.ColumnType{OID: sqltypes.OIDCid, TypMod: -1}, NotNull: true},
	{Num: -4, Name: "xmax", Type: sqltypes.ColumnType{OID: sqltypes.OIDXid, TypMod: -1}, NotNull: true},
	{Num: -3, Name: "cmin", Type: sqltypes.ColumnType{OID: sqltypes.OIDCid, TypMod: -1}, NotNull: true},
	{Num: -2, Name: "xmin", Type: sqltypes.ColumnType{OID: sqltypes.OIDXid, TypMod: -1}, NotNull: true},
	{Num: -1, Name: "ctid", Type: sqltypes.ColumnType{OID: sqltypes.OIDTid, TypMod: -1}, NotNull: true},
}

func emitAttributes(q *Query, emit Emit, r *catalog.Relation, kind byte) {
	if kind == 'r' || kind == 'p' || kind == 'm' || kind == 'S' || kind == 't' {
		for _, c := range systemColumns {
			emitAttribute(q, emit, r.OID, c, kind)
		}
	}
	for _, c := range r.Columns {
		emitAttribute(q, emit, r.OID, c, kind)
	}
}

func emitAttribute(q *Query, emit Emit, rel sqltypes.OID, c *catalog.Column, kind byte) {
	t := q.Cat.Type(c.Type.OID)
	if t == nil {
		t = systemRowTypes()[c.Type.OID]
	}
	if t == nil {
		t = &sqltypes.Type{Len: -1}
	}
	typ := c.Type.OID
	if c.Dropped {
		typ = 0
	}
	dims := 0
	if t.IsArray && kind != 'v' && kind != 'm' { // what a query gives has no declared dimensions
		dims = 1
	}
	align, storage := physical(t)
	if kind == 't' {
		storage = 'p' // what is out of line already
	}
	if c.Storage != 0 {
		storage = c.Storage
	}
	options := sqltypes.Null
	if len(c.Options) > 0 {
		options = textArray(c.Options)
	}
	target := c.StatTarget
	if c.Num < 0 {
		target = 0
	}
	emit(oid(rel), text(c.Name), oid(typ), num(target), num(int(t.Len)), num(int(c.Num)), num(dims), num(-1),
		sqltypes.Int(int64(c.Type.TypMod)), yes(t.ByVal), char(align), char(storage), char(c.Compression), yes(c.NotNull && !c.Dropped), yes(c.HasDefault),
		yes(c.HasMissing), char(c.Identity), char(c.Generated), yes(c.Dropped), yes(!c.NotLocal), num(c.Inherited), oid(collationOf(c.Type, t)), aclArray(q.Cat, c.ACL), options)
}

// collationOf shows the default collation for collatable types.
func collationOf(c sqltypes.ColumnType, t *sqltypes.Type) sqltypes.OID {
	if c.Collation != 0 {
		return c.Collation
	}
	return t.Collation
}

// physical derives typalign and typstorage, which mean nothing to the storage here.
func physical(t *sqltypes.Type) (align, storage byte) {
	if t.OID < catalog.FirstUserOID && t.Align != 0 && t.Storage != 0 {
		return t.Align, t.Storage
	}
	switch {
	case t.Len == 1:
		return 'c', 'p'
	case t.Len == 2:
		return 's', 'p'
	case t.Len == 4:
		return 'i', 'p'
	case t.Len == 8:
		return 'd', 'p'
	case t.Len > 0 && (t.OID == sqltypes.OIDName || t.OID == sqltypes.OIDUuid):
		return 'c', 'p'
	case t.Len > 0:
		return 'd', 'p'
	case t.Len == -2:
		return 'c', 'p'
	case t.OID == sqltypes.OIDNumeric || t.OID == sqltypes.OIDInet || t.OID == sqltypes.OIDCidr:
		return 'i', 'm'
	case t.IsArray || t.TypType == 'c' || t.TypType == 'r':
		return 'd', 'x'
	}
	return 'i', 'x'
}

func indexRows(q *Query, emit Emit) error {
	q.system(func() {
		for _, t := range q.set.order {
			for _, ix := range t.indexes {
				emitIndex(q, emit, t.virtual.Rel, ix)
			}
		}
	})
	q.each(nil, func(r *catalog.Relation) {
		for _, ix := range r.Indexes {
			emitIndex(q, emit, r, ix)
		}
	})
	return nil
}

func emitIndex(q *Query, emit Emit, r *catalog.Relation, ix *catalog.Index) {
	n := len(ix.Keys) + len(ix.Include)
	keys := make([]int16, 0, n)
	var colls, classes []sqltypes.OID
	var opts []int16
	exprs := sqltypes.Null
	am := methodOID(ix)
	for _, k := range ix.Keys {
		keys = append(keys, k.Attr)
		t := q.Cat.Type(k.Type.OID)
		coll := k.Type.Collation
		if t != nil && coll == 0 {
			coll = t.Collation
		}
		colls = append(colls, coll)
		class := k.OpClass
		if class == 0 {
			if c := sqltypes.DefaultOpClass(am, k.Type.OID); c != nil {
				class = c.OID
			}
		}
		classes = append(classes, class)
		var o int16
		if k.Desc {
			o |= 1
		}
		if k.NullsFirst {
			o |= 2
		}
		opts = append(opts, o)
		if k.Attr == 0 {
			exprs = nodeText('i', ix.OID, k.Expr)
		}
	}
	keys = append(keys, ix.Include...)
	emit(oid(ix.OID), oid(r.OID), num(n), num(len(ix.Keys)), yes(ix.Unique), yes(ix.NullsNotDistinct), yes(ix.Primary),
		yes(false), yes(!ix.Deferrable), yes(ix.ClusterOn), yes((ix.Ready || r.TimeSeries) && !ix.Invalid), yes(false), yes(true), yes(true), yes(ix.ReplicaIdentity), sqltypes.Int2Vector(keys),
		sqltypes.OIDVector(colls), sqltypes.OIDVector(classes), sqltypes.Int2Vector(opts), exprs, nodeText('p', ix.OID, ix.Predicate))
}

func descriptionRows(q *Query, emit Emit) error {
	q.system(func() { emitFixed("pg_description", emit) })
	put := func(o, class sqltypes.OID, sub int, comment string) {
		if comment != "" {
			emit(oid(o), oid(class), num(sub), text(comment))
		}
	}
	q.each(nil, func(r *catalog.Relation) {
		put(r.OID, classClass, 0, r.Comment)
		for _, c := range r.Columns {
			put(r.OID, classClass, int(c.Num), c.Comment)
		}
		for _, ix := range r.Indexes {
			put(ix.OID, classClass, 0, ix.Comment)
			put(ix.ConstraintOID, classConstraint, 0, ix.ConstraintComment)
		}
		for _, c := range r.Checks {
			put(c.OID, classConstraint, 0, c.Comment)
		}
		for _, f := range r.ForeignKeys {
			put(f.OID, classConstraint, 0, f.Comment)
		}
		for _, s := range r.Statistics {
			put(s.OID, classStatisticExt, 0, s.Comment)
		}
		for _, p := range r.Policies {
			put(p.OID, classPolicy, 0, p.Comment)
		}
	})
	q.Cat.AllSchemas(func(s *catalog.Schema) bool {
		if builtin := s.OID == catalog.SchemaPgCatalog || s.OID == catalog.SchemaPgToast || s.OID == catalog.SchemaPublic; !builtin {
			put(s.OID, classNamespace, 0, s.Comment)
		} else if s.OID == catalog.SchemaPublic && s.Comment != "standard public schema" {
			put(s.OID, classNamespace, 0, s.Comment)
		}
		return true
	})
	q.Cat.AllTypes(func(t *catalog.UserType) bool {
		put(t.OID, classType, 0, t.Comment)
		for _, c := range t.Checks {
			put(c.OID, classConstraint, 0, c.Comment)
		}
		return true
	})
	q.Cat.AllPublications(func(p *catalog.Publication) bool { put(p.OID, classPublication, 0, p.Comment); return true })
	q.Cat.AllSubscriptions(func(u *catalog.Subscription) bool {
		if u.DB == q.Cat.DB {
			put(u.OID, classSubscription, 0, u.Comment)
		}
		return true
	})
	q.Cat.AllFunctions(func(f *catalog.Function) bool { put(f.OID, classProc, 0, f.Comment); return true })
	q.Cat.AllOperators(func(o *catalog.Operator) bool { put(o.OID, classOperator, 0, o.Comment); return true })
	q.Cat.AllCasts(func(c *catalog.Cast) bool { put(c.OID, classCast, 0, c.Comment); return true })
	return nil
}
