package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// jsonAgg is json_agg: structured values stand on lines of their own.
type jsonAgg struct{ dst []byte }

func (s *jsonAgg) Step(c *Call, args []Datum) error {
	w := jsonWriter{c: c, dst: s.dst}
	if w.dst == nil {
		w.dst = append(w.dst, '[')
	} else {
		w.dst = append(w.dst, ", "...)
		if cat := jsonCategoryOf(sqltypes.LookupType(c.Env, c.ArgTypes[0].OID)); !args[0].Null && (cat == jsonArray || cat == jsonComposite) {
			w.dst = append(w.dst, "\n "...)
		}
	}
	err := w.value(c.ArgTypes[0].OID, args[0], recordNames(c, 0), false)
	s.dst = w.dst
	return err
}

func (s *jsonAgg) Final(*Call, []Datum) (Datum, error) {
	if s.dst == nil {
		return isNull()
	}
	return text(string(s.dst) + "]")
}

// jsonObjectAgg is json_object_agg.
type jsonObjectAgg struct{ dst []byte }

func fieldNameNull() *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, "field name must not be null")
}

func (s *jsonObjectAgg) Step(c *Call, args []Datum) error {
	w := jsonWriter{c: c, dst: s.dst}
	if w.dst == nil {
		w.dst = append(w.dst, "{ "...)
	} else {
		w.dst = append(w.dst, ", "...)
	}
	if args[0].Null {
		return fieldNameNull()
	}
	if err := w.key(c.ArgTypes[0].OID, args[0]); err != nil {
		return err
	}
	w.dst = append(w.dst, " : "...)
	err := w.value(c.ArgTypes[1].OID, args[1], recordNames(c, 1), false)
	s.dst = w.dst
	return err
}

func (s *jsonObjectAgg) Final(*Call, []Datum) (Datum, error) {
	if s.dst == nil {
		return isNull()
	}
	return text(string(s.dst) + " }")
}

// jsonbAgg is jsonb_agg.
type jsonbAgg struct {
	elems []sqltypes.JSON
	some  bool
}

func (s *jsonbAgg) Step(c *Call, args []Datum) error {
	s.some = true
	j, err := jsonbOf(c, c.ArgTypes[0].OID, args[0], recordNames(c, 0))
	s.elems = append(s.elems, j)
	return err
}

func (s *jsonbAgg) Final(*Call, []Datum) (Datum, error) {
	if !s.some {
		return isNull()
	}
	return sqltypes.JSONArrayOf(s.elems).Datum(), nil
}

// jsonbObjectAgg is jsonb_object_agg.
type jsonbObjectAgg struct {
	pairs []sqltypes.JSONPair
	some  bool
}

func (s *jsonbObjectAgg) Step(c *Call, args []Datum) error {
	s.some = true
	if args[0].Null {
		return fieldNameNull()
	}
	key, err := jsonKey(c, c.ArgTypes[0].OID, args[0])
	if err != nil {
		return err
	}
	j, err := jsonbOf(c, c.ArgTypes[1].OID, args[1], recordNames(c, 1))
	s.pairs = append(s.pairs, sqltypes.JSONPair{Key: key, Value: j})
	return err
}

func (s *jsonbObjectAgg) Final(*Call, []Datum) (Datum, error) {
	if !s.some {
		return isNull()
	}
	return sqltypes.JSONObjectOf(s.pairs).Datum(), nil
}

func init() {
	aggTable{
		"json_agg(anyelement)":      func(*Call) AggState { return &jsonAgg{} },
		"json_object_agg(any,any)":  func(*Call) AggState { return &jsonObjectAgg{} },
		"jsonb_agg(anyelement)":     func(*Call) AggState { return &jsonbAgg{} },
		"jsonb_object_agg(any,any)": func(*Call) AggState { return &jsonbObjectAgg{} },
	}.register()
}
