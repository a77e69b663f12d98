package sqltypes

import "testing"

// Values recorded from PostgreSQL 15.
func TestRanges(t *testing.T) {
	checkInOut(t, testEnv(), []inOut{
		{"int4range", "(1,5]", "[2,6)", ""}, {"int4range", "(,5]", "(,6)", ""}, {"int4range", "[5,5]", "[5,6)", ""}, {"int4range", "(5,6)", "empty", ""},
		{"int4range", " [ 1 , 5 ) ", "[1,5)", ""}, {"numrange", `["1","5")`, "[1,5)", ""}, {"numrange", "[1.50,2]", "[1.50,2]", ""},
		{"tsrange", "[2001-01-01 10:00,)", `["2001-01-01 10:00:00",)`, ""}, {"daterange", "[2001-01-01,2001-01-02]", "[2001-01-01,2001-01-03)", ""},
		{"daterange", "[-infinity,infinity]", "[-infinity,infinity]", ""},
		{"int4range", "[5,1]", "range lower bound must be less than or equal to range upper bound", "22000"},
		{"int4range", "[1,5", `malformed range literal: "[1,5"`, "22P02"}, {"int4range", "[1,2147483647]", "integer out of range", "22003"},
		{"int4multirange", "{[1,3),[2,5),[7,8]}", "{[1,5),[7,9)}", ""}, {"int4multirange", "{ [1,2] , [3,6)}", "{[1,6)}", ""}, {"int4multirange", "{empty}", "{}", ""},
		{"int4multirange", "{(,1),[1,)}", "{(,)}", ""}, {"int4multirange", " { [1,2] , } ", `malformed multirange literal: " { [1,2] , } "`, "22P02"},
		{"_int4range", `{"[1,2)",empty,NULL}`, `{"[1,2)",empty,NULL}`, ""},
	})
}

func TestUserTypes(t *testing.T) {
	env := testEnv()
	mood := NewEnumType(TypeIdentity{OID: 100001, Name: "mood", Array: 100002}, []EnumLabel{{100010, 1, "sad"}, {100014, 1.5, "meh"}, {100012, 2, "ok"}})
	moods := NewArrayType(TypeIdentity{OID: 100002, Name: "_mood"}, mood)
	name := NewDomainType(TypeIdentity{OID: 100003, Name: "shortname"}, TypeByOID(OIDVarchar), 7)
	comp := NewCompositeType(TypeIdentity{OID: 100004, Name: "comp", RelID: 100005}, []Field{
		{Name: "a", Type: TypeByOID(OIDInt4), ColumnType: ColumnType{OID: OIDInt4, TypMod: -1}},
		{Name: "b", Type: name, ColumnType: ColumnType{OID: name.OID, TypMod: -1}},
		{Name: "c", Type: mood, ColumnType: ColumnType{OID: mood.OID, TypMod: -1}},
		{Name: "d", Type: TypeByOID(OIDNumeric), ColumnType: ColumnType{OID: OIDNumeric, TypMod: NumericTypMod(5, 2)}},
	})
	rng, multi := NewRangeTypes(TypeIdentity{OID: 100006, Name: "floatrange"}, TypeIdentity{OID: 100007, Name: "floatmultirange"}, TypeByOID(OIDFloat8))
	for _, c := range []struct {
		t        *Type
		in, want string
		code     string
	}{
		{mood, "meh", "meh", ""}, {mood, "x", `invalid input value for enum mood: "x"`, "22P02"}, {moods, "{ok,NULL,sad}", "{ok,NULL,sad}", ""},
		{name, "abcd", "value too long for type character varying(3)", "22001"}, {name, "abc  ", "abc", ""},
		{comp, `(1,"a""b",ok,2.555)`, `(1,"a""b",ok,2.56)`, ""}, {comp, "(,,,)", "(,,,)", ""},
		{comp, "(1,2)", `malformed record literal: "(1,2)"`, "22P02"}, {rng, "[1.5,2.5]", "[1.5,2.5]", ""}, {multi, "{[1,2],(2,3)}", "{[1,3)}", ""},
	} {
		d, err := c.t.In(env, c.in, -1)
		if c.code != "" {
			if got := errText(err); got[:5] != c.code || got[6:min(len(got), 6+len(c.want))] != c.want {
				t.Errorf("%s %q: %v", c.t.Name, c.in, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %q: %v", c.t.Name, c.in, err)
			continue
		}
		if got := string(c.t.Out(env, nil, d)); got != c.want {
			t.Errorf("%s %q = %q, want %q", c.t.Name, c.in, got, c.want)
		}
		back, err := c.t.Recv(env, c.t.Send(env, nil, d), -1)
		if err != nil || c.t.Compare(d, back) != 0 || c.t.Hash(d) != c.t.Hash(back) {
			t.Errorf("%s %q: binary round trip %v", c.t.Name, c.in, err)
		}
	}
	if mood.Compare(Int(100014), Int(100012)) >= 0 {
		t.Error("enum order is that of the labels, not of the OIDs")
	}
	r := MakeRecord([]*Type{TypeByOID(OIDInt4), TypeByOID(OIDText), TypeByOID(OIDText)}, []Datum{Int(1), Text(`x"y\z`), Null})
	if got := string(TypeByOID(OIDRecord).Out(env, nil, r)); got != `(1,"x""y\\z",)` {
		t.Error(got)
	}
}
