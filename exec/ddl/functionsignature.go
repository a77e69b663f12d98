package ddl

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// checkSignature tests what CREATE FUNCTION says of parameters and result, apart
// from the body.
func (r *run) checkSignature(f *catalog.Function) error {
	for i, name := range f.ArgNames {
		if name == "" {
			continue
		}
		for j, before := range f.ArgNames[:i] {
			// An input and an output parameter may share a name.
			a, b := f.ArgModes[i], f.ArgModes[j]
			if before == name && !(pureOutput(a) && pureInput(b) || pureInput(a) && pureOutput(b)) {
				return pgerror.New(pgerror.InvalidFunctionDefinition, "parameter name %q used more than once", name)
			}
		}
	}
	inputs := inputTypes(f)
	if f.Language == "sql" {
		pseudo := func(t sqltypes.OID) bool {
			typ := r.catalog().Type(t)
			return typ != nil && typ.TypType == 'p' && !slices.Contains(polyFamily, t) && !slices.Contains(compatibleFamily, t)
		}
		for _, t := range inputs {
			if pseudo(t) {
				return pgerror.New(pgerror.InvalidFunctionDefinition, "SQL functions cannot have arguments of type %s", r.typeName(t))
			}
		}
		if pseudo(f.RetType) && f.RetType != sqltypes.OIDRecord && f.RetType != sqltypes.OIDVoid {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "SQL functions cannot return type %s", r.typeName(f.RetType))
		}
	}
	if f.Rows > 0 && !f.RetSet {
		return pgerror.New(pgerror.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
	}
	results := []sqltypes.OID{f.RetType}
	for i, t := range f.ArgTypes {
		if pureOutput(f.ArgModes[i]) {
			results = append(results, t.OID)
		}
	}
	for _, t := range results {
		if detail := undetermined(r.typeName(t), t, inputs); detail != "" {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "cannot determine result data type").WithDetail("%s", detail)
		}
	}
	return nil
}

func pureInput(mode byte) bool  { return mode == 'i' || mode == 'v' }
func pureOutput(mode byte) bool { return mode == 'o' || mode == 't' }

// The polymorphic types, by which of them determine each other.
var (
	polyRanges = []sqltypes.OID{sqltypes.OIDAnyrange, sqltypes.OIDAnymultirange}
	polyFamily = append([]sqltypes.OID{sqltypes.OIDAnyelement, sqltypes.OIDAnyarray, sqltypes.OIDAnynonarray, sqltypes.OIDAnyenum}, polyRanges...)

	compatibleRanges = []sqltypes.OID{sqltypes.OIDAnycompatiblerange, sqltypes.OIDAnycompatiblemultirange}
	compatibleFamily = append([]sqltypes.OID{sqltypes.OIDAnycompatible, sqltypes.OIDAnycompatiblearray, sqltypes.OIDAnycompatiblenonarray}, compatibleRanges...)
)

// undetermined tells why the inputs do not determine a polymorphic result
// (check_valid_polymorphic_signature); "" when they do.
func undetermined(name string, result sqltypes.OID, inputs []sqltypes.OID) string {
	anyOf := func(family []sqltypes.OID) bool {
		return slices.ContainsFunc(inputs, func(t sqltypes.OID) bool { return slices.Contains(family, t) })
	}
	need := ""
	switch {
	case slices.Contains(polyRanges, result):
		if !anyOf(polyRanges) {
			need = "anyrange or anymultirange"
		}
	case slices.Contains(compatibleRanges, result):
		if !anyOf(compatibleRanges) {
			need = "anycompatiblerange or anycompatiblemultirange"
		}
	case slices.Contains(polyFamily, result):
		if !anyOf(polyFamily) {
			need = "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"
		}
	case slices.Contains(compatibleFamily, result):
		if !anyOf(compatibleFamily) {
			need = "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
		}
	}
	if need == "" {
		return ""
	}
	return "A result of type " + name + " requires at least one input of type " + need + "."
}

// replaceable tests that CREATE OR REPLACE keeps what callers rely on.
func (r *run) replaceableFunction(old, f *catalog.Function) error {
	if old.Kind != f.Kind {
		return pgerror.New(pgerror.WrongObjectType, "cannot change routine kind").
			WithDetail("%q is %s.", f.Name, map[byte]string{'f': "a function", 'p': "a procedure", 'a': "an aggregate function", 'w': "a window function"}[old.Kind])
	}
	drop := "Use DROP " + map[bool]string{true: "PROCEDURE", false: "FUNCTION"}[f.Kind == 'p'] + " " + r.signature(f) + " first."
	if old.RetType != f.RetType || old.RetSet != f.RetSet {
		if f.Kind == 'p' {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "cannot change whether a procedure has output parameters").WithHint("%s", drop)
		}
		return pgerror.New(pgerror.InvalidFunctionDefinition, "cannot change return type of existing function").WithHint("%s", drop)
	}
	if f.RetType == sqltypes.OIDRecord && !slices.Equal(outputs(old), outputs(f)) {
		return pgerror.New(pgerror.InvalidFunctionDefinition, "cannot change return type of existing function").
			WithDetail("Row type defined by OUT parameters is different.").WithHint("%s", drop)
	}
	names := inputParamNames(f)
	for i, name := range inputParamNames(old) {
		if name != "" && (i >= len(names) || names[i] != name) {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "cannot change name of input parameter %q", name).WithHint("%s", drop)
		}
	}
	if len(f.ArgDefaults) < len(old.ArgDefaults) {
		return pgerror.New(pgerror.InvalidFunctionDefinition, "cannot remove parameter defaults from existing function").WithHint("%s", drop)
	}
	return nil
}

// outputs are the result columns that the parameters describe.
func outputs(f *catalog.Function) []outputColumn {
	var out []outputColumn
	for i, t := range f.ArgTypes {
		if m := f.ArgModes[i]; m == 'o' || m == 'b' || m == 't' {
			out = append(out, outputColumn{f.ArgNames[i], t.OID})
		}
	}
	return out
}

type outputColumn struct {
	name string
	typ  sqltypes.OID
}

func inputParamNames(f *catalog.Function) []string {
	var out []string
	for i, name := range f.ArgNames {
		if !pureOutput(f.ArgModes[i]) {
			out = append(out, name)
		}
	}
	return out
}
