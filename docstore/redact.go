package docstore

import (
	"ostraka/sqltypes"
)

// The values that the expression of $redact answers.
const (
	redactDescend = "descend"
	redactPrune   = "prune"
	redactKeep    = "keep"
)

// makeRedact is $redact: the expression decides about the document and, with
// $$DESCEND, about every object inside.
func makeRedact(arg JSON, _ int) (stage, error) {
	e, err := compileExpr(arg, []string{"DESCEND", "PRUNE", "KEEP"})
	if err != nil {
		return nil, err
	}
	var walk func(env *exprEnv, v JSON) (JSON, bool, error)
	walk = func(env *exprEnv, v JSON) (JSON, bool, error) {
		env.current = v
		verdict, err := e.eval(env)
		if err != nil {
			return JSON{}, false, err
		}
		word := ""
		if !verdict.IsZero() && verdict.Kind() == sqltypes.JSONString {
			word = verdict.Str()
		}
		switch word {
		case redactKeep:
			return v, true, nil
		case redactPrune:
			return JSON{}, false, nil
		case redactDescend:
		default:
			return JSON{}, false, invalid("$redact must be $$DESCEND, $$PRUNE or $$KEEP, not %s", shown(verdict))
		}
		var pairs []sqltypes.JSONPair
		for _, p := range v.Pairs() {
			switch {
			case ClassOf(p.Value) == ClassObject:
				sub, keep, err := walk(env, p.Value)
				if err != nil {
					return JSON{}, false, err
				}
				if !keep {
					continue
				}
				p.Value = sub
			case p.Value.Kind() == sqltypes.JSONArray:
				var list []JSON
				for _, el := range p.Value.Elems() {
					if ClassOf(el) == ClassObject {
						sub, keep, err := walk(env, el)
						if err != nil {
							return JSON{}, false, err
						}
						if !keep {
							continue
						}
						el = sub
					}
					list = append(list, el)
				}
				p.Value = sqltypes.JSONArrayOf(list)
			}
			pairs = append(pairs, p)
		}
		return sqltypes.JSONObjectOf(pairs), true, nil
	}
	return eachStage(func(env *exprEnv, doc JSON) (JSON, bool, error) {
		was := env.vars
		env.vars = map[string]JSON{"DESCEND": sqltypes.JSONStringOf(redactDescend), "PRUNE": sqltypes.JSONStringOf(redactPrune), "KEEP": sqltypes.JSONStringOf(redactKeep)}
		defer func() { env.vars = was }()
		return walk(env, doc)
	}), nil
}
