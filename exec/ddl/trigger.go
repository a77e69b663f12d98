package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/exec"
	"ostraka/planner/parse"
	"ostraka/plpgsql"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Bits of CreateTrigStmt.Timing and Events (pg_trigger.tgtype).
const (
	triggerBefore   = 1 << 1
	triggerInsert   = 1 << 2
	triggerDelete   = 1 << 3
	triggerUpdate   = 1 << 4
	triggerTruncate = 1 << 5
	triggerInstead  = 1 << 6
)

// createTrigger is CREATE [CONSTRAINT] TRIGGER.
func (r *run) createTrigger(n *pg.CreateTrigStmt) error {
	rel, err := r.relation(n.Relation, engine.ShareRowExclusive, "", "table")
	if err != nil {
		return err
	}
	t := &catalog.Trigger{Name: truncateIdent(n.Trigname), Row: n.Row, Timing: 'a', Enabled: 'O', Constraint: n.Isconstraint,
		Deferrable: n.Deferrable, Deferred: n.Initdeferred, Insert: n.Events&triggerInsert != 0, Update: n.Events&triggerUpdate != 0,
		Delete: n.Events&triggerDelete != 0, Truncate: n.Events&triggerTruncate != 0}
	switch {
	case n.Timing&triggerBefore != 0:
		t.Timing = 'b'
	case n.Timing&triggerInstead != 0:
		t.Timing = 'i'
	}
	for _, x := range n.TransitionRels { // as far as triggerFits asks
		if tr := x.GetTriggerTransition(); tr.IsNew {
			t.NewTable = tr.Name
		} else {
			t.OldTable = tr.Name
		}
	}
	if err := r.triggerFits(rel, t); err != nil {
		return err
	}
	t.NewTable, t.OldTable = "", ""
	if !r.hasRole(rel.Owner) && !slices.ContainsFunc(rel.ACL, func(a catalog.ACLItem) bool {
		return (a.Grantee == 0 || r.hasRole(a.Grantee)) && slices.Contains([]byte(a.Privs), 't')
	}) {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for table %s", rel.Name)
	}
	if n.Constrrel != nil {
		from, err := r.relation(n.Constrrel, engine.AccessShare, "", "table")
		if err != nil {
			return err
		}
		t.From = from.OID
	}
	if t.Func, err = r.triggerFunction(strs(n.Funcname)); err != nil {
		return err
	}
	for _, a := range n.Args {
		t.Args = append(t.Args, a.GetString_().GetSval())
	}
	for _, c := range n.Columns {
		name := c.GetString_().GetSval()
		col := columnByName(rel, name)
		if col == nil {
			return noColumn(rel, name)
		}
		if slices.Contains(t.Columns, col.Num) {
			return pgerror.New(pgerror.DuplicateColumn, "column %q specified more than once", name)
		}
		t.Columns = append(t.Columns, col.Num)
	}
	if err := transitionTables(n, t, rel); err != nil {
		return err
	}
	if n.WhenClause != nil {
		if err := r.triggerWhen(n.WhenClause, t, rel); err != nil {
			return err
		}
	}
	cp := copyRelation(rel)
	at := slices.IndexFunc(cp.Triggers, func(o *catalog.Trigger) bool { return o.Name == t.Name })
	if at >= 0 {
		old := cp.Triggers[at]
		switch {
		case !n.Replace:
			return pgerror.New(pgerror.DuplicateObject, "trigger %q for relation %q already exists", t.Name, rel.Name)
		case old.Constraint:
			return pgerror.New(pgerror.DuplicateObject, "trigger %q for relation %q is a constraint trigger", t.Name, rel.Name)
		}
		if old.Parent != 0 {
			return pgerror.New(pgerror.DuplicateObject, "trigger %q for relation %q is an internal or a child trigger", t.Name, rel.Name)
		}
		t.OID, t.Comment = old.OID, old.Comment
		cp.Triggers = slices.Delete(cp.Triggers, at, at+1)
	}
	if t.OID == 0 {
		if t.OID, err = r.newOID(); err != nil {
			return err
		}
	}
	cp.Triggers = append(cp.Triggers, t)
	slices.SortFunc(cp.Triggers, func(a, b *catalog.Trigger) int { return strings.Compare(a.Name, b.Name) })
	r.schema().PutRelation(cp)
	if rel.Partitioning == nil || !t.Row {
		return nil
	}
	r.dropClones(rel.OID, map[sqltypes.OID]bool{t.OID: true}) // of the one that is replaced
	for _, c := range r.catalog().Children(rel.OID) {
		if err := r.cloneTrigger(rel.OID, c.OID, t); err != nil {
			return err
		}
	}
	return nil
}

