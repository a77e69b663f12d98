package sqltypes

import (
	"math/rand/v2"
	"testing"
)

// valueSamples are texts that give every kind of decoder something to chew on.
var valueSamples = append([]string{
	"1", "-1.5e3", "t", "abc", `\x00ff`, "{1,2,{3}}", `{{1,2},{3,NULL}}`, `[0:1]={"a","b\"c"}`, "[1,5)", "{[1,2),[3,4)}", "empty", "(1,,\"x\")",
	"10.0.0.1/8", "::1", "08:00:2b:01:02:03", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "101", "xF", "$1,234.50", "(1,2)", "16/B374D848", "1 2 3", "NaN", "infinity",
}, append(append(append([]string(nil), dateSamples...), intervalSamples...), jsonSamples...)...)

// checkDecoders feeds text and bytes to every type and checks that what is
// accepted can be written, compared, hashed and read back.
func checkDecoders(t *testing.T, env *Env, s string) {
	for _, typ := range BuiltinTypes() {
		for _, typmod := range []int32{-1, 6} {
			d, err := typ.In(env, s, typmod)
			if err == nil {
				checkValue(t, env, typ, d)
			}
			if d, err = typ.Recv(env, []byte(s), typmod); err == nil {
				checkValue(t, env, typ, d)
			}
		}
	}
}

func checkValue(t *testing.T, env *Env, typ *Type, d Datum) {
	text := typ.Out(env, nil, d)
	bin := typ.Send(env, nil, d)
	if typ.Hash != nil {
		typ.Hash(d)
	}
	if typ.TypType == 'p' || typ.OID == OIDMoney {
		return
	}
	back, err := typ.Recv(env, bin, -1)
	if err != nil {
		t.Fatalf("%s %q: binary form is refused: %v", typ.Name, text, err)
	}
	if typ.Compare != nil && (typ.Compare(d, back) != 0 || typ.Compare(back, d) != 0) {
		t.Fatalf("%s %q: binary round trip", typ.Name, text)
	}
	if got := typ.Out(env, nil, back); string(got) != string(text) {
		t.Fatalf("%s %q: binary round trip gives %q", typ.Name, text, got)
	}
	if typ.Name == "oid" || typ.Category == 'N' && typ.Len == 4 && typ.OID != OIDInt4 && typ.OID != OIDFloat4 {
		return // reg* names need a catalogue
	}
	if ValidText(string(text)) != nil {
		return // "char" can hold half a character
	}
	if _, err := typ.In(env, string(text), -1); err != nil && typ.OID != OIDTimestamptz && typ.ElemType == nil && typ.Range == nil {
		t.Fatalf("%s %q: own text is refused: %v", typ.Name, text, err)
	}
}

func TestDecodersOnMutations(t *testing.T) {
	env := testEnv()
	r := rand.New(rand.NewPCG(31, 32))
	for _, s := range valueSamples {
		checkDecoders(t, env, s)
		for _, typ := range BuiltinTypes() {
			d, err := typ.In(env, s, -1)
			if err != nil || typ.TypType == 'p' {
				continue
			}
			for range 3 {
				b := typ.Send(env, nil, d)
				if len(b) == 0 {
					continue
				}
				switch r.IntN(3) {
				case 0:
					b[r.IntN(len(b))] = byte(r.IntN(256))
				case 1:
					b = b[:r.IntN(len(b))]
				case 2:
					b = append(b, byte(r.IntN(256)))
				}
				if d, err := typ.Recv(env, b, -1); err == nil {
					checkValue(t, env, typ, d)
				}
			}
		}
	}
}

func FuzzDecoders(f *testing.F) {
	for _, s := range valueSamples {
		f.Add(s)
	}
	env := testEnv()
	f.Fuzz(func(t *testing.T, s string) { checkDecoders(t, env, s) })
}
