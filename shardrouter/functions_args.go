package shardrouter

import (
	"bytes"
	"encoding/json"
	"strings"

	"ostraka/docstore"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// arguments reads a call's arguments by parameter name. The first error stays.
type arguments struct {
	params []param
	args   []sqltypes.Datum
	call   *sqltypes.Call
	err    error
}

func (a *arguments) get(name string) sqltypes.Datum {
	for i := range a.params {
		if a.params[i].name == name {
			return a.args[i]
		}
	}
	a.fail(pgerror.New(pgerror.InternalError, "function has no parameter %q", name))
	return sqltypes.Null
}

func (a *arguments) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// json is a jsonb argument, the zero JSON when NULL.
func (a *arguments) json(name string) docstore.JSON {
	d := a.get(name)
	if d.Null {
		return docstore.JSON{}
	}
	return sqltypes.JSONOf(d)
}

// must is a jsonb argument that has to be given.
func (a *arguments) must(name string) docstore.JSON {
	j := a.json(name)
	if j.IsZero() {
		a.fail(pgerror.New(pgerror.NullValueNotAllowed, "%q must not be null", name))
	}
	return j
}

// ordered is a json argument, in which the order of members counts.
func (a *arguments) ordered(name string, all bool) docstore.JSON {
	d := a.get(name)
	if d.Null {
		return docstore.JSON{}
	}
	j, err := orderedJSON(d.S, all)
	if err != nil {
		a.fail(err)
	}
	return j
}

// number is a whole number, def when NULL.
func (a *arguments) number(name string, def int64) int64 {
	if d := a.get(name); !d.Null {
		return d.I
	}
	return def
}

// count is a number that may not be negative.
func (a *arguments) count(name string, def int64) int64 {
	n := a.number(name, def)
	if n < 0 && !a.get(name).Null {
		a.fail(pgerror.New(pgerror.InvalidParameterValue, "%q must not be negative", name))
	}
	return n
}

func (a *arguments) flag(name string) bool {
	d := a.get(name)
	return !d.Null && d.Bool()
}

func (a *arguments) text(name string) string {
	if d := a.get(name); !d.Null {
		return d.S
	}
	return ""
}

// orderedJSON reads JSON text. jsonb forgets the order of an object's members,
// which is what a sort is about: the value of a member $sort, and with all the
// whole text, becomes an array of [name, value] when it is an object.
func orderedJSON(text string, all bool) (docstore.JSON, error) {
	j, err := sqltypes.ParseJSONB(text)
	if err != nil || !all && !strings.Contains(text, "$sort") && !strings.Contains(text, "sortBy") || all && j.Kind() != sqltypes.JSONObject {
		return j, err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var out bytes.Buffer
	if err := reorder(dec, &out, all); err != nil {
		return j, pgerror.Wrap(err, pgerror.InvalidTextRepresentation, "invalid input syntax for type json")
	}
	return sqltypes.ParseJSONB(out.String())
}

// reorder copies one value; as pairs when asked to and it is an object.
func reorder(dec *json.Decoder, out *bytes.Buffer, pairs bool) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	d, ok := t.(json.Delim)
	if !ok {
		b, err := json.Marshal(t)
		out.Write(b)
		return err
	}
	open, shut := "[", "]"
	if d == '{' && !pairs {
		open, shut = "{", "}"
	}
	out.WriteString(open)
	for first := true; dec.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		if d == '[' {
			if err := reorder(dec, out, false); err != nil {
				return err
			}
			continue
		}
		k, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := k.(string)
		b, err := json.Marshal(name)
		if err != nil {
			return err
		}
		if pairs {
			out.WriteByte('[')
			out.Write(b)
			out.WriteByte(',')
		} else {
			out.Write(b)
			out.WriteByte(':')
		}
		if err := reorder(dec, out, name == "$sort" || name == "sortBy"); err != nil {
			return err
		}
		if pairs {
			out.WriteByte(']')
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	out.WriteString(shut)
	return nil
}
