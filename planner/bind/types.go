package bind

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

const (
	oidUnknown = sqltypes.OIDUnknown
	noTypMod   = int32(-1)
)

// typ returns a type by OID; nil only for an OID that nothing defines.
func (b *binder) typ(oid sqltypes.OID) *sqltypes.Type {
	if t := sqltypes.TypeByOID(oid); t != nil {
		return t
	}
	if b.cat != nil {
		return b.cat.Type(oid)
	}
	return nil
}

func typeOf(e expr.Expr) sqltypes.OID { return e.Type().OID }
func typmodOf(e expr.Expr) int32      { return e.Type().TypMod }
func collOf(e expr.Expr) sqltypes.OID { return e.Type().Collation }
func isUnknown(oid sqltypes.OID) bool { return oid == oidUnknown || oid == 0 }
func isUnknownExpr(e expr.Expr) bool  { return isUnknown(typeOf(e)) }
func isConst(e expr.Expr) bool        { _, ok := e.(*expr.Const); return ok }
func isPoly(oid sqltypes.OID) bool    { return isPoly1(oid) || isPoly2(oid) }

func isPoly1(oid sqltypes.OID) bool {
	switch oid {
	case sqltypes.OIDAnyelement, sqltypes.OIDAnyarray, sqltypes.OIDAnynonarray, sqltypes.OIDAnyenum, sqltypes.OIDAnyrange, sqltypes.OIDAnymultirange:
		return true
	}
	return false
}

func isPoly2(oid sqltypes.OID) bool {
	switch oid {
	case sqltypes.OIDAnycompatible, sqltypes.OIDAnycompatiblearray, sqltypes.OIDAnycompatiblenonarray, sqltypes.OIDAnycompatiblerange, sqltypes.OIDAnycompatiblemultirange:
		return true
	}
	return false
}

// columnType is a type without modifier, with its default collation.
func (b *binder) columnType(oid sqltypes.OID) sqltypes.ColumnType {
	return b.columnTypeMod(oid, noTypMod)
}

func (b *binder) columnTypeMod(oid sqltypes.OID, typmod int32) sqltypes.ColumnType {
	ct := sqltypes.ColumnType{OID: oid, TypMod: typmod}
	if t := b.typ(oid); t != nil {
		ct.Collation = t.Collation
	}
	return ct
}

func tt(ct sqltypes.ColumnType) expr.T { return expr.T{Typ: ct} }

var boolT = expr.T{Typ: sqltypes.ColumnType{OID: sqltypes.OIDBool, TypMod: -1}}

// typeName is format_type_be: the SQL spelling that errors use.
func (b *binder) typeName(oid sqltypes.OID) string { return sqltypes.TypeSQLName(oid, b.namer) }

func (b *binder) typeNameMod(ct sqltypes.ColumnType) string {
	return sqltypes.FormatTypeWith(ct.OID, ct.TypMod, b.namer)
}

// namer finds user types for FormatTypeWith: qualified unless visible.
func (b *binder) namer(oid sqltypes.OID) (*sqltypes.Type, string) {
	if b.cat == nil {
		return nil, ""
	}
	t := b.cat.Type(oid)
	if t == nil {
		return nil, ""
	}
	name := sqltypes.QuoteIdent(t.Name)
	for _, s := range b.ctx.SearchPath {
		if s == t.Namespace {
			return t, name
		}
		if b.typeInSchema(s, t.Name) != nil {
			break
		}
	}
	if sc := b.cat.Schema(t.Namespace); sc != nil {
		return t, sqltypes.QuoteIdent(sc.Name) + "." + name
	}
	return t, name
}

// baseType strips domains; typmod becomes the innermost domain's.
func (b *binder) baseType(oid sqltypes.OID) sqltypes.OID {
	o, _ := b.baseTypeMod(oid, noTypMod)
	return o
}

func (b *binder) baseTypeMod(oid sqltypes.OID, typmod int32) (sqltypes.OID, int32) {
	for {
		t := b.typ(oid)
		if t == nil || t.TypType != 'd' {
			return oid, typmod
		}
		oid, typmod = t.BaseType, t.TypMod
	}
}

// elemType is get_element_type: the element of a true array, else 0.
func (b *binder) elemType(oid sqltypes.OID) sqltypes.OID {
	if t := b.typ(oid); t != nil && t.IsArray {
		return t.Elem
	}
	return 0
}

func (b *binder) baseElemType(oid sqltypes.OID) sqltypes.OID { return b.elemType(b.baseType(oid)) }

func (b *binder) arrayType(oid sqltypes.OID) sqltypes.OID {
	if t := b.typ(oid); t != nil {
		return t.Array
	}
	return 0
}

func (b *binder) category(oid sqltypes.OID) (cat byte, preferred bool) {
	t := b.typ(oid)
	if t == nil {
		return 'X', false
	}
	return t.Category, t.Preferred
}

