package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/jsonpath"
)

// pathCache is the parsed path of a call site.
type pathCache struct {
	source string
	path   *jsonpath.Path
}

func pathOf(c *Call, source string) (*jsonpath.Path, error) {
	if k, ok := c.Cache.(*pathCache); ok && k.source == source {
		return k.path, nil
	}
	p, err := jsonpath.Parse(source)
	if err != nil {
		return nil, err
	}
	c.Cache = &pathCache{source, p}
	return p, nil
}

// pathArgs are the arguments of the jsonb_path functions: target, path and,
// unless it is an operator, vars and silent.
type pathArgs struct {
	path         *jsonpath.Path
	target, vars sqltypes.JSON
	silent       bool
	zone         *jsonpath.Zone // of the functions with _tz
}

func readPathArgs(c *Call, args []Datum) (pathArgs, error) {
	p, err := pathOf(c, args[1].S)
	a := pathArgs{path: p, target: sqltypes.JSONOf(args[0]), silent: len(args) == 2}
	if len(args) > 2 {
		a.vars, a.silent = sqltypes.JSONOf(args[2]), args[3].Bool()
	}
	if strings.HasSuffix(c.Proc.Src, "_tz") {
		a.zone = &jsonpath.Zone{Location: c.Env.TimeZone, Now: c.Env.TxnTime}
	}
	return a, err
}

func pathExists(c *Call, args []Datum) (Datum, error) {
	a, err := readPathArgs(c, args)
	if err != nil {
		return null, err
	}
	ok, failed, err := a.path.Exists(callContext(c), a.target, a.vars, a.silent, a.zone)
	if err != nil || failed {
		return null, err
	}
	return boolean(ok)
}

func pathMatch(c *Call, args []Datum) (Datum, error) {
	a, err := readPathArgs(c, args)
	if err != nil {
		return null, err
	}
	return a.path.Match(callContext(c), a.target, a.vars, a.silent, a.zone)
}

func pathItems(c *Call, args []Datum) ([]sqltypes.JSON, error) {
	a, err := readPathArgs(c, args)
	if err != nil {
		return nil, err
	}
	items, _, err := a.path.Query(callContext(c), a.target, a.vars, a.silent, a.zone)
	return items, err
}

func pathQuery(c *Call, args []Datum) (sqltypes.RowSource, error) {
	items, err := pathItems(c, args)
	if err != nil {
		return nil, err
	}
	out := make([]Datum, len(items))
	for i, j := range items {
		out[i] = j.Datum()
	}
	return oneColumn(out)
}

func pathQueryArray(c *Call, args []Datum) (Datum, error) {
	items, err := pathItems(c, args)
	if err != nil {
		return null, err
	}
	return sqltypes.JSONArrayOf(items).Datum(), nil
}

func pathQueryFirst(c *Call, args []Datum) (Datum, error) {
	items, err := pathItems(c, args)
	if err != nil || len(items) == 0 {
		return null, err
	}
	return items[0].Datum(), nil
}

func init() {
	scalarTable{
		"jsonb_path_exists_opr": pathExists, "jsonb_path_match_opr": pathMatch,
	}.register()
	// The _tz variants differ only in comparisons of what .datetime() gives.
	for _, suffix := range []string{"", "_tz"} {
		scalarTable{
			"jsonb_path_exists" + suffix: pathExists, "jsonb_path_match" + suffix: pathMatch,
			"jsonb_path_query_array" + suffix: pathQueryArray, "jsonb_path_query_first" + suffix: pathQueryFirst,
		}.register()
		setTable{"jsonb_path_query" + suffix: pathQuery}.register()
	}
}
