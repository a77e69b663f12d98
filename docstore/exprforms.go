package docstore

import (
	"maps"
	"math/rand/v2"
	"slices"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() {
	exprForms = map[string]func(arg JSON, vars []string) (expression, error){
		"$literal": func(arg JSON, _ []string) (expression, error) { return constExpr{arg}, nil },
		"$rand":    compileRand,
		"$cond":    compileCond,
		"$switch":  compileSwitch,
		"$ifNull":  compileIfNull,
		"$and":     func(arg JSON, vars []string) (expression, error) { return compileLogic(arg, vars, true) },
		"$or":      func(arg JSON, vars []string) (expression, error) { return compileLogic(arg, vars, false) },
		"$let":     compileLet,
		"$map":     compileMap,
		"$filter":  compileFilterExpr,
		"$reduce":  compileReduce,
		"$dateToString": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$dateToString", []string{"date", "format", "onNull"}, 1, dateToString)
		},
		"$dateFromString": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$dateFromString", []string{"dateString", "onError", "onNull"}, 1, dateFromString)
		},
		"$dateTrunc": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$dateTrunc", []string{"date", "unit", "binSize"}, 2, dateTrunc)
		},
		"$dateAdd": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$dateAdd", []string{"startDate", "unit", "amount"}, 3, dateAdd(1))
		},
		"$dateSubtract": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$dateSubtract", []string{"startDate", "unit", "amount"}, 3, dateAdd(-1))
		},
		"$dateDiff": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$dateDiff", []string{"startDate", "endDate", "unit"}, 3, dateDiff)
		},
		"$regexMatch": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$regexMatch", []string{"input", "regex", "options"}, 2, regexMatch)
		},
		"$regexFind": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$regexFind", []string{"input", "regex", "options"}, 2, regexFind)
		},
		"$replaceOne": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$replaceOne", []string{"input", "find", "replacement"}, 3, replaceText(1))
		},
		"$replaceAll": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$replaceAll", []string{"input", "find", "replacement"}, 3, replaceText(-1))
		},
		"$trim": func(arg JSON, vars []string) (expression, error) { return compileTrim(arg, vars, "$trim", true, true) },
		"$ltrim": func(arg JSON, vars []string) (expression, error) {
			return compileTrim(arg, vars, "$ltrim", true, false)
		},
		"$rtrim": func(arg JSON, vars []string) (expression, error) {
			return compileTrim(arg, vars, "$rtrim", false, true)
		},
		"$convert": func(arg JSON, vars []string) (expression, error) {
			return compileNamed(arg, vars, "$convert", []string{"input", "to", "onError", "onNull"}, 2, convert)
		},
		"$sortArray": func(arg JSON, vars []string) (expression, error) {
			by, _ := arg.Lookup("sortBy")
			input, ok := arg.Lookup("input")
			if !ok || by.IsZero() {
				return nil, invalid("$sortArray needs input and sortBy")
			}
			in, err := compileExpr(input, vars)
			if err != nil {
				return nil, err
			}
			f, err := sortArray(by)
			return &callExpr{name: "$sortArray", f: f, args: []expression{in}}, err
		},
		"$getField": func(arg JSON, vars []string) (expression, error) {
			if arg.Kind() == sqltypes.JSONString {
				arg = sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "field", Value: arg}, {Key: "input", Value: sqltypes.JSONStringOf("$$CURRENT")}})
			}
			return compileNamed(arg, vars, "$getField", []string{"input", "field"}, 2, func(_ *exprEnv, a []JSON) (JSON, error) {
				if a[1].IsZero() || a[1].Kind() != sqltypes.JSONString {
					return JSON{}, invalid("the field of $getField must be a string")
				}
				v, _ := a[0].Lookup(a[1].Str())
				return v, nil
			})
		},
	}
}

// compileNamed compiles an operator whose arguments have names; the first need
// of them must be given, others are missing values.
func compileNamed(arg JSON, vars []string, op string, names []string, need int, f exprFunc) (expression, error) {
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("%s needs an object of arguments", op)
	}
	for _, p := range arg.Pairs() {
		if !slices.Contains(names, p.Key) {
			return nil, pgerror.NotSupported("argument %q of %s", p.Key, op)
		}
	}
	c := &callExpr{name: op, f: f}
	for i, n := range names {
		v, ok := arg.Lookup(n)
		if !ok {
			if i < need {
				return nil, invalid("%s needs %s", op, n)
			}
			c.args = append(c.args, constExpr{})
			continue
		}
		e, err := compileExpr(v, vars)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, e)
	}
	return c, nil
}

