package ddl

import (
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/plpgsql"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// checkPLpgSQL is plpgsql_validator: the types of parameters and result, and, with
// body, whether the body parses.
func (r *run) checkPLpgSQL(f *catalog.Function, body bool) error {
	pseudo := func(t sqltypes.OID) bool {
		typ := r.catalog().Type(t)
		return typ != nil && typ.TypType == 'p' && !slices.Contains(polyFamily, t) && !slices.Contains(compatibleFamily, t)
	}
	h := plpgsql.Header{Name: f.Name, Kind: f.Kind, RetSet: f.RetSet, Ret: sqltypes.ColumnType{OID: standIn(f.RetType), TypMod: -1}}
	switch {
	case f.RetType == sqltypes.OIDTrigger:
		h.Kind = 't'
		if len(f.ArgTypes) > 0 {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "trigger functions cannot have declared arguments").
				WithHint("The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.")
		}
	case f.RetType == sqltypes.OIDEventTrigger:
		return pgerror.NotSupported("event triggers")
	case pseudo(f.RetType) && f.RetType != sqltypes.OIDRecord && f.RetType != sqltypes.OIDVoid:
		return pgerror.New(pgerror.FeatureNotSupported, "PL/pgSQL functions cannot return type %s", r.typeName(f.RetType))
	}
	var words []string
	for i, t := range f.ArgTypes {
		if pseudo(t.OID) && t.OID != sqltypes.OIDRecord {
			return pgerror.New(pgerror.FeatureNotSupported, "PL/pgSQL functions cannot accept type %s", r.typeName(t.OID))
		}
		if !pureOutput(f.ArgModes[i]) {
			words = append(words, r.typeName(t.OID))
		}
		h.Args = append(h.Args, plpgsql.Arg{Name: f.ArgNames[i], Mode: f.ArgModes[i], Type: sqltypes.ColumnType{OID: standIn(t.OID), TypMod: -1}})
	}
	if !body {
		return nil
	}
	h.Signature = f.Name + "(" + strings.Join(words, ",") + ")"
	fn, err := plpgsql.Parse(f.Body, h, plpgsql.ContextTypes{Ctx: r.s.PlanContext()})
	if err == nil {
		err = fn.CheckSyntax()
	}
	return err
}

// standIn is the type that a polymorphic one is while a body is only checked.
func standIn(t sqltypes.OID) sqltypes.OID {
	switch t {
	case sqltypes.OIDAnyelement, sqltypes.OIDAnynonarray, sqltypes.OIDAnyenum, sqltypes.OIDAnycompatible, sqltypes.OIDAnycompatiblenonarray:
		return sqltypes.OIDInt4
	case sqltypes.OIDAnyarray, sqltypes.OIDAnycompatiblearray:
		return sqltypes.OIDInt4Array
	case sqltypes.OIDAnyrange, sqltypes.OIDAnycompatiblerange:
		return sqltypes.OIDInt4range
	case sqltypes.OIDAnymultirange, sqltypes.OIDAnycompatiblemultirange:
		return sqltypes.OIDInt4multirange
	}
	return t
}
