package builtin

import (
	"strconv"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func hex(v uint64) (Datum, error) { return text(strconv.FormatUint(v, 16)) }

// intToChar is the cast of integer to "char": one signed byte.
func intToChar(_ *Call, args []Datum) (Datum, error) {
	if v := args[0].I; v < -128 || v > 127 {
		return fail(pgerror.New(pgerror.NumericValueOutOfRange, "\"char\" out of range"))
	}
	return integer(int64(uint8(args[0].I)))
}

// applyLength makes the casts that enforce character(n) and character varying(n).
func applyLength(pads bool, enforce func(s string, typmod int32, explicit bool) (string, error)) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		if pads && args[1].I > maxAlloc {
			return fail(pgerror.New(pgerror.InternalError, "invalid memory alloc request size %d", args[1].I))
		}
		s, err := enforce(args[0].S, int32(args[1].I), args[2].Bool())
		if err != nil {
			return null, err
		}
		return text(s)
	}
}

func textToChar(c *Call, args []Datum) (Datum, error) {
	return sqltypes.TypeByOID(sqltypes.OIDChar).In(c.Env, args[0].S, -1)
}

func charToText(c *Call, args []Datum) (Datum, error) {
	return text(outText(c, sqltypes.OIDChar, args[0]))
}

func toName(s func(string) string) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) { return text(sqltypes.TruncateName(s(args[0].S))) }
}

func init() {
	unchanged := func(s string) string { return s }
	scalarTable{
		"bpchar": applyLength(true, sqltypes.BpcharLength), "varchar": applyLength(false, sqltypes.VarcharLength),
		"text_char": textToChar, "char_text": charToText, "char_bpchar": charToText,
		"text_name": toName(unchanged), "bpchar_name": toName(trimmed), "name_text": first, "name_bpchar": first,
		"nameconcatoid": func(_ *Call, a []Datum) (Datum, error) {
			suffix := "_" + strconv.FormatInt(a[1].I, 10)
			name := a[0].S
			for len(name)+len(suffix) > sqltypes.MaxNameLen {
				name = sqltypes.TruncateName(name[:len(name)-1])
			}
			return text(name + suffix)
		},
	}.register()
}