type condExpr struct{ cond, then, other expression }

func (e *condExpr) eval(env *exprEnv) (JSON, error) {
	v, err := e.cond.eval(env)
	if err != nil {
		return JSON{}, err
	}
	if truthy(v) {
		return e.then.eval(env)
	}
	return e.other.eval(env)
}

func compileCond(arg JSON, vars []string) (expression, error) {
	var parts []JSON
	switch arg.Kind() {
	case sqltypes.JSONArray:
		parts = arg.Elems()
	case sqltypes.JSONObject:
		for _, n := range []string{"if", "then", "else"} {
			v, ok := arg.Lookup(n)
			if !ok {
				return nil, invalid("$cond needs %s", n)
			}
			parts = append(parts, v)
		}
	}
	if len(parts) != 3 || arg.Len() != 3 {
		return nil, invalid("$cond needs if, then and else")
	}
	list, err := compileList(parts, vars)
	if err != nil {
		return nil, err
	}
	return &condExpr{list[0], list[1], list[2]}, nil
}

// noDefault is a $switch without a branch that matches.
type noDefault struct{}

func (noDefault) eval(*exprEnv) (JSON, error) {
	return JSON{}, invalid("$switch could not find a matching branch, and no default was given")
}

func compileSwitch(arg JSON, vars []string) (expression, error) {
	branches, _ := arg.Lookup("branches")
	if branches.IsZero() || branches.Kind() != sqltypes.JSONArray || branches.Len() == 0 {
		return nil, invalid("$switch needs branches")
	}
	var out expression = noDefault{}
	if d, ok := arg.Lookup("default"); ok {
		e, err := compileExpr(d, vars)
		if err != nil {
			return nil, err
		}
		out = e
	}
	for i := branches.Len() - 1; i >= 0; i-- {
		when, ok1 := branches.Index(i).Lookup("case")
		then, ok2 := branches.Index(i).Lookup("then")
		if !ok1 || !ok2 {
			return nil, invalid("a branch of $switch needs case and then")
		}
		list, err := compileList([]JSON{when, then}, vars)
		if err != nil {
			return nil, err
		}
		out = &condExpr{list[0], list[1], out}
	}
	return out, nil
}

type ifNullExpr []expression

func (e ifNullExpr) eval(env *exprEnv) (JSON, error) {
	for _, x := range e[:len(e)-1] {
		v, err := x.eval(env)
		if err != nil || !isNull(v) {
			return v, err
		}
	}
	return e[len(e)-1].eval(env)
}

func compileIfNull(arg JSON, vars []string) (expression, error) {
	if arg.Kind() != sqltypes.JSONArray || arg.Len() < 2 {
		return nil, invalid("$ifNull needs at least two arguments")
	}
	list, err := compileList(arg.Elems(), vars)
	return ifNullExpr(list), err
}

type logicExpr struct {
	list []expression
	all  bool
}

func (e *logicExpr) eval(env *exprEnv) (JSON, error) {
	for _, x := range e.list {
		v, err := x.eval(env)
		if err != nil {
			return JSON{}, err
		}
		if truthy(v) != e.all {
			return sqltypes.JSONBoolOf(!e.all), nil
		}
	}
	return sqltypes.JSONBoolOf(e.all), nil
}

func compileLogic(arg JSON, vars []string, all bool) (expression, error) {
	list := []JSON{arg}
	if arg.Kind() == sqltypes.JSONArray {
		list = arg.Elems()
	}
	out, err := compileList(list, vars)
	return &logicExpr{out, all}, err
}

// with evaluates e with more variables.
func (env *exprEnv) with(e expression, names []string, vals ...JSON) (JSON, error) {
	was := env.vars
	env.vars = maps.Clone(was)
	if env.vars == nil {
		env.vars = map[string]JSON{}
	}
	for i, n := range names {
		env.vars[n] = vals[i]
	}
	v, err := e.eval(env)
	env.vars = was
	return v, err
}

type letExpr struct {
	names []string
	vals  []expression
	in    expression
}

func (e *letExpr) eval(env *exprEnv) (JSON, error) {
	vals := make([]JSON, len(e.vals))
	for i, x := range e.vals {
		var err error
		if vals[i], err = x.eval(env); err != nil {
			return JSON{}, err
		}
	}
	return env.with(e.in, e.names, vals...)
}

