package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// routineWord is what errors call what a statement asks for.
func routineWord(kind pg.ObjectType) string {
	switch kind {
	case pg.ObjectType_OBJECT_PROCEDURE:
		return "procedure"
	case pg.ObjectType_OBJECT_AGGREGATE:
		return "aggregate"
	case pg.ObjectType_OBJECT_ROUTINE:
		return "routine"
	}
	return "function"
}

// fitsKind reports whether a function is what DROP, ALTER … of that kind may mean.
func fitsKind(kind pg.ObjectType, f *catalog.Function) bool {
	switch kind {
	case pg.ObjectType_OBJECT_FUNCTION:
		return f.Kind != 'p'
	case pg.ObjectType_OBJECT_PROCEDURE:
		return f.Kind == 'p'
	case pg.ObjectType_OBJECT_AGGREGATE:
		return f.Kind == 'a'
	}
	return true
}

// function resolves name(argtypes) to a user's routine of the kind (LookupFuncWithArgs).
func (r *run) function(kind pg.ObjectType, n *pg.ObjectWithArgs) (*catalog.Function, error) {
	schemaName, name, err := split(strs(n.Objname))
	if err != nil {
		return nil, err
	}
	schemas, err := r.searchSchemas(schemaName)
	if err != nil {
		return nil, err
	}
	var want []sqltypes.OID
	var words []string
	for _, a := range n.Objargs {
		t, err := bind.BindTypeName(r.s.PlanContext(), a.GetTypeName())
		if err != nil {
			return nil, err
		}
		want = append(want, t.OID)
		words = append(words, r.typeName(t.OID))
	}
	word := routineWord(kind)
	shown := strings.Join(strs(n.Objname), ".")
	if n.ArgsUnspecified {
		return r.functionByName(kind, schemas, name, shown)
	}
	var found *catalog.Function
	for _, s := range schemas {
		for _, f := range r.catalog().FunctionsByName(s, name) {
			if found == nil && (slices.Equal(inputTypes(f), want) || f.Kind == 'p' && slices.Equal(allTypes(f), want)) {
				found = f
			}
		}
	}
	args := strings.Join(words, ", ")
	switch {
	case found == nil && kind == pg.ObjectType_OBJECT_AGGREGATE && len(want) == 0:
		return nil, pgerror.New(pgerror.UndefinedFunction, "aggregate %s(*) does not exist", shown)
	case found == nil:
		if kind == pg.ObjectType_OBJECT_ROUTINE {
			word = "routine"
		}
		return nil, pgerror.New(pgerror.UndefinedFunction, "%s %s(%s) does not exist", word, shown, args)
	case fitsKind(kind, found):
		return found, nil
	case kind == pg.ObjectType_OBJECT_AGGREGATE:
		return nil, pgerror.New(pgerror.WrongObjectType, "function %s(%s) is not an aggregate", shown, args)
	}
	return nil, pgerror.New(pgerror.WrongObjectType, "%s(%s) is not a %s", shown, args, word)
}

// functionByName finds the only routine of a name.
func (r *run) functionByName(kind pg.ObjectType, schemas []sqltypes.OID, name, shown string) (*catalog.Function, error) {
	var found []*catalog.Function
	for _, s := range schemas {
		for _, f := range r.catalog().FunctionsByName(s, name) {
			if fitsKind(kind, f) {
				found = append(found, f)
			}
		}
	}
	word := routineWord(kind)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		article := "a"
		if word == "aggregate" {
			article = "an"
		}
		return nil, pgerror.New(pgerror.UndefinedFunction, "could not find %s %s named %q", article, word, shown)
	}
	return nil, pgerror.New(pgerror.AmbiguousFunction, "%s name %q is not unique", word, shown).
		WithHint("Specify the argument list to select the %s unambiguously.", word)
}

// allTypes are the types of all parameters but TABLE's columns.
func allTypes(f *catalog.Function) []sqltypes.OID {
	var out []sqltypes.OID
	for i, t := range f.ArgTypes {
		if f.ArgModes[i] != 't' {
			out = append(out, t.OID)
		}
	}
	return out
}

// typeName is a type's name for messages.
func (r *run) typeName(oid sqltypes.OID) string {
	if t := r.catalog().Type(oid); t != nil {
		return bind.TypeName(r.s.PlanContext(), oid)
	}
	return sqltypes.FormatType(oid, -1)
}

func (r *run) mustOwnFunction(f *catalog.Function) error {
	if r.hasRole(f.Owner) {
		return nil
	}
	word := map[byte]string{'p': "procedure", 'a': "aggregate"}[f.Kind]
	if word == "" {
		word = "function"
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of %s %s", word, f.Name)
}

// dropFunction drops a function; the aggregates, operators and casts made with it go
// with CASCADE or refuse.
func (r *run) dropFunction(f *catalog.Function, cascade bool) error {
	var aggs []*catalog.Function
	var words []string
	r.catalog().AllFunctions(func(a *catalog.Function) bool {
		if a.Agg != nil && (a.Agg.Trans == f.OID || a.Agg.Final == f.OID || a.Agg.Combine == f.OID) {
			aggs = append(aggs, a)
			words = append(words, "function "+r.signature(a))
		}
		return true
	})
	var opers []*catalog.Operator
	r.catalog().AllOperators(func(o *catalog.Operator) bool {
		if o.Proc == f.OID || o.Restrict == f.OID || o.Join == f.OID {
			opers = append(opers, o)
			words = append(words, "operator "+r.operatorText(o))
		}
		return true
	})
	var casts []*catalog.Cast
	r.catalog().AllCasts(func(c *catalog.Cast) bool {
		if c.Func == f.OID {
			casts = append(casts, c)
			words = append(words, "cast from "+r.typeName(c.Source)+" to "+r.typeName(c.Target))
		}
		return true
	})
	var uses []*catalog.Relation
	r.functionTriggers(f.OID, func(rel *catalog.Relation, t *catalog.Trigger) {
		if !slices.Contains(uses, rel) {
			uses = append(uses, rel)
		}
		words = append(words, "trigger "+t.Name+" on table "+r.visibleName(rel))
	})
	exprs := r.expressionUses(f)
	for _, u := range exprs {
		words = append(words, u.word)
	}
	if len(words) > 0 && !cascade {
		var blockers []string
		for _, w := range words {
			blockers = append(blockers, w+" depends on function "+r.signature(f))
		}
		return dependencyError("function "+r.signature(f), false, blockers)
	}
	(&dropper{run: r, also: words}).noticeCascade()
	if err := r.dropExpressions(exprs); err != nil {
		return err
	}
	for _, rel := range uses {
		if now := r.catalog().Relation(rel.OID); now != nil {
			rel = now
		}
		cp := copyRelation(rel)
		cp.Triggers = slices.DeleteFunc(cp.Triggers, func(t *catalog.Trigger) bool { return t.Func == f.OID })
		r.schema().PutRelation(cp)
	}
	for _, o := range opers {
		r.removeOperator(o)
	}
	for _, c := range casts {
		r.schema().DropCast(c.OID)
	}
	for _, a := range aggs {
		if err := r.dropFunction(a, true); err != nil {
			return err
		}
	}
	r.schema().DropFunction(f.OID)
	return nil
}

// signature is name(types) for messages.
func (r *run) signature(f *catalog.Function) string {
	var words []string
	for _, t := range inputTypes(f) {
		words = append(words, r.typeName(t))
	}
	return f.Name + "(" + strings.Join(words, ",") + ")"
}
