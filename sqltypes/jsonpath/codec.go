package jsonpath

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// A value of type jsonpath is its normalized text.
func init() {
	t := sqltypes.TypeByOID(sqltypes.OIDJsonpath)
	t.In = func(_ *sqltypes.Env, s string, _ int32) (sqltypes.Datum, error) {
		p, err := Parse(s)
		if err != nil {
			return sqltypes.Null, err
		}
		return sqltypes.Text(p.String()), nil
	}
	t.Out = func(_ *sqltypes.Env, dst []byte, d sqltypes.Datum) []byte { return append(dst, d.S...) }
	t.Recv = func(env *sqltypes.Env, b []byte, _ int32) (sqltypes.Datum, error) {
		if len(b) == 0 || b[0] != 1 {
			return sqltypes.Null, pgerror.New(pgerror.InternalError, "unsupported jsonpath version number: %d", versionOf(b))
		}
		return t.In(env, string(b[1:]), -1)
	}
	t.Send = func(_ *sqltypes.Env, dst []byte, d sqltypes.Datum) []byte { return append(append(dst, 1), d.S...) }
}

func versionOf(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	return int(b[0])
}
