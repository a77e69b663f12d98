package sqltypes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ostraka/sqltypes/pgerror"
)

var jsonSamples = []string{
	`{"a":1,"b":[1,2,{"c":null}],"a":2}`, `[]`, `{}`, `""`, `null`, `true`, `1`, `-0`, `-0.0`, `1.10`, `1e5`, `1E-3`, `1e400`, `"a\"b\\c\/d\b\f\n\r\t\u00e9\ud83d\ude00"`, ` [ 1 , 2 ] `,
	`{"bb":1,"a":2,"ccc":3,"":4}`, `[1,"x",true,null,{"k":"v"},[]]`, `"\u0001"`, "\"\x7f\"", `{"a":{"b":{"c":[1,[2,[3]]]}}}`,
	// refused
	``, ` `, `{`, `[`, `[1`, `[1,`, `[1,]`, `[1 2]`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{1:2}`, `{"a" 1}`, `{"a":1 "b"}`, `[}`, `{]`, `]`, `,`, `:`, `1 2`, `01`, `1.`, `.5`, `1e`, `+1`, `-`, `tru`, `truex`, `nulll`, `x`, `'a'`, `"abc`, `"a\x"`, `"a\u12"`, `"a\u12G4"`, `"\ud800"`, `"\ud800x"`, `"\udc00"`, `"\ud800\ud800"`, `"\u0000"`, "\"a\nb\"", "\"a\tb\"", `[1,2` + "\n" + `3]`, `{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": x, "b": 1}`, "{\"a\":1,\n\n  \"b\":oops}", `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,é]`, `@`, `{"a":1}}`, `[1]]`, `"a" "b"`, `"é`, `12abc`, `"\`,
}

// jsonErr shows an error with its CONTEXT, as the oracle query below does.
func jsonErr(err error) string {
	var e *pgerror.Error
	if errors.As(err, &e) && e.Where != "" {
		return errText(err) + "|" + e.Where
	}
	return errText(err)
}

func (o *pgOracleConn) oneWithContext(sql string, params ...string) string {
	args := make([][]byte, len(params))
	for i, p := range params {
		args[i] = []byte(p)
	}
	r := o.c.ExecParams(o.ctx(), sql, args, nil, nil, nil).Read()
	if r.Err != nil {
		if e := pgErr(r.Err); e != nil {
			s := e.Code + " " + e.Message
			if e.Detail != "" {
				s += "|" + e.Detail
			}
			// The call site's own context lines are not the type's.
			if w := strings.Split(e.Where, "\n")[0]; strings.HasPrefix(w, "JSON data") {
				s += "|" + w
			}
			return s
		}
		o.t.Fatal(r.Err)
	}
	if r.Rows[0][0] == nil {
		return "\x00"
	}
	return string(r.Rows[0][0])
}

func randJSON(r *rand.Rand, depth int) string {
	switch n := r.IntN(9); {
	case n < 2 && depth < 3:
		var p []string
		for range r.IntN(4) {
			p = append(p, randJSON(r, depth+1))
		}
		return "[" + strings.Join(p, ",") + "]"
	case n < 4 && depth < 3:
		var p []string
		for range r.IntN(4) {
			p = append(p, fmt.Sprintf("%q:%s", []string{"a", "b", "aa", "c", ""}[r.IntN(5)], randJSON(r, depth+1)))
		}
		return "{" + strings.Join(p, ",") + "}"
	case n == 4:
		return "null"
	case n == 5:
		return []string{"true", "false"}[r.IntN(2)]
	case n == 6:
		return fmt.Sprintf("%q", []string{"a", "b", "", "1", "x\"y"}[r.IntN(5)])
	}
	return []string{"1", "2", "1.0", "1.50", "-3", "12345678901234567890", "1e2"}[r.IntN(7)]
}

func TestJSONAgainstOracle(t *testing.T) {
	o := pgOracle(t)
	show := func(j JSON, ok bool, err error) string {
		switch {
		case err != nil:
			return jsonErr(err)
		case !ok:
			return "\x00"
		}
		return j.String()
	}
	bad := 0
	check := func(what, got, want string) {
		if got != want {
			if bad++; bad < 60 {
				t.Errorf("%s\n got %s\nwant %s", what, got, want)
			}
		}
	}
	for _, s := range jsonSamples {
		j, err := ParseJSONB(s)
		check("jsonb "+s, show(j, true, err), o.oneWithContext("select $1::text::jsonb", s))
		got := s
		if err := ValidateJSON(s); err != nil {
			got = jsonErr(err)
		}
		check("json "+s, got, o.oneWithContext("select $1::text::json", s))
	}
	r := rand.New(rand.NewPCG(7, 8))
	paths := [][]string{{"a"}, {"0"}, {"-1"}, {"a", "b"}, {"a", "0"}, {"1", "a"}, {"5"}, {"-5"}, {"b", "c", "1"}, {}, {"x"}, {"a", "x"}}
	for range 2500 {
		as, bs := randJSON(r, 0), randJSON(r, 0)
		a, err := ParseJSONB(as)
		if err != nil {
			t.Fatal(as, err)
		}
		b, _ := ParseJSONB(bs)
		path := paths[r.IntN(len(paths))]
		pd := make([]Datum, len(path))
		for i := range path {
			pd[i] = Text(path[i])
		}
		pt := "{" + strings.Join(path, ",") + "}"
		bs2 := func(v bool) string { return map[bool]string{true: "t", false: "f"}[v] }
		switch r.IntN(12) {
		case 0:
			c := CompareJSON(a, b)
			check("cmp "+as+" "+bs, fmt.Sprint(c), o.one("select sign(jsonb_cmp($1::jsonb,$2::jsonb))::int", as, bs))
			if c == 0 && HashJSON(a) != HashJSON(b) {
				t.Error("hash", as, bs)
			}
		case 1:
			check(as+" @> "+bs, bs2(JSONContains(a, b)), o.one("select $1::jsonb @> $2::jsonb", as, bs))
		case 2:
			check(as+" ? a", bs2(JSONExists(a, "a")), o.one("select $1::jsonb ? 'a'", as))
		case 3:
			v, ok := a.Path(path)
			check(as+" #> "+pt, show(v, ok, nil), o.one("select $1::jsonb #> $2::text[]", as, pt))
			raw, ok, err := JSONTextPath(as, path)
			if !ok {
				raw = "\x00"
			}
			check("json "+as+" #> "+pt, raw, o.one("select $1::json #> $2::text[]", as, pt))
			_ = err
		case 4:
			v, err := JSONConcat(a, b)
			check(as+" || "+bs, show(v, true, err), o.one("select $1::jsonb || $2::jsonb", as, bs))
		case 5:
			v, err := JSONDeleteKey(a, "a")
			check(as+" - a", show(v, true, err), o.one("select $1::jsonb - 'a'", as))
		case 6:
			i := r.IntN(5) - 2
			v, err := JSONDeleteIndex(a, i)
			check(fmt.Sprint(as, " - ", i), show(v, true, err), o.one(fmt.Sprintf("select $1::jsonb - (%d)", i), as))
		case 7:
			c := r.IntN(2) == 0
			v, err := JSONSet(a, pd, b, c)
			check(fmt.Sprint("set ", as, pt, bs, c), show(v, true, err), o.one("select jsonb_set($1::jsonb,$2::text[],$3::jsonb,$4::bool)", as, pt, bs, bs2(c)))
		case 8:
			c := r.IntN(2) == 0
			v, err := JSONInsert(a, pd, b, c)
			check(fmt.Sprint("insert ", as, pt, bs, c), show(v, true, err), o.one("select jsonb_insert($1::jsonb,$2::text[],$3::jsonb,$4::bool)", as, pt, bs, bs2(c)))
		case 9:
			v, err := JSONDeletePath(a, pd)
			check(as+" #- "+pt, show(v, true, err), o.one("select $1::jsonb #- $2::text[]", as, pt))
		case 10:
			check("pretty "+as, string(a.AppendPretty(nil, 0)), o.one("select jsonb_pretty($1::jsonb)", as))
			check("strip "+as, JSONStripNulls(a).String(), o.one("select jsonb_strip_nulls($1::jsonb)", as))
		case 11:
			if len(path) > 0 {
				o.exec("create temp table if not exists jt(j jsonb); truncate jt")
				var sub string
				for _, p := range path {
					sub += "['" + p + "']"
				}
				v, err := JSONAssign(a, pd, b)
				o.one("insert into jt values($1::jsonb) returning 'ok'", as)
				if want := o.one("update jt set j"+sub+" = $1::jsonb returning j", bs); want != "" {
					check("assign "+as+pt+bs, show(v, true, err), want)
				}
			}
		}
	}
}
