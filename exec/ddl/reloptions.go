package ddl

import (
	"math"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// relOption is one storage parameter of PostgreSQL: what may have it and which
// values it takes. Most say nothing to this storage; they are checked and kept.
type relOption struct {
	on       string // heap, toast, view and index methods
	kind     byte   // b bool, i integer, r real, e enumeration
	min, max float64
	values   []string // enumeration
	words    string   // the values as the error names them
}

var onOff = []string{"on", "off", "true", "false", "yes", "no", "1", "0", "auto"}

var relOptionTable = map[string]relOption{
	"autovacuum_enabled":                    {on: "heap toast", kind: 'b'},
	"vacuum_truncate":                       {on: "heap toast", kind: 'b'},
	"user_catalog_table":                    {on: "heap", kind: 'b'},
	"fastupdate":                            {on: "gin", kind: 'b'},
	"security_barrier":                      {on: "view", kind: 'b'},
	"security_invoker":                      {on: "view", kind: 'b'},
	"deduplicate_items":                     {on: "btree", kind: 'b'},
	"autosummarize":                         {on: "brin", kind: 'b'},
	"fillfactor":                            {on: "heap btree hash gist spgist", kind: 'i', min: 10, max: 100},
	"autovacuum_vacuum_threshold":           {on: "heap toast", kind: 'i', max: math.MaxInt32},
	"autovacuum_vacuum_insert_threshold":    {on: "heap toast", kind: 'i', min: -1, max: math.MaxInt32},
	"autovacuum_analyze_threshold":          {on: "heap", kind: 'i', max: math.MaxInt32},
	"autovacuum_vacuum_cost_limit":          {on: "heap toast", kind: 'i', min: 1, max: 10000},
	"autovacuum_freeze_min_age":             {on: "heap toast", kind: 'i', max: 1e9},
	"autovacuum_multixact_freeze_min_age":   {on: "heap toast", kind: 'i', max: 1e9},
	"autovacuum_freeze_max_age":             {on: "heap toast", kind: 'i', min: 100000, max: 2e9},
	"autovacuum_multixact_freeze_max_age":   {on: "heap toast", kind: 'i', min: 10000, max: 2e9},
	"autovacuum_freeze_table_age":           {on: "heap toast", kind: 'i', max: 2e9},
	"autovacuum_multixact_freeze_table_age": {on: "heap toast", kind: 'i', max: 2e9},
	"log_autovacuum_min_duration":           {on: "heap toast", kind: 'i', min: -1, max: math.MaxInt32},
	"toast_tuple_target":                    {on: "heap", kind: 'i', min: 128, max: 8160},
	"pages_per_range":                       {on: "brin", kind: 'i', min: 1, max: 131072},
	"gin_pending_list_limit":                {on: "gin", kind: 'i', min: 64, max: math.MaxInt32},
	"parallel_workers":                      {on: "heap", kind: 'i', max: 1024},
	"autovacuum_vacuum_cost_delay":          {on: "heap toast", kind: 'r', max: 100},
	"autovacuum_vacuum_scale_factor":        {on: "heap toast", kind: 'r', max: 100},
	"autovacuum_vacuum_insert_scale_factor": {on: "heap toast", kind: 'r', max: 100},
	"autovacuum_analyze_scale_factor":       {on: "heap", kind: 'r', max: 100},
	"vacuum_index_cleanup":                  {on: "heap toast", kind: 'e', values: onOff, words: `"on", "off", and "auto"`},
	"check_option":                          {on: "view", kind: 'e', values: []string{"local", "cascaded"}, words: `"local" and "cascaded"`},
	"buffering":                             {on: "gist", kind: 'e', values: []string{"on", "off", "auto"}, words: `"on", "off", and "auto"`},
}

// tableOptions turns WITH (…) of CREATE TABLE into reloptions; those of time series pass.
func tableOptions(list []*pg.Node) ([]string, error) {
	all, err := relOptions(list)
	if err != nil {
		return nil, err
	}
	if series, _ := splitSeriesOptions(all); series != nil {
		return all, nil
	}
	return checkedOptions("heap", list, false)
}

// checkedOptions turns WITH (…), SET (…) or RESET (…) into reloptions of a heap,
// view or index method (transformRelOptions, parseRelOptions). Options of the
// TOAST table are checked and dropped: there is none. Error: 22023, 42601.
func checkedOptions(on string, list []*pg.Node, reset bool) ([]string, error) {
	var out []string
	var seen []string
	for _, n := range list {
		d := n.GetDefElem()
		kind := on
		if ns := d.Defnamespace; ns != "" {
			if ns != "toast" || on != "heap" {
				return nil, invalidOption("unrecognized parameter namespace %q", ns)
			}
			kind = "toast"
		}
		if d.Defname == "oids" && on == "heap" && d.Defnamespace == "" && !reset {
			if defBool(d) {
				return nil, pgerror.New(pgerror.FeatureNotSupported, "tables declared WITH OIDS are not supported")
			}
			continue
		}
		if reset && d.Arg != nil {
			return nil, pgerror.New(pgerror.SyntaxError, "RESET must not include values for parameters")
		}
		opt, known := relOptionTable[d.Defname]
		if reset {
			if kind != "toast" {
				out = append(out, d.Defname+"=")
			}
			continue
		}
		if !known || !slices.Contains(strings.Fields(opt.on), kind) {
			return nil, invalidOption("unrecognized parameter %q", d.Defname)
		}
		if slices.Contains(seen, kind+"."+d.Defname) {
			return nil, invalidOption("parameter %q specified more than once", d.Defname)
		}
		seen = append(seen, kind+"."+d.Defname)
		if err := opt.check(d.Defname, defText(d)); err != nil {
			return nil, err
		}
		if kind != "toast" {
			out = append(out, d.Defname+"="+defText(d))
		}
	}
	return out, nil
}

func invalidOption(format string, args ...any) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, format, args...)
}

