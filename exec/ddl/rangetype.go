package ddl

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// createRange makes a range type, its multirange type and the constructors of both.
func (r *run) createRange(n *pg.CreateRangeStmt) error {
	t, err := r.newType(strs(n.TypeName), 'r')
	if err != nil {
		return err
	}
	var multi []string
	seen := map[string]bool{}
	for _, node := range n.Params {
		d := node.GetDefElem()
		if seen[d.Defname] {
			return pgerror.New(pgerror.SyntaxError, "conflicting or redundant options")
		}
		seen[d.Defname] = true
		switch d.Defname {
		case "subtype":
			sub, err := bind.BindTypeName(r.s.PlanContext(), d.Arg.GetTypeName())
			if err != nil {
				return err
			}
			t.Subtype = sub.OID
		case "multirange_type_name":
			multi = nameParts(d.Arg)
		case "subtype_opclass", "collation", "subtype_diff":
		case "canonical":
			return pgerror.NotSupported("range type canonical functions")
		default:
			return pgerror.New(pgerror.SyntaxError, "type attribute %q not recognized", d.Defname)
		}
	}
	if t.Subtype == 0 {
		return pgerror.New(pgerror.SyntaxError, "type attribute \"subtype\" is required")
	}
	sub := r.catalog().Type(t.Subtype)
	if sub != nil && sub.TypType == 'p' && t.Subtype != sqltypes.OIDCstring {
		return pgerror.New(pgerror.DatatypeMismatch, "range subtype cannot be %s", r.typeName(t.Subtype))
	}
	if sub == nil || sub.Compare == nil {
		return pgerror.New(pgerror.UndefinedObject, "data type %s has no default operator class for access method \"btree\"", r.typeName(t.Subtype)).
			WithHint("You must specify an operator class for the range type or define a default operator class for the subtype.")
	}
	r.schema().PutType(t)
	if multi == nil {
		name := t.Name + "_multirange"
		if i := strings.Index(t.Name, "range"); i >= 0 {
			name = t.Name[:i] + "multi" + t.Name[i:]
		}
		multi = []string{r.catalog().Schema(t.Schema).Name, name}
	}
	m, err := r.newType(multi, 'm')
	if err != nil {
		return err
	}
	m.Subtype, m.Multirange, t.Multirange = t.Subtype, t.OID, m.OID
	r.schema().PutType(t)
	r.schema().PutType(m)
	for _, c := range constructors(t, m) {
		if c.OID, err = r.newOID(); err != nil {
			return err
		}
		c.ACL = r.newACL('f', c.Schema)
		r.schema().PutFunction(c)
	}
	return nil
}

// constructors are the functions that make ranges and multiranges of a type.
func constructors(t, m *catalog.UserType) []*catalog.Function {
	makes := func(of *catalog.UserType, body string, strict bool, mode byte, args ...sqltypes.OID) *catalog.Function {
		f := &catalog.Function{Name: of.Name, Schema: of.Schema, Owner: of.Owner, Kind: 'f', Language: "internal", Body: body,
			RetType: of.OID, Volatility: sqltypes.Immutable, Strict: strict, Cost: 1, Parallel: 's'}
		for _, a := range args {
			f.ArgTypes = append(f.ArgTypes, sqltypes.ColumnType{OID: a, TypMod: -1})
			f.ArgModes = append(f.ArgModes, mode)
			f.ArgNames = append(f.ArgNames, "")
		}
		return f
	}
	return []*catalog.Function{
		makes(t, "range_constructor2", false, 'i', t.Subtype, t.Subtype),
		makes(t, "range_constructor3", false, 'i', t.Subtype, t.Subtype, sqltypes.OIDText),
		makes(m, "multirange_constructor0", true, 'i'),
		makes(m, "multirange_constructor1", true, 'i', t.OID),
		makes(m, "multirange_constructor2", true, 'v', t.ArrayOID),
	}
}

// isConstructor tells the functions that came with a range type.
func isConstructor(f *catalog.Function) bool {
	return f.Language == "internal" && (strings.HasPrefix(f.Body, "range_constructor") || strings.HasPrefix(f.Body, "multirange_constructor"))
}

func (r *run) dropConstructors(t *catalog.UserType) {
	var gone []sqltypes.OID
	r.catalog().AllFunctions(func(f *catalog.Function) bool {
		if isConstructor(f) && (f.RetType == t.OID || f.RetType == t.Multirange) {
			gone = append(gone, f.OID)
		}
		return true
	})
	for _, oid := range gone {
		r.schema().DropFunction(oid)
	}
}
