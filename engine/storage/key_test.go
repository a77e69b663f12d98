package storage

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"ostraka/sqltypes"
)

// keyGens draw values of the types that can be keys.
func keyGens() map[sqltypes.OID]*rapid.Generator[sqltypes.Datum] {
	ints := rapid.Custom(func(t *rapid.T) int64 {
		v := rapid.Int64().Draw(t, "v")
		return v >> rapid.IntRange(0, 63).Draw(t, "shift")
	})
	bound := func(lo, hi int64) *rapid.Generator[sqltypes.Datum] {
		return rapid.Map(rapid.Int64Range(lo, hi), sqltypes.Int)
	}
	text := rapid.Map(rapid.StringOfN(rapid.SampledFrom([]rune("\x00\x01ab \u00e9\U0010ffff")), 0, 8, -1), sqltypes.Text)
	noZero := rapid.Map(rapid.StringOfN(rapid.SampledFrom([]rune("\x01ab  \u00e9z")), 0, 6, -1), sqltypes.Text)
	floats := rapid.Map(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1, -1})), sqltypes.Float)
	g := map[sqltypes.OID]*rapid.Generator[sqltypes.Datum]{
		sqltypes.OIDInt8:        rapid.Map(ints, sqltypes.Int),
		sqltypes.OIDInt4:        bound(math.MinInt32, math.MaxInt32),
		sqltypes.OIDInt2:        bound(math.MinInt16, math.MaxInt16),
		sqltypes.OIDBool:        bound(0, 1),
		sqltypes.OIDOid:         bound(0, math.MaxUint32),
		sqltypes.OIDDate:        bound(math.MinInt32, math.MaxInt32),
		sqltypes.OIDTimestamptz: rapid.Map(ints, sqltypes.Int),
		sqltypes.OIDFloat8:      floats,
		sqltypes.OIDText:        noZero,
		sqltypes.OIDBytea:       text,
		sqltypes.OIDBpchar:      noZero,
		sqltypes.OIDNumeric: rapid.Custom(func(t *rapid.T) sqltypes.Datum {
			v := rapid.Map(ints, func(v int64) int64 { return v / 3 }).Draw(t, "v")
			if rapid.IntRange(0, 3).Draw(t, "wide") == 0 {
				text := rapid.SampledFrom([]string{"NaN", "Infinity", "-Infinity", "1e30", "-1e30", "1e-30", "123456789012345678901234567890.0000",
					"123456789012345678901234567890", "-99999999999999999999.9", "10000000000000000000", "0.00000000000000000000"}).Draw(t, "text")
				d, err := sqltypes.TypeByOID(sqltypes.OIDNumeric).In(&sqltypes.Env{Formats: sqltypes.DefaultFormats()}, text, -1)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			if rapid.Bool().Draw(t, "small") {
				v = rapid.Int64Range(-120, 120).Draw(t, "v2")
			}
			return sqltypes.Datum{I: v, Aux: rapid.Int32Range(0, 20).Draw(t, "scale")}
		}),
		sqltypes.OIDInterval: rapid.Custom(func(t *rapid.T) sqltypes.Datum {
			d := sqltypes.Int(ints.Draw(t, "us"))
			m, y := rapid.Int32().Draw(t, "m"), rapid.Int32Range(-70, 70).Draw(t, "d")
			if m>>8 != 0 || y != 0 {
				d.S = string([]byte{byte(m >> 24), byte(m >> 16), byte(m >> 8), byte(m), byte(y >> 24), byte(y >> 16), byte(y >> 8), byte(y)})
			}
			return d
		}),
		sqltypes.OIDTimetz: rapid.Custom(func(t *rapid.T) sqltypes.Datum {
			return sqltypes.Datum{I: rapid.Int64Range(0, 86400000000).Draw(t, "t"), Aux: rapid.Int32Range(-14, 14).Draw(t, "z") * 3600}
		}),
	}
	bytesOf := func(n int) *rapid.Generator[sqltypes.Datum] {
		return rapid.Map(rapid.SliceOfN(rapid.Byte(), n, n), sqltypes.Bytes)
	}
	for _, oid := range []sqltypes.OID{sqltypes.OIDXid8, sqltypes.OIDPgLsn, sqltypes.OIDMoney, sqltypes.OIDTimestamp} {
		g[oid] = g[sqltypes.OIDInt8]
	}
	g[sqltypes.OIDChar] = bound(0, 255)
	g[sqltypes.OIDUuid], g[sqltypes.OIDMacaddr], g[sqltypes.OIDMacaddr8] = bytesOf(16), bytesOf(6), bytesOf(8)
	g[sqltypes.OIDVarbit] = rapid.Custom(func(t *rapid.T) sqltypes.Datum {
		return sqltypes.MakeBits(rapid.IntRange(0, 20).Draw(t, "n"), rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0x80, 0xff}), 3, 3).Draw(t, "b"))
	})
	g[sqltypes.OIDInet] = rapid.Custom(func(t *rapid.T) sqltypes.Datum {
		n := rapid.SampledFrom([]int{4, 16}).Draw(t, "len")
		return sqltypes.MakeInet(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x80}), n, n).Draw(t, "a"), rapid.IntRange(0, 8*n).Draw(t, "bits"))
	})
	rng := func(oid sqltypes.OID) {
		g[oid] = rapid.Custom(func(t *rapid.T) sqltypes.Datum {
			typ := sqltypes.TypeByOID(oid)
			b := func(l string) sqltypes.RangeBound {
				return sqltypes.RangeBound{Value: sqltypes.Int(rapid.Int64Range(-3, 3).Draw(t, l)), Inf: rapid.IntRange(0, 3).Draw(t, l+"inf") == 0,
					Inclusive: rapid.Bool().Draw(t, l+"inc")}
			}
			lo, hi := b("lo"), b("hi")
			if lo.Value.I > hi.Value.I {
				lo.Value, hi.Value = hi.Value, lo.Value
			}
			d, err := typ.Range.MakeRange(sqltypes.Range{Lower: lo, Upper: hi, Empty: rapid.IntRange(0, 5).Draw(t, "empty") == 0})
			if err != nil {
				t.Fatal(err)
			}
			return d
		})
	}
	rng(sqltypes.OIDInt4range)
	rng(sqltypes.OIDNumrange)
	array := func(elem sqltypes.OID) *rapid.Generator[sqltypes.Datum] {
		return rapid.Custom(func(t *rapid.T) sqltypes.Datum {
			es := rapid.SliceOfN(rapid.OneOf(g[elem], rapid.Just(sqltypes.Null)), 0, 3).Draw(t, "e")
			if len(es) == 0 {
				return sqltypes.MakeArray(sqltypes.TypeByOID(elem), nil, nil)
			}
			return sqltypes.MakeArray(sqltypes.TypeByOID(elem), []sqltypes.ArrayDim{{Len: int32(len(es)), Lower: rapid.Int32Range(-1, 1).Draw(t, "lb")}}, es)
		})
	}
	g[sqltypes.OIDInt4multirange] = rapid.Custom(func(t *rapid.T) sqltypes.Datum {
		var list []sqltypes.Range
		for _, d := range rapid.SliceOfN(g[sqltypes.OIDInt4range], 0, 3).Draw(t, "ranges") {
			list = append(list, sqltypes.OpenRange(d))
		}
		return sqltypes.TypeByOID(sqltypes.OIDInt4multirange).Range.MakeMultirange(list)
	})
	g[sqltypes.OIDInt4rangeArray] = array(sqltypes.OIDInt4range)
	g[sqltypes.OIDJsonb] = rapid.Custom(func(t *rapid.T) sqltypes.Datum { return drawJSON(t, 2).Datum() })
	g[sqltypes.OIDInt4Array] = array(sqltypes.OIDInt4)
	g[sqltypes.OIDTextArray] = array(sqltypes.OIDText)
	return g
}

