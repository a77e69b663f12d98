package ddl

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// alterFunction is ALTER FUNCTION, PROCEDURE and ROUTINE with options.
func (r *run) alterFunction(n *pg.AlterFunctionStmt) (string, error) {
	tag := "ALTER " + strings.ToUpper(routineWord(n.Objtype))
	f, err := r.function(n.Objtype, n.Func)
	if err != nil {
		return tag, err
	}
	if err := r.mustOwnFunction(f); err != nil {
		return tag, err
	}
	if f.Kind == 'a' {
		return tag, pgerror.New(pgerror.WrongObjectType, "%q is an aggregate function", f.Name)
	}
	cp := *f
	cp.Config = append([]string(nil), f.Config...)
	for _, a := range n.Actions {
		d := a.GetDefElem()
		if f.Kind == 'p' && d.Defname != "security" && d.Defname != "set" {
			return tag, pgerror.New(pgerror.InvalidFunctionDefinition, "invalid attribute in procedure definition")
		}
		if err := r.functionOption(&cp, d); err != nil {
			return tag, err
		}
		if d.Defname == "rows" && !f.RetSet {
			return tag, pgerror.New(pgerror.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
		}
	}
	r.schema().PutFunction(&cp)
	return tag, nil
}

// functionLanguage checks a function's language and, of one in language internal,
// that there is what it names.
func (r *run) functionLanguage(f *catalog.Function) error {
	switch f.Language {
	case "sql", "plpgsql":
		return nil
	case "internal":
		if !r.isSuper() {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for language internal")
		}
		if sqltypes.ProcBySource(f.Body) == nil {
			return pgerror.New(pgerror.UndefinedFunction, "there is no built-in function named %q", f.Body)
		}
		return nil
	case "c":
		return pgerror.NotSupported("language %q", f.Language)
	}
	e := pgerror.New(pgerror.UndefinedObject, "language %q does not exist", f.Language)
	switch f.Language {
	case "plperl", "plperlu", "plpython3u", "pltcl", "pltclu":
		e = e.WithHint("Use CREATE EXTENSION to load the language into the database.")
	}
	return e
}
