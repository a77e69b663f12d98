package docstore

import (
	"slices"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// updateOperators compile one field of an operator into op.
var updateOperators map[string]func(u *Update, op *updateOp, arg JSON) error

func init() {
	updateOperators = map[string]func(u *Update, op *updateOp, arg JSON) error{
		"$set":         setOp,
		"$setOnInsert": func(u *Update, op *updateOp, arg JSON) error { op.onInsert = true; return setOp(u, op, arg) },
		"$unset": func(_ *Update, op *updateOp, _ JSON) error {
			op.f = func(JSON) (JSON, error) { return JSON{}, nil }
			return nil
		},
		"$inc":         arithmeticOp("$inc", sqltypes.NumericAdd, false),
		"$mul":         arithmeticOp("$mul", sqltypes.NumericMul, true),
		"$min":         extremeOp(-1),
		"$max":         extremeOp(1),
		"$rename":      renameOp,
		"$currentDate": currentDateOp,
		"$push":        pushOp,
		"$addToSet":    addToSetOp,
		"$pop":         popOp,
		"$pull":        pullOp,
		"$pullAll":     pullAllOp,
	}
}

func setOp(_ *Update, op *updateOp, arg JSON) error {
	op.create = true
	op.f = func(JSON) (JSON, error) { return arg, nil }
	return nil
}

func arithmeticOp(name string, calc func(a, b sqltypes.Datum) (sqltypes.Datum, error), zero bool) func(*Update, *updateOp, JSON) error {
	return func(_ *Update, op *updateOp, arg JSON) error {
		if arg.Kind() != sqltypes.JSONNumber {
			return invalid("cannot apply %s with a value of type %s (field %q)", name, kindName(arg), op.path.Text)
		}
		op.create = true
		op.f = func(old JSON) (JSON, error) {
			if old.IsZero() {
				if zero {
					return intJSON(0), nil
				}
				return arg, nil
			}
			if old.Kind() != sqltypes.JSONNumber {
				return JSON{}, invalid("cannot apply %s to a value of type %s (field %q)", name, kindName(old), op.path.Text)
			}
			d, err := calc(old.Number(), arg.Number())
			return sqltypes.JSONNumberOf(d), err
		}
		return nil
	}
}

// extremeOp keeps the smaller (-1) or the larger (1) of the two values.
func extremeOp(sign int) func(*Update, *updateOp, JSON) error {
	return func(_ *Update, op *updateOp, arg JSON) error {
		op.create = true
		op.f = func(old JSON) (JSON, error) {
			if old.IsZero() || Compare(arg, old)*sign > 0 {
				return arg, nil
			}
			return old, nil
		}
		return nil
	}
}

func renameOp(_ *Update, op *updateOp, arg JSON) error {
	if arg.Kind() != sqltypes.JSONString {
		return invalid("the new name of field %q must be a string", op.path.Text)
	}
	to, err := ParsePath(arg.Str())
	if err != nil {
		return err
	}
	if strings.Contains(op.path.Text, "$") || strings.Contains(to.Text, "$") {
		return invalid("$rename may not have a positional operator: %q, %q", op.path.Text, to.Text)
	}
	if to.Text == op.path.Text {
		return invalid("the old and the new name of $rename must differ: %q", to.Text)
	}
	op.rename = to
	return nil
}

func currentDateOp(u *Update, op *updateOp, arg JSON) error {
	switch {
	case arg.Kind() == sqltypes.JSONBool:
	case arg.Kind() == sqltypes.JSONObject:
		t, _ := arg.Lookup("$type")
		if arg.Len() != 1 || t.IsZero() || t.Kind() != sqltypes.JSONString || t.Str() != "date" {
			return pgerror.NotSupported("$currentDate of a type other than \"date\"")
		}
	default:
		return invalid("$currentDate needs true or {\"$type\": \"date\"}")
	}
	op.create = true
	op.f = func(JSON) (JSON, error) { return MakeDate(u.now), nil }
	return nil
}

// array is the array at the path of an array operator.
func (op *updateOp) array(name string, old JSON) ([]JSON, error) {
	if old.IsZero() {
		return nil, nil
	}
	if old.Kind() != sqltypes.JSONArray {
		return nil, invalid("%s needs an array, but field %q is of type %s", name, op.path.Text, kindName(old))
	}
	return old.Elems(), nil
}

// modifiers splits {"$each": […], …} from a plain value.
func modifiers(arg JSON) (each []JSON, mods JSON, err error) {
	e, ok := arg.Lookup("$each")
	if !ok {
		return []JSON{arg}, JSON{}, nil
	}
	if e.Kind() != sqltypes.JSONArray {
		return nil, JSON{}, invalid("$each needs an array")
	}
	return e.Elems(), arg, nil
}

func pushOp(_ *Update, op *updateOp, arg JSON) error {
	each, mods, err := modifiers(arg)
	if err != nil {
		return err
	}
	var position, slice *int64
	var order func(a, b JSON) int
	for _, m := range mods.Pairs() {
		switch m.Key {
		case "$each":
		case "$position", "$slice":
			n, err := wholeNumber(m.Key, m.Value)
			if err != nil {
				return err
			}
			if m.Key == "$slice" {
				slice = &n
			} else {
				position = &n
			}
		case "$sort":
			if m.Value.Kind() == sqltypes.JSONNumber {
				n, err := wholeNumber("$sort", m.Value)
				if err != nil {
					return err
				}
				order = func(a, b JSON) int { return Compare(a, b) * int(n) }
				if n != 1 && n != -1 {
					return invalid("$sort needs 1 or -1")
				}
				continue
			}
			s, err := CompileSort(m.Value)
			if err != nil {
				return err
			}
			if s == nil {
				return invalid("$sort needs fields")
			}
			order = s.Compare
		default:
			return pgerror.NotSupported("modifier %s of $push", m.Key)
		}
	}
	op.create = true
	op.f = func(old JSON) (JSON, error) {
		list, err := op.array("$push", old)
		if err != nil {
			return JSON{}, err
		}
		at := len(list)
		if position != nil {
			if at = int(min(*position, int64(len(list)))); at < 0 {
				at = max(0, len(list)+at)
			}
		}
		list = slices.Insert(list, at, each...)
		if order != nil {
			slices.SortStableFunc(list, order)
		}
		if slice != nil {
			switch n := int(min(max(*slice, -1<<31), 1<<31)); {
			case n >= 0 && n < len(list):
				list = list[:n]
			case n < 0 && -n < len(list):
				list = list[len(list)+n:]
			}
		}
		return sqltypes.JSONArrayOf(list), nil
	}
	return nil
}

func addToSetOp(_ *Update, op *updateOp, arg JSON) error {
	each, mods, err := modifiers(arg)
	if err != nil {
		return err
	}
	if !mods.IsZero() && mods.Len() > 1 {
		return pgerror.NotSupported("a modifier of $addToSet besides $each")
	}
	op.create = true
	op.f = func(old JSON) (JSON, error) {
		list, err := op.array("$addToSet", old)
		if err != nil {
			return JSON{}, err
		}
		for _, v := range each {
			if !slices.ContainsFunc(list, func(e JSON) bool { return Equal(e, v) }) {
				list = append(list, v)
			}
		}
		return sqltypes.JSONArrayOf(list), nil
	}
	return nil
}

func popOp(_ *Update, op *updateOp, arg JSON) error {
	n, err := wholeNumber("$pop", arg)
	if err != nil || n != 1 && n != -1 {
		return invalid("$pop needs 1 or -1 (field %q)", op.path.Text)
	}
	op.f = func(old JSON) (JSON, error) {
		list, err := op.array("$pop", old)
		if err != nil || len(list) == 0 {
			return old, err
		}
		if n > 0 {
			list = list[:len(list)-1]
		} else {
			list = list[1:]
		}
		return sqltypes.JSONArrayOf(list), nil
	}
	return nil
}

func pullOp(_ *Update, op *updateOp, arg JSON) error {
	var drop func(e JSON) bool
	switch {
	case operators(arg):
		c := filterCompiler{f: &Filter{}}
		list, err := c.field(&Path{}, arg)
		if err != nil {
			return err
		}
		cond := orTrue(conjunction(list))
		drop = cond.match
	case ClassOf(arg) == ClassObject:
		f, err := CompileFilter(arg)
		if err != nil {
			return err
		}
		if f.env != nil {
			return pgerror.NotSupported("$expr in $pull")
		}
		drop = func(e JSON) bool { return e.Kind() == sqltypes.JSONObject && orTrue(f.root).match(e) }
	default:
		drop = func(e JSON) bool { return Equal(e, arg) }
	}
	op.f = func(old JSON) (JSON, error) { return op.without("$pull", old, drop) }
	return nil
}

func pullAllOp(_ *Update, op *updateOp, arg JSON) error {
	if arg.Kind() != sqltypes.JSONArray {
		return invalid("$pullAll needs an array")
	}
	vals := arg.Elems()
	op.f = func(old JSON) (JSON, error) {
		return op.without("$pullAll", old, func(e JSON) bool {
			return slices.ContainsFunc(vals, func(v JSON) bool { return Equal(e, v) })
		})
	}
	return nil
}

func (op *updateOp) without(name string, old JSON, drop func(JSON) bool) (JSON, error) {
	list, err := op.array(name, old)
	if err != nil || old.IsZero() {
		return old, err
	}
	kept := slices.DeleteFunc(list, drop)
	if len(kept) == old.Len() {
		return old, nil
	}
	return sqltypes.JSONArrayOf(kept), nil
}
