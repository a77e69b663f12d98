package ddl

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// dropKeyViews is called when a primary key is gone: views that group by it and
// select other columns of the table depend on it, which shows by their query no
// longer being valid. They are dropped with CASCADE, or the statement is refused.
func (b *builder) dropKeyViews(constraint string, cascade bool) error {
	var using []*catalog.Relation
	for _, v := range b.dependentViews(b.rel) {
		st, err := parse.One(v.ViewDef)
		if err != nil {
			return err
		}
		if _, _, err = bind.Bind(b.s.PlanContext(), st.AST); pgerror.Is(err, pgerror.GroupingError) {
			using = append(using, v)
		}
	}
	if len(using) == 0 {
		return nil
	}
	what := "constraint " + constraint + " on table " + b.visibleName(b.rel)
	if !cascade {
		var blockers []string
		for _, v := range using {
			blockers = append(blockers, kindWord(v.Kind)+" "+b.visibleName(v)+" depends on "+what)
		}
		return dependencyError(what, false, blockers)
	}
	d := &dropper{run: b.run, cascade: true, gone: map[sqltypes.OID]bool{}}
	for _, v := range using {
		d.gone[v.OID] = true
		d.also = append(d.also, kindWord(v.Kind)+" "+b.visibleName(v))
	}
	return d.dropAll(slices.Clone(using))
}
