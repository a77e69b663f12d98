package sqltypes

import (
	"testing"

	"ostraka/sqltypes/pgerror"
)

// inOut is one value recorded from PostgreSQL 15: text in, text out, or the
// SQLSTATE and message of the refusal.
type inOut struct {
	typ, in, out string
	code         pgerror.Code
}

func testEnv() *Env { return &Env{Formats: DefaultFormats()} }

func checkInOut(t *testing.T, env *Env, cases []inOut) {
	t.Helper()
	for _, c := range cases {
		typ := TypeByName(c.typ)
		d, err := typ.In(env, c.in, -1)
		if c.code != "" {
			if err == nil {
				t.Errorf("%s %q: got %q, want error %s", c.typ, c.in, typ.Out(env, nil, d), c.code)
				continue
			}
			if e, ok := err.(*pgerror.Error); !ok || e.Code != c.code || e.Message != c.out {
				t.Errorf("%s %q: error %v, want %s %s", c.typ, c.in, err, c.code, c.out)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", c.typ, c.in, err)
			continue
		}
		if got := string(typ.Out(env, nil, d)); got != c.out {
			t.Errorf("%s %q: got %q, want %q", c.typ, c.in, got, c.out)
		}
		bin := typ.Send(env, nil, d)
		back, err := typ.Recv(env, bin, -1)
		if err != nil {
			t.Errorf("%s %q: binary round trip: %v", c.typ, c.in, err)
			continue
		}
		if got := string(typ.Out(env, nil, back)); got != c.out {
			t.Errorf("%s %q: binary round trip: got %q", c.typ, c.in, got)
		}
		if typ.Compare != nil && typ.Compare(d, back) != 0 {
			t.Errorf("%s %q: not equal to itself", c.typ, c.in)
		}
	}
}