// drawJSON draws a JSON value with few different members, so that sizes and
// members tie often.
func drawJSON(t *rapid.T, depth int) sqltypes.JSON {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 1:
		return sqltypes.JSONStringOf(rapid.StringOfN(rapid.SampledFrom([]rune("ab\u00e9")), 0, 3, -1).Draw(t, "s"))
	case 2:
		return sqltypes.JSONNumberOf(sqltypes.Datum{I: rapid.Int64Range(-12, 12).Draw(t, "n"), Aux: rapid.Int32Range(0, 2).Draw(t, "scale")})
	case 3:
		return sqltypes.JSONBoolOf(rapid.Bool().Draw(t, "b"))
	case 4:
		var elems []sqltypes.JSON
		for range rapid.IntRange(0, 2).Draw(t, "len") {
			elems = append(elems, drawJSON(t, depth-1))
		}
		return sqltypes.JSONArrayOf(elems)
	case 5:
		var pairs []sqltypes.JSONPair
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "aa", "ab"}), 0, 2, rapid.ID[string]).Draw(t, "keys") {
			pairs = append(pairs, sqltypes.JSONPair{Key: k, Value: drawJSON(t, depth-1)})
		}
		return sqltypes.JSONObjectOf(pairs)
	}
	return sqltypes.JSONNullValue
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// Keys order as the type's Compare does, and equal keys are equal values.
func TestKeyOrder(t *testing.T) {
	for oid, gen := range keyGens() {
		typ := sqltypes.TypeByOID(oid)
		t.Run(typ.Name, func(t *testing.T) {
			if typ.Compare == nil || typ.In == nil {
				t.Skip("the type has no order yet")
			}
			rapid.Check(t, func(t *rapid.T) {
				for _, desc := range []bool{false, true} {
					c := keyCol{class: 0}
					c.class, c.elem, _ = keyClassOf(typ)
					c.typ, c.desc = typ, desc
					a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
					want := sign(typ.Compare(a, b))
					if desc {
						want = -want
					}
					ka, kb := c.append(nil, a), c.append(nil, b)
					if got := bytes.Compare(ka, kb); got != want {
						t.Fatalf("%v %v: keys %x %x compare %d, values %d", a, b, ka, kb, got, want)
					}
					if want != 0 && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
						t.Fatalf("%v %v: a key is a prefix of another: %x %x", a, b, ka, kb)
					}
					for _, nf := range []bool{false, true} {
						n := keyCol{class: c.class, elem: c.elem, typ: typ, desc: desc, nullsFirst: nf}
						null := n.append(nil, sqltypes.Null)
						if got := bytes.Compare(null, ka); nf && got >= 0 || !nf && got <= 0 {
							t.Fatalf("NULL key %x and %x, nulls first %v", null, ka, nf)
						}
					}
				}
			})
		})
	}
}