func (o relOption) check(name, value string) error {
	switch o.kind {
	case 'b':
		if _, ok := parseBool(value); !ok {
			return invalidOption("invalid value for boolean option %q: %s", name, value)
		}
	case 'i':
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return invalidOption("invalid value for integer option %q: %s", name, value)
		}
		if f = math.RoundToEven(f); f < o.min || f > o.max {
			return invalidOption("value %s out of bounds for option %q", value, name).
				WithDetail("Valid values are between \"%d\" and \"%d\".", int64(o.min), int64(o.max))
		}
	case 'r':
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return invalidOption("invalid value for floating point option %q: %s", name, value)
		}
		if f < o.min || f > o.max {
			return invalidOption("value %s out of bounds for option %q", value, name).
				WithDetail("Valid values are between \"%f\" and \"%f\".", o.min, o.max)
		}
	case 'e':
		if !slices.Contains(o.values, strings.ToLower(value)) {
			return invalidOption("invalid value for enum option %q: %s", name, value).WithDetail("Valid values are %s.", o.words)
		}
	}
	return nil
}

// parseBool is PostgreSQL's parse_bool: unique prefixes of true, false, yes, no, and on, off, 1, 0.
func parseBool(s string) (value, ok bool) {
	s = strings.ToLower(s)
	if s == "" {
		return false, false
	}
	switch {
	case strings.HasPrefix("true", s), strings.HasPrefix("yes", s), s == "on", s == "1":
		return true, true
	case strings.HasPrefix("false", s), strings.HasPrefix("no", s), s == "of", s == "off", s == "0":
		return false, true
	}
	return false, false
}

// optionKind is what a relation's options are checked as.
func optionKind(rel *catalog.Relation) string {
	if rel.Kind == catalog.KindView {
		return "view"
	}
	return "heap"
}

// changeOptions applies SET (…) or RESET (…) to reloptions.
func changeOptions(have []string, on string, cmd *pg.AlterTableCmd) ([]string, error) {
	reset := cmd.Subtype == pg.AlterTableType_AT_ResetRelOptions
	opts, err := checkedOptions(on, cmd.Def.GetList().GetItems(), reset)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(have)
	for _, o := range opts {
		name := o[:strings.IndexByte(o, '=')+1]
		out = slices.DeleteFunc(out, func(x string) bool { return strings.HasPrefix(x, name) })
	}
	if !reset {
		out = append(out, opts...)
	}
	return out, nil
}

// viewOptionsOf reads what a view's reloptions mean.
func viewOptionsOf(opts []string) (v catalog.ViewOptions) {
	for _, o := range opts {
		name, value, _ := strings.Cut(o, "=")
		on, _ := parseBool(value)
		switch name {
		case "check_option":
			v.CheckOption = strings.ToLower(value)[0]
		case "security_barrier":
			v.SecurityBarrier = on
		case "security_invoker":
			v.SecurityInvoker = on
		}
	}
	return v
}