// triggerFits tests that the table can have such a trigger.
func (r *run) triggerFits(rel *catalog.Relation, t *catalog.Trigger) error {
	refuse := func(detail string) error {
		return pgerror.New(pgerror.WrongObjectType, "%q is %s", rel.Name, article(kindWord(rel.Kind))).WithDetail("%s", detail)
	}
	switch rel.Kind {
	case catalog.KindTable, catalog.KindPartitioned:
		if t.Row && (t.OldTable != "" || t.NewTable != "") {
			switch {
			case rel.Partitioning != nil:
				return pgerror.New(pgerror.WrongObjectType, "%q is a partitioned table", rel.Name).
					WithDetail("ROW triggers with transition tables are not supported on partitioned tables.")
			case rel.Bound != nil:
				return pgerror.New(pgerror.FeatureNotSupported, "ROW triggers with transition tables are not supported on partitions")
			case len(rel.Parents) > 0:
				return pgerror.New(pgerror.FeatureNotSupported, "ROW triggers with transition tables are not supported on inheritance children")
			}
		}
		if t.Timing == 'i' {
			return refuse("Tables cannot have INSTEAD OF triggers.")
		}
	case catalog.KindView:
		if t.Timing != 'i' && t.Row {
			return refuse("Views cannot have row-level BEFORE or AFTER triggers.")
		}
		if t.Truncate {
			return refuse("Views cannot have TRUNCATE triggers.")
		}
		return pgerror.NotSupported("triggers on views")
	default:
		return pgerror.New(pgerror.WrongObjectType, "relation %q cannot have triggers", rel.Name)
	}
	if rel.TimeSeries {
		return pgerror.NotSupported("triggers on time-series tables")
	}
	if t.Truncate && t.Row {
		return pgerror.New(pgerror.FeatureNotSupported, "TRUNCATE FOR EACH ROW triggers are not supported")
	}
	return nil
}

// triggerFunction finds the function without arguments that a trigger executes.
func (r *run) triggerFunction(names []string) (sqltypes.OID, error) {
	schema, name, err := split(names)
	if err != nil {
		return 0, err
	}
	schemas, err := r.searchSchemas(schema)
	if err != nil {
		return 0, err
	}
	for _, s := range schemas {
		for _, f := range r.catalog().FunctionsByName(s, name) {
			if len(inputTypes(f)) > 0 {
				continue
			}
			if f.RetType != sqltypes.OIDTrigger {
				return 0, pgerror.New(pgerror.InvalidObjectDefinition, "function %s must return type %s", strings.Join(names, "."), "trigger")
			}
			return f.OID, nil
		}
	}
	if len(sqltypes.ProcsByName(name)) > 0 {
		for _, p := range sqltypes.ProcsByName(name) {
			if p.RetType == sqltypes.OIDTrigger {
				return 0, pgerror.NotSupported("trigger function %s", name)
			}
		}
	}
	return 0, pgerror.New(pgerror.UndefinedFunction, "function %s() does not exist", strings.Join(names, "."))
}