// composite returns the composite type behind oid (through domains), or nil.
func (b *binder) composite(oid sqltypes.OID) *sqltypes.Type {
	if t := b.typ(b.baseType(oid)); t != nil && t.TypType == 'c' {
		return t
	}
	return nil
}

func (b *binder) isComplex(oid sqltypes.OID) bool {
	return oid == sqltypes.OIDRecord || b.composite(oid) != nil
}

// BindTypeName resolves a type name with its modifiers and array bounds.
func BindTypeName(ctx *planner.Context, tn *pg.TypeName) (ct sqltypes.ColumnType, err error) {
	defer catch(&err)
	return newBinder(ctx).typeNameRef(tn), nil
}

// TypeName is a type's name as messages give it.
func TypeName(ctx *planner.Context, oid sqltypes.OID) string { return newBinder(ctx).typeName(oid) }

// typeNameRef is typenameTypeIdAndMod.
func (b *binder) typeNameRef(tn *pg.TypeName) sqltypes.ColumnType {
	t := b.lookupTypeName(tn)
	if t == nil {
		b.fail(tn.Location, pgerror.UndefinedObject, `type "%s" does not exist`, typeNameString(tn))
	}
	if t.TypType == 'p' && t.Name == "" {
		b.fail(tn.Location, pgerror.UndefinedObject, `type "%s" is only a shell`, typeNameString(tn))
	}
	return sqltypes.ColumnType{OID: t.OID, TypMod: b.typeMod(t, tn), Collation: t.Collation}
}

func (b *binder) typeMod(t *sqltypes.Type, tn *pg.TypeName) int32 {
	if len(tn.Typmods) == 0 {
		return noTypMod
	}
	mods := make([]int32, 0, 2)
	for _, m := range tn.Typmods {
		switch x := m.Node.(type) {
		case *pg.Node_AConst:
			if iv, ok := x.AConst.Val.(*pg.A_Const_Ival); ok {
				mods = append(mods, iv.Ival.GetIval())
				continue
			}
			if _, ok := x.AConst.Val.(*pg.A_Const_Ival); !ok && x.AConst.Val == nil {
				mods = append(mods, 0)
				continue
			}
			text := x.AConst.GetFval().GetFval()
			if text == "" {
				text = x.AConst.GetSval().GetSval()
			}
			d, err := sqltypes.TypeByOID(sqltypes.OIDInt4).In(b.env, text, noTypMod)
			b.check(err, tn.Location)
			mods = append(mods, int32(d.I))
		case *pg.Node_ColumnRef:
			b.fail(tn.Location, pgerror.InvalidTextRepresentation, `invalid input syntax for type %s: "%s"`, "integer", fieldsString(x.ColumnRef.Fields))
		default:
			b.fail(tn.Location, pgerror.SyntaxError, "type modifiers must be simple constants or identifiers")
		}
	}
	tm, note, err := sqltypes.EncodeTypMod(t, mods)
	if err != nil {
		if pgerror.Is(err, pgerror.SyntaxError) {
			b.fail(tn.Location, pgerror.SyntaxError, `type modifier is not allowed for type "%s"`, typeNameString(tn))
		}
		b.check(err, tn.Location)
	}
	if note != "" && b.env.Session != nil {
		b.env.Session.Notice("WARNING", "22023", note)
	}
	return tm
}

// lookupTypeName finds a type; nil when there is none.
func (b *binder) lookupTypeName(tn *pg.TypeName) *sqltypes.Type {
	if len(tn.Names) == 0 {
		return b.typ(sqltypes.OID(tn.TypeOid))
	}
	if tn.PctType {
		return b.columnTypeOf(tn)
	}
	var t *sqltypes.Type
	name := strOf(tn.Names[len(tn.Names)-1])
	switch len(tn.Names) {
	case 1:
		t = b.typeByName(name)
	case 2, 3:
		if len(tn.Names) == 3 {
			b.checkCatalogName(strOf(tn.Names[0]), fieldsString(tn.Names), tn.Location)
		}
		schema := strOf(tn.Names[len(tn.Names)-2])
		ns := b.schemaOID(schema)
		if ns == 0 {
			b.fail(tn.Location, pgerror.InvalidSchemaName, `schema "%s" does not exist`, schema)
		}
		t = b.typeInSchema(ns, name)
	default:
		b.fail(tn.Location, pgerror.SyntaxError, "improper qualified name (too many dotted names): %s", fieldsString(tn.Names))
	}
	if t != nil && len(tn.ArrayBounds) > 0 {
		if t.IsArray {
			return t
		}
		return b.typ(t.Array)
	}
	return t
}

