package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// The input, output and send functions of types, as SQL may call them.

// ioStems are the names of these functions without in, out and send, by type.
var ioStems = map[string]string{
	"bool": "bool", "int2": "int2", "int4": "int4", "int8": "int8", "oid": "oid", "xid": "xid", "cid": "cid", "xid8": "xid8", "char": "char",
	"numeric": "numeric_", "bytea": "bytea", "uuid": "uuid_", "bit": "bit_", "varbit": "varbit_", "money": "cash_", "tid": "tid", "pg_lsn": "pg_lsn_",
	"inet": "inet_", "cidr": "cidr_", "macaddr": "macaddr_", "macaddr8": "macaddr8_", "date": "date_", "time": "time_", "timetz": "timetz_",
	"timestamp": "timestamp_", "timestamptz": "timestamptz_", "interval": "interval_", "json": "json_", "jsonb": "jsonb_", "float4": "float4",
	"float8": "float8", "text": "text", "varchar": "varchar", "bpchar": "bpchar", "name": "name", "cstring": "cstring_", "jsonpath": "jsonpath_",
	"point": "point_", "box": "box_", "lseg": "lseg_", "line": "line_", "path": "path_", "polygon": "poly_", "circle": "circle_",
	"regproc": "regproc", "regprocedure": "regprocedure", "regoper": "regoper", "regoperator": "regoperator", "regclass": "regclass",
	"regtype": "regtype", "regnamespace": "regnamespace", "regrole": "regrole", "regcollation": "regcollation",
}

// sharedIO are functions that serve many types: the second argument of their input function says which.
var sharedIO = []string{"enum_", "range_", "multirange_", "record_"}

func init() {
	for name, stem := range ioStems {
		scalarTable{stem + "in": inputFunction(name), stem + "out": outputFunction, stem + "send": sendFunction}.register()
	}
	for _, stem := range sharedIO {
		scalarTable{stem + "in": sharedInput, stem + "out": outputFunction, stem + "send": sendFunction}.register()
	}
	// The type of array_in's result would be lost; a domain's values are sent as the base type's.
	scalarTable{"array_out": outputFunction, "array_send": sendFunction, "domain_in": sharedInput}.register()
}

func inputFunction(name string) sqltypes.ScalarFunc {
	t := sqltypes.TypeByName(name)
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
