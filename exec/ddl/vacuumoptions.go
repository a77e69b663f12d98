package ddl

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// vacuumOptions checks the options of VACUUM and ANALYZE (ExecVacuum) and reports
// whether statistics are collected.
func vacuumOptions(n *pg.VacuumStmt) (analyze bool, err error) {
	bad := func(format string, args ...any) (bool, error) {
		return false, pgerror.New(pgerror.SyntaxError, format, args...)
	}
	full, parallel, processToast := false, 0, true
	analyze = !n.IsVacuumcmd
	for _, o := range n.Options {
		d := o.GetDefElem()
		on, isBool := parseBool(defText(d))
		word := "ANALYZE"
		if n.IsVacuumcmd {
			word = "VACUUM"
		}
		switch {
		case d.Defname == "verbose", d.Defname == "skip_locked":
		case d.Defname == "buffer_usage_limit" || !n.IsVacuumcmd:
			return bad("unrecognized %s option %q", word, d.Defname)
		case d.Defname == "analyze":
			analyze = on
			continue
		case d.Defname == "full":
			full = on
		case d.Defname == "freeze", d.Defname == "disable_page_skipping", d.Defname == "truncate":
		case d.Defname == "process_toast":
			processToast = on
		case d.Defname == "index_cleanup":
			if d.Arg != nil && defText(d) == "auto" {
				continue
			}
		case d.Defname == "parallel":
			if d.Arg == nil {
				return bad("parallel option requires a value between 0 and %d", maxParallelVacuum)
			}
			v, err := strconv.Atoi(defText(d))
			if err != nil {
				return bad("%s requires an integer value", d.Defname)
			}
			if v < 0 || v > maxParallelVacuum {
				return bad("parallel workers for vacuum must be between 0 and %d", maxParallelVacuum)
			}
			parallel = v
			continue
		default:
			return bad("unrecognized %s option %q", word, d.Defname)
		}
		if !isBool {
			return bad("%s requires a Boolean value", d.Defname)
		}
	}
	switch {
	case full && parallel > 0:
		return false, pgerror.New(pgerror.FeatureNotSupported, "VACUUM FULL cannot be performed in parallel")
	case full && !processToast:
		return false, pgerror.New(pgerror.FeatureNotSupported, "PROCESS_TOAST required with VACUUM FULL")
	}
	if !analyze {
		for _, v := range n.Rels {
			if len(v.GetVacuumRelation().GetVaCols()) > 0 {
				return false, pgerror.New(pgerror.FeatureNotSupported, "ANALYZE option must be specified when a column list is provided")
			}
		}
	}
	return analyze, nil
}

const maxParallelVacuum = 1024 // MAX_PARALLEL_WORKER_LIMIT

// analyzeColumns checks the columns that ANALYZE t (a, b) names.
func analyzeColumns(rel *catalog.Relation, list []*pg.Node) error {
	var seen []string
	for _, name := range strs(list) {
		switch {
		case columnByName(rel, name) == nil:
			return noColumn(rel, name)
		case slices.Contains(seen, name):
			return pgerror.New(pgerror.DuplicateColumn, "column %q of relation %q appears more than once", name, rel.Name)
		}
		seen = append(seen, name)
	}
	return nil
}