// columnTypeOf is name.column%TYPE.
func (b *binder) columnTypeOf(tn *pg.TypeName) *sqltypes.Type {
	n := len(tn.Names)
	if n < 2 {
		b.fail(tn.Location, pgerror.SyntaxError, "improper %%TYPE reference (too few dotted names): %s", fieldsString(tn.Names))
	}
	rv := &pg.RangeVar{Relname: strOf(tn.Names[n-2]), Location: tn.Location}
	if n > 2 {
		rv.Schemaname = strOf(tn.Names[n-3])
	}
	rel, vr := b.findRelation(rv)
	if vr != nil {
		rel = vr.Rel
	}
	if rel == nil {
		b.relationMissing(rv)
	}
	for _, c := range rel.Columns {
		if !c.Dropped && c.Name == strOf(tn.Names[n-1]) {
			return b.typ(c.Type.OID)
		}
	}
	b.fail(tn.Location, pgerror.UndefinedColumn, `column "%s" of relation "%s" does not exist`, strOf(tn.Names[n-1]), rel.Name)
	return nil
}

// typeByName looks an unqualified type name up along the search path.
func (b *binder) typeByName(name string) *sqltypes.Type {
	for _, s := range b.ctx.SearchPath {
		if t := b.typeInSchema(s, name); t != nil {
			return t
		}
	}
	// pg_catalog is searched even when a caller's path leaves it out.
	return b.typeInSchema(sqltypes.NamespaceCatalog, name)
}

func (b *binder) typeInSchema(schema sqltypes.OID, name string) *sqltypes.Type {
	if schema == sqltypes.NamespaceCatalog {
		if t := sqltypes.TypeByName(name); t != nil {
			return t
		}
	}
	if b.cat == nil {
		return nil
	}
	if u := b.cat.TypeByName(schema, name); u != nil {
		return b.cat.Type(u.OID)
	}
	if len(name) > 1 && name[0] == '_' {
		if u := b.cat.TypeByName(schema, name[1:]); u != nil && u.ArrayOID != 0 {
			return b.cat.Type(u.ArrayOID)
		}
	}
	if r := b.cat.RelationByName(schema, name); r != nil && r.RowType != 0 {
		return b.cat.Type(r.RowType)
	}
	return nil
}

// schemaOID finds a schema by name; 0 when there is none.
func (b *binder) schemaOID(name string) sqltypes.OID {
	switch name {
	case "pg_catalog":
		return sqltypes.NamespaceCatalog
	case "information_schema":
		return sqltypes.NamespaceInformationSchema
	case "pg_temp":
		return b.ctx.TempSchema
	}
	if b.cat != nil {
		if s := b.cat.SchemaByName(name); s != nil {
			return s.OID
		}
	}
	switch name {
	case "ostraka":
		return sqltypes.NamespaceOstraka
	case "doc":
		return sqltypes.NamespaceDoc
	case "ts":
		return sqltypes.NamespaceTS
	}
	return 0
}

func (b *binder) schemaName(oid sqltypes.OID) string {
	switch oid {
	case sqltypes.NamespaceCatalog:
		return "pg_catalog"
	case sqltypes.NamespaceInformationSchema:
		return "information_schema"
	}
	if b.cat != nil {
		if s := b.cat.Schema(oid); s != nil {
			return s.Name
		}
	}
	return ""
}

// checkCatalogName refuses a database part that is not the current database.
func (b *binder) checkCatalogName(db, whole string, loc int32) {
	if b.cat != nil {
		if d := b.cat.Database(b.cat.DB); d == nil || d.Name == db {
			return
		}
	}
	b.fail(loc, pgerror.FeatureNotSupported, "cross-database references are not implemented: %s", whole)
}

func strOf(n *pg.Node) string { return n.GetString_().GetSval() }

// fieldsString joins name parts with dots (NameListToString).
func fieldsString(fields []*pg.Node) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		if f.GetAStar() != nil {
			parts[i] = "*"
			continue
		}
		parts[i] = strOf(f)
	}
	return strings.Join(parts, ".")
}

// typeNameString is TypeNameToString.
func typeNameString(tn *pg.TypeName) string {
	s := fieldsString(tn.Names)
	if tn.PctType {
		s += "%TYPE"
	}
	if len(tn.ArrayBounds) > 0 {
		s += "[]"
	}
	return s
}

// relationRowType is the row type of a relation as a column type; record where the
// type's fields are not known, as of the system's own relations.
func (b *binder) relationRowType(r *catalog.Relation) sqltypes.ColumnType {
	t := b.cat.Type(r.RowType)
	if r.RowType == 0 || r.OID < catalog.FirstUserOID && (t == nil || len(t.Fields) == 0) {
		return b.columnType(sqltypes.OIDRecord)
	}
	return sqltypes.ColumnType{OID: r.RowType, TypMod: noTypMod}
}
