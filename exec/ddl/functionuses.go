package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
)

// expressionUse is a default, a generation expression or a CHECK constraint that calls a function.
type expressionUse struct {
	rel   sqltypes.OID
	col   int16  // of a default or generation expression
	check string // name of the constraint
	// generated columns go as a whole.
	generated bool
	word      string // for messages
}

// expressionUses lists what of tables calls a function. Only expressions whose text has
// the function's name are looked at closely.
func (r *run) expressionUses(f *catalog.Function) (uses []expressionUse) {
	pc := r.s.PlanContext()
	calls := func(e expr.Expr, err error) bool {
		found := false
		if err == nil {
			expr.Walk(e, func(x expr.Expr) bool {
				if c, ok := x.(*expr.Call); ok && c.Proc.OID == f.OID {
					found = true
				}
				return !found
			})
		}
		return found
	}
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		for _, c := range rel.Columns {
			if !c.HasDefault || c.Dropped || !strings.Contains(c.Default, f.Name) || !calls(bind.DefaultExpr(pc, rel, c)) {
				continue
			}
			u := expressionUse{rel: rel.OID, col: c.Num, generated: c.Generated != 0}
			u.word = "column " + quoteIdent(c.Name) + " of table " + r.visibleName(rel)
			if !u.generated {
				u.word = "default value for " + u.word
			}
			uses = append(uses, u)
		}
		for _, c := range rel.Checks {
			if strings.Contains(c.Expr, f.Name) && calls(bind.CheckExpr(pc, rel, c.Expr)) {
				uses = append(uses, expressionUse{rel: rel.OID, check: c.Name, word: "constraint " + quoteIdent(c.Name) + " on table " + r.visibleName(rel)})
			}
		}
		return true
	})
	slices.SortStableFunc(uses, func(a, b expressionUse) int { return int(a.rel) - int(b.rel) })
	return uses
}

// dropExpressions removes them.
func (r *run) dropExpressions(uses []expressionUse) error {
	for _, u := range uses {
		rel := r.catalog().Relation(u.rel)
		if rel == nil {
			continue
		}
		if u.generated {
			drop := &pg.AlterTableCmd{Subtype: pg.AlterTableType_AT_DropColumn, Name: rel.Columns[u.col-1].Name, Behavior: pg.DropBehavior_DROP_CASCADE}
			schema := r.catalog().Schema(rel.Schema)
			if schema == nil {
				continue
			}
			err := r.alterTable(&pg.AlterTableStmt{Relation: &pg.RangeVar{Schemaname: schema.Name, Relname: rel.Name, Inh: true}, Objtype: pg.ObjectType_OBJECT_TABLE,
				Cmds: []*pg.Node{{Node: &pg.Node_AlterTableCmd{AlterTableCmd: drop}}}})
			if err != nil {
				return err
			}
			continue
		}
		cp := copyRelation(rel)
		if u.check != "" {
			cp.Checks = slices.DeleteFunc(cp.Checks, func(c *catalog.Check) bool { return c.Name == u.check })
		} else {
			cp.Columns[u.col-1].HasDefault, cp.Columns[u.col-1].Default = false, ""
		}
		r.schema().PutRelation(cp)
	}
	return nil
}
