package docstore

import (
	"slices"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// exprFunc computes an operator from its evaluated arguments; a zero JSON among
// them, or as the answer, is a missing value.
type exprFunc func(env *exprEnv, args []JSON) (JSON, error)

// exprOp is an operator with ordinary arguments.
type exprOp struct {
	min, max int // how many; max < 0: any number
	f        exprFunc
}

// exprOps are the operators with ordinary arguments, filled by the files of
// their families.
var exprOps = map[string]exprOp{}

// exprForms are the operators that evaluate their arguments themselves.
var exprForms map[string]func(arg JSON, vars []string) (expression, error)

const maxExprDepth = 100

// compileExpr reads an aggregation expression; vars are the variables it may
// use besides the built-in ones. Errors: 22023, and 0A000 for operators that are
// not known.
func compileExpr(j JSON, vars []string) (expression, error) {
	if len(vars) > maxExprDepth {
		return nil, pgerror.New(pgerror.StatementTooComplex, "expression is nested too deeply")
	}
	switch j.Kind() {
	case sqltypes.JSONString:
		s := j.Str()
		switch {
		case strings.HasPrefix(s, "$$"):
			return compileVar(s[2:], vars)
		case strings.HasPrefix(s, "$"):
			p, err := ParsePath(s[1:])
			if err != nil {
				return nil, err
			}
			return &fieldExpr{parts: p.parts}, nil
		}
	case sqltypes.JSONArray:
		list, err := compileList(j.Elems(), vars)
		if err != nil {
			return nil, err
		}
		return fold(arrayExpr(list)), nil
	case sqltypes.JSONObject:
		if ClassOf(j) == ClassDate || j.Len() == 0 {
			break
		}
		if strings.HasPrefix(j.Key(0), "$") {
			if j.Len() != 1 {
				return nil, invalid("an object of an expression has one operator: %s", shown(j))
			}
			return compileOp(j.Key(0), j.Value(0), vars)
		}
		o := &objectExpr{}
		for _, p := range j.Pairs() {
			if strings.HasPrefix(p.Key, "$") {
				return nil, invalid("an object of an expression has one operator: %s", shown(j))
			}
			e, err := compileExpr(p.Value, vars)
			if err != nil {
				return nil, err
			}
			o.keys, o.vals = append(o.keys, p.Key), append(o.vals, e)
		}
		return fold(o), nil
	}
	return constExpr{j}, nil
}

func compileList(list []JSON, vars []string) ([]expression, error) {
	out := make([]expression, len(list))
	for i, e := range list {
		var err error
		if out[i], err = compileExpr(e, vars); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func compileOp(name string, arg JSON, vars []string) (expression, error) {
	if form, ok := exprForms[name]; ok {
		return form(arg, vars)
	}
	op, ok := exprOps[name]
	if !ok {
		return nil, pgerror.NotSupported("expression operator %s", name)
	}
	list := []JSON{arg}
	if arg.Kind() == sqltypes.JSONArray {
		list = arg.Elems()
	}
	if len(list) < op.min || op.max >= 0 && len(list) > op.max {
		if op.min == op.max {
			return nil, invalid("expression %s takes exactly %d arguments, not %d", name, op.min, len(list))
		}
		return nil, invalid("expression %s does not take %d arguments", name, len(list))
	}
	args, err := compileList(list, vars)
	if err != nil {
		return nil, err
	}
	return &callExpr{name: name, f: op.f, args: args}, nil
}

func compileVar(s string, vars []string) (expression, error) {
	name, rest, dotted := strings.Cut(s, ".")
	v := &varExpr{name: name}
	if dotted {
		p, err := ParsePath(rest)
		if err != nil {
			return nil, err
		}
		v.parts = p.parts
	}
	switch name {
	case "ROOT", "CURRENT", "NOW", "REMOVE":
		return v, nil
	}
	if !slices.Contains(vars, name) {
		return nil, invalid("use of undefined variable: %s", name)
	}
	return v, nil
}

type (
	constExpr  struct{ v JSON }
	arrayExpr  []expression
	objectExpr struct {
		keys []string
		vals []expression
	}
	fieldExpr struct{ parts []string }
	varExpr   struct {
		name  string
		parts []string
	}
	callExpr struct {
		name string
		f    exprFunc
		args []expression
	}
)

// fold makes a constant of an array or object of constants.
func fold(e expression) expression {
	var parts []expression
	switch x := e.(type) {
	case arrayExpr:
		parts = x
	case *objectExpr:
		parts = x.vals
	}
	for _, p := range parts {
		if _, ok := p.(constExpr); !ok {
			return e
		}
	}
	v, err := e.eval(nil)
	if err != nil {
		return e
	}
	return constExpr{v}
}

func (e constExpr) eval(*exprEnv) (JSON, error) { return e.v, nil }

func (e arrayExpr) eval(env *exprEnv) (JSON, error) {
	out := make([]JSON, len(e))
	var size sizeLimit
	for i, x := range e {
		v, err := x.eval(env)
		if err != nil {
			return JSON{}, err
		}
		if err := size.add(v); err != nil {
			return JSON{}, err
		}
		out[i] = orNull(v)
	}
	return sqltypes.JSONArrayOf(out), nil
}

func orNull(v JSON) JSON {
	if v.IsZero() {
		return sqltypes.JSONNullValue
	}
	return v
}

func (e *objectExpr) eval(env *exprEnv) (JSON, error) {
	pairs := make([]sqltypes.JSONPair, 0, len(e.keys))
	var size sizeLimit
	for i, k := range e.keys {
		v, err := e.vals[i].eval(env)
		if err != nil {
			return JSON{}, err
		}
		if err := size.add(v); err != nil {
			return JSON{}, err
		}
		if !v.IsZero() {
			pairs = append(pairs, sqltypes.JSONPair{Key: k, Value: v})
		}
	}
	return sqltypes.JSONObjectOf(pairs), nil
}

func (e *fieldExpr) eval(env *exprEnv) (JSON, error) { return fieldOf(env.current, e.parts), nil }

// fieldOf follows a path as expressions do: of an array, the list of what its
// objects have there.
func fieldOf(v JSON, parts []string) JSON {
	for i, part := range parts {
		switch v.Kind() {
		case sqltypes.JSONObject:
			next, ok := v.Lookup(part)
			if !ok {
				return JSON{}
			}
			v = next
		case sqltypes.JSONArray:
			var out []JSON
			for k := range v.Len() {
				if x := fieldOf(v.Index(k), parts[i:]); !x.IsZero() {
					out = append(out, x)
				}
			}
			return sqltypes.JSONArrayOf(out)
		default:
			return JSON{}
		}
	}
	return v
}

func (e *varExpr) eval(env *exprEnv) (JSON, error) {
	var v JSON
	switch e.name {
	case "ROOT":
		v = env.root
	case "CURRENT":
		v = env.current
	case "NOW":
		v = MakeDate(env.now)
	case "REMOVE":
		return JSON{}, nil
	default:
		v = env.vars[e.name]
	}
	if len(e.parts) > 0 {
		v = fieldOf(v, e.parts)
	}
	return v, nil
}

func (e *callExpr) eval(env *exprEnv) (JSON, error) {
	var few [4]JSON
	args := few[:0]
	for _, a := range e.args {
		v, err := a.eval(env)
		if err != nil {
			return JSON{}, err
		}
		args = append(args, v)
	}
	v, err := e.f(env, args)
	if err == nil {
		v, err = built(v)
	}
	if err != nil {
		if pe, ok := err.(*pgerror.Error); ok && pe.Detail == "" {
			return JSON{}, pe.WithDetail("Evaluating %s.", e.name)
		}
	}
	return v, err
}

// isNull reports null or missing.
func isNull(v JSON) bool { return v.IsZero() || v.Kind() == sqltypes.JSONNull }

func anyNull(args []JSON) bool { return slices.ContainsFunc(args, isNull) }
