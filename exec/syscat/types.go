package syscat

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

func registerTypes(s *Set) {
	s.static("pg_catalog.pg_type", columnNames("pg_type"), typeRows)
	s.static("pg_catalog.pg_enum", []string{"oid", "enumtypid", "enumsortorder", "enumlabel"}, func(q *Query, emit Emit) error {
		for _, t := range userTypes(q.Cat) {
			for _, l := range t.Labels {
				emit(oid(l.OID), oid(t.OID), float4(float64(l.Order)), text(l.Label))
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_range", columnNames("pg_range"), func(q *Query, emit Emit) error {
		emitFixed("pg_range", emit)
		for _, t := range userTypes(q.Cat) {
			if t.Kind == 'r' {
				sub := q.Cat.Type(t.Subtype)
				class := sqltypes.OID(0)
				if c := sqltypes.DefaultOpClass(amBtree, t.Subtype); c != nil {
					class = c.OID
				}
				coll := sqltypes.OID(0)
				if sub != nil {
					coll = sub.Collation
				}
				emit(oid(t.OID), oid(t.Subtype), oid(t.Multirange), oid(coll), oid(class), oid(0), oid(0))
			}
		}
		return nil
	})
	s.static("pg_catalog.pg_aggregate", columnNames("pg_aggregate"), aggregateRows)
	s.static("pg_catalog.pg_proc", []string{"oid", "proname", "pronamespace", "proowner", "prolang", "procost", "prorows", "provariadic", "prosupport",
		"prokind", "prosecdef", "proleakproof", "proisstrict", "proretset", "provolatile", "proparallel", "pronargs", "pronargdefaults",
		"prorettype", "proargtypes", "proallargtypes", "proargmodes", "proargnames", "prosrc", "proconfig", "proacl"}, procRows)
}

// castOID makes a stable OID for the cast of a range type to its multirange type.
func castOID(rng sqltypes.OID) sqltypes.OID { return sqltypes.OID(1<<31) | rng<<7 ^ 1<<6 }

// aggregateRows are the built-in aggregates and those of users.
func aggregateRows(q *Query, emit Emit) error {
	q.system(func() { emitFixed("pg_aggregate", emit) })
	for _, f := range sorted(q.Cat.AllFunctions, func(f *catalog.Function) sqltypes.OID { return f.OID }) {
		d := f.Agg
		if d == nil {
			continue
		}
		initial, modify := sqltypes.Null, d.FinalModify
		if d.InitVal != nil {
			initial = text(*d.InitVal)
		}
		if modify == 0 {
			modify = 'r'
		}
		moving, movingModify := sqltypes.Null, d.MFinalModify
		if d.MInitVal != nil {
			moving = text(*d.MInitVal)
		}
		if movingModify == 0 {
			movingModify = 'r'
		}
		emit(oid(f.OID), char('n'), num(0), oid(d.Trans), oid(d.Final), oid(d.Combine), oid(d.Serial), oid(d.Deserial), oid(d.MTrans), oid(d.MInverse),
			oid(d.MFinal), yes(d.FinalExtra), yes(d.MFinalExtra), char(modify), char(movingModify), oid(d.SortOp), oid(d.TransType.OID),
			num(int(d.TransSpace)), oid(d.MTransType), num(int(d.MTransSpace)), initial, moving)
	}
	return nil
}

func userTypes(cat *catalog.Catalog) []*catalog.UserType {
	return sorted(cat.AllTypes, func(t *catalog.UserType) sqltypes.OID { return t.OID })
}

// typeShape is what differs between kinds of user types in pg_type: the I/O
// functions by name, size and alignment.
type typeShape struct {
	in, out, recv, send string
	length              int
	byVal               bool
	category            byte
	align, storage      byte
}

var typeShapes = map[byte]typeShape{
	'e': {"enum_in", "enum_out", "enum_recv", "enum_send", 4, true, 'E', 'i', 'p'},
	'c': {"record_in", "record_out", "record_recv", "record_send", -1, false, 'C', 'd', 'x'},
	'r': {"range_in", "range_out", "range_recv", "range_send", -1, false, 'R', 'i', 'x'},
	'm': {"multirange_in", "multirange_out", "multirange_recv", "multirange_send", -1, false, 'R', 'i', 'x'},
	'a': {"array_in", "array_out", "array_recv", "array_send", -1, false, 'A', 'i', 'x'},
}

// procNamed is the OID of the first built-in function with a name.
func procNamed(name string) sqltypes.Datum {
	if p := sqltypes.ProcsByName(name); len(p) > 0 {
		return oid(p[0].OID)
	}
	return oid(0)
}

func typeRows(q *Query, emit Emit) error {
	q.system(func() { emitFixed("pg_type", emit) })
	for _, t := range userTypes(q.Cat) {
		if t.OID < catalog.FirstUserOID {
			continue // a domain of information_schema, listed above
		}
		emitUserType(q, emit, t)
		if t.ArrayOID != 0 {
			emitArrayType(emit, t)
		}
	}
	return nil
}

func emitUserType(q *Query, emit Emit, t *catalog.UserType) {
	shape := typeShapes[t.Kind]
	in, out, recv, send := procNamed(shape.in), procNamed(shape.out), procNamed(shape.recv), procNamed(shape.send)
	base, mod, coll, def := sqltypes.OID(0), int32(-1), sqltypes.OID(0), sqltypes.Null
	bin := sqltypes.Null
	if t.Kind == 'd' {
		b := q.Cat.Type(t.Base.OID)
		if b == nil {
			return
		}
		base, mod = t.Base.OID, t.Base.TypMod
		coll = collationOf(t.Base, b)
		align, storage := physical(b)
		shape = typeShape{length: int(b.Len), byVal: b.ByVal, category: b.Category, align: align, storage: storage}
		in, recv = procNamed("domain_in"), procNamed("domain_recv")
		out, send = ioProcs(b)
		if t.HasDefault {
			def, bin = text(t.Default), nodeText('w', t.OID, t.Default)
			if ctx, err := contextOf(q.Env); err == nil {
				c := *ctx
				c.Catalog, c.SearchPath = q.Cat, []sqltypes.OID{catalog.SchemaPgCatalog}
				def = text((&lookup{&c, q.Cat}).domainDefault(t))
			}
		}
	}
	emit(oid(t.OID), text(t.Name), oid(t.Schema), oid(t.Owner), num(shape.length), yes(shape.byVal), char(t.Kind), char(shape.category),
		yes(false), yes(true), char(','), oid(t.Relation), oid(0), oid(0), oid(t.ArrayOID), in, out, recv, send, oid(0), oid(0), oid(0),
		char(shape.align), char(shape.storage), yes(t.NotNull), oid(base), sqltypes.Int(int64(mod)), num(0), oid(coll), bin, def,
		aclArray(q.Cat, t.ACL))
}

// ioProcs finds the output and send functions of a domain's base type.
func ioProcs(b *sqltypes.Type) (out, send sqltypes.Datum) {
	for _, row := range fixedRows()["pg_type"] {
		if row[0].I == int64(b.OID) {
			return row[16], row[18]
		}
	}
	shape := typeShapes[b.TypType]
	return procNamed(shape.out), procNamed(shape.send)
}

func emitArrayType(emit Emit, t *catalog.UserType) {
	shape := typeShapes['a']
	align := shape.align
	if t.Kind == 'c' {
		align = 'd'
	}
	emit(oid(t.ArrayOID), text(t.ArrayName), oid(t.Schema), oid(t.Owner), num(-1), yes(false), char('b'), char('A'),
		yes(false), yes(true), char(','), oid(0), procNamed("array_subscript_handler"), oid(t.OID), oid(0),
		procNamed(shape.in), procNamed(shape.out), procNamed(shape.recv), procNamed(shape.send), oid(0), oid(0), procNamed("array_typanalyze"),
		char(align), char(shape.storage), yes(false), oid(0), num(-1), num(0), oid(0), sqltypes.Null, sqltypes.Null, sqltypes.Null)
}

const (
	langInternal sqltypes.OID = 12
	langSQL      sqltypes.OID = 14
)

func procRows(q *Query, emit Emit) error {
	acls := map[sqltypes.OID]sqltypes.Datum{} // of those that not everybody may call
	q.emitFixedACL("pg_init_privs", "initprivs", func(row ...sqltypes.Datum) {
		if argOID(row[1]) == classProc {
			acls[argOID(row[0])] = row[4]
		}
	})
	for _, p := range sqltypes.AllProcs() {
		all, modes, names := sqltypes.Null, sqltypes.Null, sqltypes.Null
		if p.AllArgTypes != nil {
			all = oidArray(p.AllArgTypes)
		}
		if p.ArgModes != nil {
			modes = modeArray(p.ArgModes)
		}
		if p.ArgNames != nil {
			names = textArray(p.ArgNames)
		}
		acl, restricted := acls[p.OID]
		if !restricted {
			acl = sqltypes.Null
		}
		emit(oid(p.OID), text(p.Name), oid(p.Namespace), oid(catalog.BootstrapRole), oid(langOf(p)), float4(float64(p.Cost)), float4(float64(p.Rows)),
			oid(p.Variadic), oid(0), char(p.Kind), yes(false), yes(p.Leakproof), yes(p.Strict), yes(p.RetSet), char(byte(p.Volatility)), char(parallelOf(p)),
			num(len(p.ArgTypes)), num(p.NumDefaults), oid(p.RetType), sqltypes.OIDVector(p.ArgTypes), all, modes, names, text(p.Src), sqltypes.Null, acl)
	}
	for _, f := range sorted(q.Cat.AllFunctions, func(f *catalog.Function) sqltypes.OID { return f.OID }) {
		emitFunction(q, emit, f)
	}
	return nil
}

func modeArray(modes []byte) sqltypes.Datum {
	vals := make([]sqltypes.Datum, len(modes))
	for i, m := range modes {
		vals[i] = char(m)
	}
	return array(sqltypes.OIDChar, vals)
}

func emitFunction(q *Query, emit Emit, f *catalog.Function) {
	var in, all []sqltypes.OID
	plain, named := true, false
	variadic := sqltypes.OID(0)
	for i, t := range f.ArgTypes {
		all = append(all, t.OID)
		switch f.ArgModes[i] {
		case 'i', 'b':
			in = append(in, t.OID)
		case 'v':
			in = append(in, t.OID)
			if ty := q.Cat.Type(t.OID); ty != nil {
				variadic = ty.Elem
			}
		}
		plain = plain && f.ArgModes[i] == 'i'
		named = named || f.ArgNames[i] != ""
	}
	lang := langSQL
	switch {
	case f.Language == "internal" || f.Agg != nil:
		lang = langInternal
	case f.Language == "plpgsql":
		lang = sqltypes.LangPLpgSQL
	}
	allD, modes, names, config := sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Null
	if !plain {
		allD, modes = oidArray(all), modeArray(f.ArgModes)
	}
	if named {
		names = textArray(f.ArgNames)
	}
	if len(f.Config) > 0 {
		config = textArray(f.Config)
	}
	emit(oid(f.OID), text(f.Name), oid(f.Schema), oid(f.Owner), oid(lang), float4(float64(f.Cost)), float4(float64(f.Rows)), oid(variadic), oid(0),
		char(f.Kind), yes(f.SecurityDefiner), yes(f.Leakproof), yes(f.Strict), yes(f.RetSet), char(byte(f.Volatility)), char(f.Parallel),
		num(len(in)), num(len(f.ArgDefaults)), oid(f.RetType), sqltypes.OIDVector(in), allD, modes, names, text(f.Body), config, aclArray(q.Cat, f.ACL))
}

func langOf(p *sqltypes.Proc) sqltypes.OID {
	if p.Lang != 0 {
		return p.Lang
	}
	return langInternal
}

func parallelOf(p *sqltypes.Proc) byte {
	if p.Parallel != 0 {
		return p.Parallel
	}
	return 's'
}
