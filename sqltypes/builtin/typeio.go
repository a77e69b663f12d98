package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// The input, output and send functions of types, as SQL may call them.

func init() {
	for _, t := range sqltypes.BuiltinTypes() {
		in := sqltypes.ProcByOID(t.Input)
		stem := ""
		if in != nil {
			stem = strings.TrimSuffix(in.Src, "in")
		}
		if stem == "" || t.In == nil || t.TypType != 'b' || t.IsArray || sharedIO[in.Src] || in.Src == "unknownin" {
			continue
		}
		scalarTable{
			stem + "in":   inputFunction(t),
			stem + "out":  outputFunction,
			stem + "send": sendFunction,
		}.register()
	}
	for src := range sharedIO {
		stem := strings.TrimSuffix(src, "in")
		if src != "array_in" { // its result's type would be lost
			sqltypes.RegisterScalar(src, sharedInput)
		}
		scalarTable{stem + "out": outputFunction, stem + "send": sendFunction}.register()
	}
}

// sharedIO are input functions that serve many types: their second argument says which.
var sharedIO = map[string]bool{"array_in": true, "enum_in": true, "range_in": true, "multirange_in": true, "record_in": true, "domain_in": true}

func inputFunction(t *sqltypes.Type) sqltypes.ScalarFunc {
	return func(c *Call, a []Datum) (Datum, error) {
		typmod := int32(-1)
		if len(a) > 2 {
			typmod = int32(a[2].I)
		}
		return t.In(c.Env, a[0].S, typmod)
	}
}

func sharedInput(c *Call, a []Datum) (Datum, error) {
	if len(a) < 2 || a[0].Null || a[1].Null {
		return isNull()
	}
	t := sqltypes.LookupType(c.Env, sqltypes.OID(a[1].I))
	if t == nil || t.In == nil {
		return fail(pgerror.New(pgerror.UndefinedObject, "cache lookup failed for type %d", uint32(a[1].I)))
	}
	typmod := int32(-1)
	if len(a) > 2 {
		typmod = int32(a[2].I)
	}
	return t.In(c.Env, a[0].S, typmod)
}

func outputFunction(c *Call, a []Datum) (Datum, error) {
	t := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID)
	if t == nil || t.Out == nil {
		return fail(pgerror.NotSupported("function %s", c.Proc.Name))
	}
	return text(string(t.Out(c.Env, nil, a[0])))
}

func sendFunction(c *Call, a []Datum) (Datum, error) {
	t := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID)
	if t == nil || t.Send == nil {
		return fail(pgerror.NotSupported("function %s", c.Proc.Name))
	}
	return text(string(t.Send(c.Env, nil, a[0])))
}
