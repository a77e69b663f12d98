package builtin

import (
	"strconv"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// jsonCategory says how to_json writes values of a type.
type jsonCategory uint8

const (
	jsonOther jsonCategory = iota
	jsonBool
	jsonNumeric
	jsonDate
	jsonTimestamp
	jsonTimestamptz
	jsonText  // json
	jsonBytes // jsonb
	jsonArray
	jsonComposite
)

func jsonCategoryOf(t *sqltypes.Type) jsonCategory {
	if t == nil {
		return jsonOther
	}
	for t.Base != nil {
		t = t.Base
	}
	switch t.OID {
	case sqltypes.OIDBool:
		return jsonBool
	case sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDFloat4, sqltypes.OIDFloat8, sqltypes.OIDNumeric:
		return jsonNumeric
	case sqltypes.OIDDate:
		return jsonDate
	case sqltypes.OIDTimestamp:
		return jsonTimestamp
	case sqltypes.OIDTimestamptz:
		return jsonTimestamptz
	case sqltypes.OIDJson:
		return jsonText
	case sqltypes.OIDJsonb:
		return jsonBytes
	case sqltypes.OIDRecord:
		return jsonComposite
	}
	switch {
	case t.IsArray:
		return jsonArray
	case t.TypType == 'c':
		return jsonComposite
	}
	return jsonOther
}

// jsonWriter writes values as json text.
type jsonWriter struct {
	c   *Call
	dst []byte
}

// isoFormats is a copy of the session's formats that writes dates as JSON does.
func (w *jsonWriter) isoFormats() *sqltypes.Env {
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	env.TimeZone = zoneOf(w.c)
	return env
}

// isoText is the ISO 8601 form of a date or timestamp, with a T and, for
// timestamptz, minutes in the zone.
func (w *jsonWriter) isoText(cat jsonCategory, t *sqltypes.Type, d Datum) string {
	s := string(t.Out(w.isoFormats(), nil, d))
	if cat == jsonDate || strings.HasSuffix(s, "infinity") {
		return s
	}
	bc := strings.HasSuffix(s, " BC")
	s = strings.TrimSuffix(s, " BC")
	s = strings.Replace(s, " ", "T", 1)
	if cat == jsonTimestamptz {
		sign := strings.LastIndexAny(s, "+-")
		if !strings.Contains(s[sign:], ":") {
			s += ":00"
		}
	}
	if bc {
		s += " BC"
	}
	return s
}

// value writes one value of a type.
func (w *jsonWriter) value(typ sqltypes.OID, d Datum, names []string, lines bool) error {
	if d.Null {
		w.dst = append(w.dst, "null"...)
		return nil
	}
	t := sqltypes.LookupType(w.c.Env, typ)
	cat := jsonCategoryOf(t)
	switch cat {
	case jsonBool:
		w.dst = strconv.AppendBool(w.dst, d.Bool())
	case jsonNumeric:
		s := string(t.Out(w.c.Env, nil, d))
		if strings.ContainsAny(s, "NnIi") { // NaN, Infinity
			w.dst = sqltypes.AppendJSONString(w.dst, s)
		} else {
			w.dst = append(w.dst, s...)
		}
	case jsonDate, jsonTimestamp, jsonTimestamptz:
		w.dst = sqltypes.AppendJSONString(w.dst, w.isoText(cat, t, d))
	case jsonText:
		w.dst = append(w.dst, d.S...)
	case jsonBytes:
		w.dst = sqltypes.JSONOf(d).AppendText(w.dst)
	case jsonArray:
		return w.array(d, lines)
	case jsonComposite:
		return w.record(t, d, names, lines)
	default:
		w.dst = sqltypes.AppendJSONString(w.dst, outText(w.c, typ, d))
	}
	if len(w.dst) > maxAlloc {
		return tooLarge()
	}
	return nil
}

func (w *jsonWriter) array(d Datum, lines bool) error {
	a := sqltypes.OpenArray(d)
	if a.Len() == 0 {
		w.dst = append(w.dst, "[]"...)
		return nil
	}
	elems := a.Elements()
	return w.dimension(a, 0, &elems, lines)
}

func (w *jsonWriter) dimension(a sqltypes.Array, dim int, elems *[]Datum, lines bool) error {
	w.dst = append(w.dst, '[')
	for i := range int(a.Dim(dim).Len) {
		if i > 0 {
			w.dst = append(w.dst, ',')
			if lines {
				w.dst = append(w.dst, "\n "...)
			}
		}
		if dim+1 < a.NDim() {
			if err := w.dimension(a, dim+1, elems, false); err != nil {
				return err
			}
			continue
		}
		if err := w.value(a.Elem, (*elems)[0], nil, false); err != nil {
			return err
		}
		*elems = (*elems)[1:]
	}
	w.dst = append(w.dst, ']')
	return nil
}

// fieldNames are the names of a record's fields: of its named type, as given, or f1, f2 ….
func fieldNames(t *sqltypes.Type, r sqltypes.Record, names []string) func(i int) string {
	return func(i int) string {
		switch {
		case t != nil && i < len(t.Fields):
			return t.Fields[i].Name
		case i < len(names):
			return names[i]
		}
		return "f" + strconv.Itoa(i+1)
	}
}

func (w *jsonWriter) record(t *sqltypes.Type, d Datum, names []string, lines bool) error {
	r := sqltypes.OpenRecord(d)
	name := fieldNames(t, r, names)
	w.dst = append(w.dst, '{')
	for i := range r.Len() {
		if i > 0 {
			w.dst = append(w.dst, ',')
			if lines {
				w.dst = append(w.dst, "\n "...)
			}
		}
		w.dst = append(sqltypes.AppendJSONString(w.dst, name(i)), ':')
		if err := w.value(r.TypeOID(i), r.At(i), nil, false); err != nil {
			return err
		}
	}
	w.dst = append(w.dst, '}')
	return nil
}

// key writes a value as an object key.
func (w *jsonWriter) key(typ sqltypes.OID, d Datum) error {
	s, err := jsonKey(w.c, typ, d)
	if err != nil {
		return err
	}
	w.dst = sqltypes.AppendJSONString(w.dst, s)
	return nil
}

// jsonKey is the text of a value that serves as a key.
func jsonKey(c *Call, typ sqltypes.OID, d Datum) (string, error) {
	t := sqltypes.LookupType(c.Env, typ)
	switch cat := jsonCategoryOf(t); cat {
	case jsonArray, jsonComposite, jsonText, jsonBytes:
		return "", pgerror.New(pgerror.InvalidParameterValue, "key value must be scalar, not array, composite, or json")
	case jsonBool:
		return strconv.FormatBool(d.Bool()), nil
	case jsonDate, jsonTimestamp, jsonTimestamptz:
		return (&jsonWriter{c: c}).isoText(cat, t, d), nil
	}
	return outText(c, typ, d), nil
}

// recordNames are the field names the planner gave for argument i.
func recordNames(c *Call, i int) []string {
	if i < len(c.RecordNames) {
		return c.RecordNames[i]
	}
	return nil
}

// toJSON makes to_json, array_to_json and row_to_json; a second argument asks for line feeds.
func toJSON(c *Call, args []Datum) (Datum, error) {
	w := jsonWriter{c: c}
	err := w.value(c.ArgTypes[0].OID, args[0], recordNames(c, 0), len(args) > 1 && args[1].Bool())
	return sqltypes.Bytes(w.dst), err
}

func init() {
	scalarTable{
		"to_json": toJSON, "array_to_json": toJSON, "array_to_json_pretty": toJSON,
		"row_to_json": toJSON, "row_to_json_pretty": toJSON,
	}.register()
}