func TestNumericKeys(t *testing.T) {
	// In order; values in one line are equal.
	d := func(v int64, scale int32) sqltypes.Datum { return sqltypes.Datum{I: v, Aux: scale} }
	lines := [][]sqltypes.Datum{
		{d(math.MinInt64+1, 0)},
		{d(-100, 0), d(-1000, 1)},
		{d(-11, 1)},
		{d(-1, 0), d(-100, 2)},
		{d(-99, 2)},
		{d(-1, 20)},
		{d(0, 0), d(0, 10)},
		{d(1, 20)},
		{d(99, 3)},
		{d(1, 1)},
		{d(1, 0), d(10, 1), d(1000, 3)},
		{d(101, 2)},
		{d(11, 1)},
		{d(2, 0)},
		{d(10, 0)},
		{d(12345678901, 5)},
		{d(math.MaxInt64, 0)},
	}
	var last []byte
	for i, line := range lines {
		k := appendKeyNumeric(nil, line[0])
		for _, v := range line[1:] {
			if got := appendKeyNumeric(nil, v); !bytes.Equal(got, k) {
				t.Errorf("%v and %v have keys %x and %x", line[0], v, k, got)
			}
		}
		if i > 0 && bytes.Compare(last, k) >= 0 {
			t.Errorf("key of %v, %x, is not above %x", line[0], k, last)
		}
		last = k
	}
}

func TestDataPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")
		a >>= rapid.IntRange(0, 63).Draw(t, "s")
		pa, pb := AppendDataPrefix(nil, a), AppendDataPrefix(nil, b)
		if (a < b) != (bytes.Compare(pa, pb) < 0) {
			t.Fatalf("%d %d: %x %x", a, b, pa, pb)
		}
		id, rest, ok := SplitData(append(pa, 7, 8))
		if !ok || id != a || !bytes.Equal(rest, []byte{7, 8}) {
			t.Fatalf("split %d: %d %x %v", a, id, rest, ok)
		}
	})
}