func compileLet(arg JSON, vars []string) (expression, error) {
	defs, _ := arg.Lookup("vars")
	in, ok := arg.Lookup("in")
	if !ok || defs.IsZero() || defs.Kind() != sqltypes.JSONObject {
		return nil, invalid("$let needs vars and in")
	}
	e := &letExpr{}
	for _, p := range defs.Pairs() {
		v, err := compileExpr(p.Value, vars)
		if err != nil {
			return nil, err
		}
		e.names, e.vals = append(e.names, p.Key), append(e.vals, v)
	}
	var err error
	e.in, err = compileExpr(in, append(slices.Clone(vars), e.names...))
	return e, err
}

// loopExpr is $map, $filter and $reduce: in is evaluated for each element.
type loopExpr struct {
	kind            string
	input, in, init expression
	name            string
	limit           expression // $filter
}

func (e *loopExpr) eval(env *exprEnv) (JSON, error) {
	list, err := e.input.eval(env)
	if err != nil {
		return JSON{}, err
	}
	if isNull(list) {
		return sqltypes.JSONNullValue, nil
	}
	if list.Kind() != sqltypes.JSONArray {
		return JSON{}, invalid("the input of %s must be an array, not %s", e.kind, kindName(list))
	}
	var acc JSON
	if e.init != nil {
		if acc, err = e.init.eval(env); err != nil {
			return JSON{}, err
		}
	}
	limit := int64(-1)
	if e.limit != nil {
		l, err := e.limit.eval(env)
		if err != nil {
			return JSON{}, err
		}
		if !isNull(l) {
			if limit, err = wholeNumber("the limit of $filter", l); err != nil {
				return JSON{}, err
			}
		}
	}
	var out []JSON
	var size sizeLimit
	for i := range list.Len() {
		if err := env.canceled(); err != nil {
			return JSON{}, err
		}
		el := list.Index(i)
		var v JSON
		if e.kind == "$reduce" {
			v, err = env.with(e.in, []string{"this", "value"}, el, acc)
		} else {
			v, err = env.with(e.in, []string{e.name}, el)
		}
		if err != nil {
			return JSON{}, err
		}
		switch e.kind {
		case "$reduce":
			acc = v
		case "$map":
			if err := size.add(v); err != nil {
				return JSON{}, err
			}
			out = append(out, orNull(v))
		default:
			if truthy(v) {
				if limit >= 0 && int64(len(out)) >= limit {
					break
				}
				out = append(out, el)
			}
		}
	}
	if e.kind == "$reduce" {
		return acc, nil
	}
	return sqltypes.JSONArrayOf(out), nil
}

func compileLoop(arg JSON, vars []string, kind, body string) (*loopExpr, error) {
	input, ok1 := arg.Lookup("input")
	in, ok2 := arg.Lookup(body)
	if !ok1 || !ok2 {
		return nil, invalid("%s needs input and %s", kind, body)
	}
	e := &loopExpr{kind: kind, name: "this"}
	if as, ok := arg.Lookup("as"); ok && as.Kind() == sqltypes.JSONString {
		e.name = as.Str()
	}
	var err error
	if e.input, err = compileExpr(input, vars); err != nil {
		return nil, err
	}
	e.in, err = compileExpr(in, append(slices.Clone(vars), e.name, "value"))
	return e, err
}

func compileMap(arg JSON, vars []string) (expression, error) {
	return compileLoop(arg, vars, "$map", "in")
}

func compileFilterExpr(arg JSON, vars []string) (expression, error) {
	e, err := compileLoop(arg, vars, "$filter", "cond")
	if err != nil {
		return nil, err
	}
	if l, ok := arg.Lookup("limit"); ok {
		e.limit, err = compileExpr(l, vars)
	}
	return e, err
}

func compileReduce(arg JSON, vars []string) (expression, error) {
	e, err := compileLoop(arg, vars, "$reduce", "in")
	if err != nil {
		return nil, err
	}
	init, ok := arg.Lookup("initialValue")
	if !ok {
		return nil, invalid("$reduce needs initialValue")
	}
	e.init, err = compileExpr(init, vars)
	return e, err
}

// randExpr is $rand: a number from 0 up to, but not including, 1.
type randExpr struct{}

func (randExpr) eval(*exprEnv) (JSON, error) {
	d, err := sqltypes.NumericFromFloat(rand.Float64(), 64)
	return sqltypes.JSONNumberOf(d), err
}

func compileRand(arg JSON, _ []string) (expression, error) {
	if arg.Kind() != sqltypes.JSONObject || arg.Len() != 0 {
		return nil, invalid("$rand takes no arguments")
	}
	return randExpr{}, nil
}
