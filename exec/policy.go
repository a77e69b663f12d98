package exec

import (
	"errors"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// policy tests the conditions of row-level security of one kind on a row
// (ExecWithCheckOptions). Error: 42501, which shows nothing of the row.
func (w *tableWriter) policy(kind planner.PolicyKind, row []sqltypes.Datum) error {
	if w.named != nil {
		if len(w.named.policies) == 0 {
			return nil
		}
		return w.named.policy(kind, w.toNamed.row(row))
	}
	for i, p := range w.policies {
		c := &w.t.Policies[i]
		if c.Kind != kind {
			continue
		}
		ok, err := p.True(row, &w.x.params, w.x.env)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		what, name, how := "new row", "", ""
		switch kind {
		case planner.PolicyMergeUpdate, planner.PolicyMergeDelete:
			what, how = "target row", " (USING expression)"
		case planner.PolicyConflict:
			how = " (USING expression)"
		}
		if c.Name != "" {
			name = ` "` + c.Name + `"`
		}
		return pgerror.New(pgerror.InsufficientPrivilege, `%s violates row-level security policy%s%s for table "%s"`, what, name, how, w.rel.Name)
	}
	return nil
}

// discreet takes the key's values out of an error about one that is there already
// when row-level security may hide the row that has it.
func (w *tableWriter) discreet(err error) error {
	var e *pgerror.Error
	if !w.t.HideRows || !errors.As(err, &e) || e.Detail == "" {
		return err
	}
	c := *e
	c.Detail = ""
	return &c
}

// hides reports whether row-level security hides rows of a table from the current role.
func (x *Execution) hides(rel *catalog.Relation) bool {
	if !rel.RowSecurity || x.env == nil || x.env.Session == nil {
		return false
	}
	cat := x.view.Catalog()
	r := cat.RoleByName(x.env.Session.CurrentUser())
	return r == nil || planner.RowSecurityActive(cat, r.OID, rel)
}

// keyShown is " (columns)=(values)" of a key for messages, "" where rows are hidden.
func (x *Execution) keyShown(rel *catalog.Relation, attrs []int16, key []sqltypes.Datum) string {
	if x.hides(rel) {
		return ""
	}
	return " (" + attrNames(rel, attrs) + ")=(" + x.keyText(rel, attrs, key) + ")"
}