// transitionTables reads REFERENCING.
func transitionTables(n *pg.CreateTrigStmt, t *catalog.Trigger, rel *catalog.Relation) error {
	for _, x := range n.TransitionRels {
		tr := x.GetTriggerTransition()
		switch {
		case !tr.IsTable:
			return pgerror.New(pgerror.FeatureNotSupported, "ROW variable naming in the REFERENCING clause is not supported").
				WithHint("Use OLD TABLE or NEW TABLE for naming transition tables.")
		case t.Timing != 'a':
			return pgerror.New(pgerror.InvalidObjectDefinition, "transition table name can only be specified for an AFTER trigger")
		case t.Truncate:
			return pgerror.New(pgerror.FeatureNotSupported, "TRUNCATE triggers with transition tables are not supported")
		case len(t.Columns) > 0:
			return pgerror.New(pgerror.FeatureNotSupported, "transition tables cannot be specified for triggers with column lists")
		case btoi(t.Insert)+btoi(t.Update)+btoi(t.Delete) > 1:
			return pgerror.New(pgerror.FeatureNotSupported, "transition tables cannot be specified for triggers with more than one event")
		}
		if tr.IsNew {
			if !t.Insert && !t.Update {
				return pgerror.New(pgerror.InvalidObjectDefinition, "NEW TABLE can only be specified for an INSERT or UPDATE trigger")
			}
			if t.NewTable != "" {
				return pgerror.New(pgerror.InvalidObjectDefinition, "NEW TABLE cannot be specified multiple times")
			}
			t.NewTable = tr.Name
			continue
		}
		if !t.Delete && !t.Update {
			return pgerror.New(pgerror.InvalidObjectDefinition, "OLD TABLE can only be specified for a DELETE or UPDATE trigger")
		}
		if t.OldTable != "" {
			return pgerror.New(pgerror.InvalidObjectDefinition, "OLD TABLE cannot be specified multiple times")
		}
		t.OldTable = tr.Name
	}
	if t.OldTable != "" && t.OldTable == t.NewTable {
		return pgerror.New(pgerror.InvalidObjectDefinition, "OLD TABLE name and NEW TABLE name cannot be the same")
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// triggerWhen checks and stores the condition.
func (r *run) triggerWhen(n *pg.Node, t *catalog.Trigger, rel *catalog.Relation) error {
	var bad error
	parse.Walk(n, func(x *pg.Node) bool {
		if x.GetSubLink() != nil && bad == nil {
			bad = pgerror.New(pgerror.FeatureNotSupported, "cannot use subquery in trigger WHEN condition")
		}
		c := x.GetColumnRef()
		if c == nil || bad != nil {
			return bad == nil
		}
		name := c.Fields[0].GetString_().GetSval()
		if name != "old" && name != "new" {
			return true
		}
		word := strings.ToUpper(name)
		switch {
		case !t.Row:
			bad = pgerror.New(pgerror.InvalidObjectDefinition, "statement trigger's WHEN condition cannot reference column values")
		case name == "old" && t.Insert:
			bad = pgerror.New(pgerror.InvalidObjectDefinition, "INSERT trigger's WHEN condition cannot reference %s values", word)
		case name == "new" && t.Delete:
			bad = pgerror.New(pgerror.InvalidObjectDefinition, "DELETE trigger's WHEN condition cannot reference %s values", word)
		}
		if len(c.Fields) > 1 && bad == nil {
			if f := c.Fields[1].GetString_(); f != nil && columnByName(rel, f.Sval) == nil && !systemColumn(f.Sval) {
				bad = pgerror.New(pgerror.UndefinedColumn, "column %s.%s does not exist", name, f.Sval)
			}
		}
		return bad == nil
	})
	if bad != nil {
		return bad
	}
	text, err := deparseExpr(n)
	if err != nil {
		return err
	}
	t.When = text
	_, err = plpgsql.ParseCondition(text, plpgsql.ContextTypes{Ctx: r.s.PlanContext()})
	return err
}

// dropTrigger is DROP TRIGGER.
func (r *run) dropTrigger(n *pg.DropStmt) error {
	for _, obj := range n.Objects {
		parts := nameParts(obj)
		schema, table, err := split(parts[:len(parts)-1])
		if err != nil {
			return err
		}
		name := parts[len(parts)-1]
		rel, _, err := r.findRelation(schema, table)
		if err != nil {
			return err
		}
		if rel == nil {
			if n.MissingOk {
				r.notice("relation %q does not exist, skipping", table)
				continue
			}
			return noRelation(schema, table)
		}
		if err := r.mustOwn(rel); err != nil {
			return err
		}
		if rel, err = r.lock(rel, engine.AccessExclusive); err != nil {
			return err
		}
		cp := copyRelation(rel)
		at := slices.IndexFunc(cp.Triggers, func(t *catalog.Trigger) bool { return t.Name == name })
		if at < 0 {
			if n.MissingOk {
				r.notice("trigger %q for relation %q does not exist, skipping", name, table)
				continue
			}
			return noTrigger(name, rel)
		}
		gone := cp.Triggers[at]
		if gone.Parent != 0 {
			for _, p := range r.catalog().Ancestors(rel) {
				for _, t := range p.Triggers {
					if t.OID == gone.Parent {
						return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop trigger %s on table %s because trigger %s on table %s requires it",
							name, r.visibleName(rel), t.Name, r.visibleName(p)).WithHint("You can drop trigger %s on table %s instead.", t.Name, r.visibleName(p))
					}
				}
			}
		}
		cp.Triggers = slices.Delete(cp.Triggers, at, at+1)
		r.schema().PutRelation(cp)
		for _, c := range r.catalog().Children(rel.OID) {
			r.dropClones(c.OID, map[sqltypes.OID]bool{gone.OID: true})
		}
	}
	return nil
}

func noTrigger(name string, rel *catalog.Relation) error {
	return pgerror.New(pgerror.UndefinedObject, "trigger %q for table %q does not exist", name, rel.Name)
}

// enableTriggers is ALTER TABLE … ENABLE/DISABLE TRIGGER.
func enableTriggers(rel *catalog.Relation, cmd *pg.AlterTableCmd) (done bool, err error) {
	state, all := byte(0), false
	switch cmd.Subtype {
	case pg.AlterTableType_AT_EnableTrig:
		state = 'O'
	case pg.AlterTableType_AT_EnableAlwaysTrig:
		state = 'A'
	case pg.AlterTableType_AT_EnableReplicaTrig:
		state = 'R'
	case pg.AlterTableType_AT_DisableTrig:
		state = 'D'
	case pg.AlterTableType_AT_EnableTrigAll, pg.AlterTableType_AT_EnableTrigUser:
		state, all = 'O', true
	case pg.AlterTableType_AT_DisableTrigAll, pg.AlterTableType_AT_DisableTrigUser:
		state, all = 'D', true
	default:
		return false, nil
	}
	found := all
	for i, t := range rel.Triggers {
		if all || t.Name == cmd.Name {
			cp := *t
			cp.Enabled = state
			rel.Triggers[i], found = &cp, true
		}
	}
	if !found {
		return true, noTrigger(cmd.Name, rel)
	}
	return true, nil
}

// renameTrigger is ALTER TRIGGER … RENAME TO.
func (r *run) renameTrigger(n *pg.RenameStmt, name string) error {
	rel, err := r.relation(n.Relation, engine.AccessExclusive, "", "table")
	if err != nil {
		return err
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	cp := copyRelation(rel)
	at := slices.IndexFunc(cp.Triggers, func(t *catalog.Trigger) bool { return t.Name == n.Subname })
	if at < 0 {
		return noTrigger(n.Subname, rel)
	}
	if slices.ContainsFunc(cp.Triggers, func(t *catalog.Trigger) bool { return t.Name == name }) {
		return pgerror.New(pgerror.DuplicateObject, "trigger %q for relation %q already exists", name, rel.Name)
	}
	t := *cp.Triggers[at]
	if t.Parent != 0 {
		return pgerror.New(pgerror.FeatureNotSupported, "cannot rename trigger %q on table %q", t.Name, rel.Name).
			WithHint("Rename the trigger on the partitioned table %q instead.", r.catalog().Relation(rel.Parents[0]).Name)
	}
	r.renameClones(rel.OID, t.OID, name)
	t.Name = name
	cp.Triggers[at] = &t
	slices.SortFunc(cp.Triggers, func(a, b *catalog.Trigger) int { return strings.Compare(a.Name, b.Name) })
	r.schema().PutRelation(cp)
	return nil
}

// commentTrigger is COMMENT ON TRIGGER.
func (r *run) commentTrigger(cp *catalog.Relation, name, comment string) error {
	at := slices.IndexFunc(cp.Triggers, func(t *catalog.Trigger) bool { return t.Name == name })
	if at < 0 {
		return noTrigger(name, cp)
	}
	t := *cp.Triggers[at]
	t.Comment = comment
	cp.Triggers[at] = &t
	r.schema().PutRelation(cp)
	return nil
}

// fireTruncate runs the triggers of TRUNCATE.
func (r *run) fireTruncate(rels []*catalog.Relation, timing byte) error {
	var fire exec.TriggerRunner
	ok := false
	if env := r.s.PlanContext().Env; env != nil && env.Session != nil {
		fire, ok = env.Session.Ext().(exec.TriggerRunner)
	}
	for _, rel := range rels {
		for _, t := range rel.Triggers {
			if !t.Truncate || t.Timing != timing {
				continue
			}
			if !ok {
				return pgerror.NotSupported("firing triggers of relation %q here", rel.Name)
			}
			if !exec.FiresNow(t, fire.ReplicationRole()) {
				continue
			}
			if _, err := fire.FireTrigger(&exec.TriggerCall{Rel: rel, Trigger: t, Op: 't'}); err != nil {
				return err
			}
		}
	}
	return nil
}

// functionTriggers lists the triggers that execute a function.
func (r *run) functionTriggers(f sqltypes.OID, each func(rel *catalog.Relation, t *catalog.Trigger)) {
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		for _, t := range rel.Triggers {
			if t.Func == f {
				each(rel, t)
			}
		}
		return true
	})
}
