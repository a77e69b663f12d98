package expr

import "ostraka/sqltypes"

// RecordNames are the field names of the arguments that are anonymous rows with
// names (whole-row references); nil when no argument is one.
func RecordNames(args []Expr) [][]string {
	var out [][]string
	for i, a := range args {
		if a.Type().OID != sqltypes.OIDRecord {
			continue
		}
		if names := fieldNames(a); names != nil {
			if out == nil {
				out = make([][]string, len(args))
			}
			out[i] = names
		}
	}
	return out
}

func fieldNames(e Expr) []string {
	switch n := e.(type) {
	case *RowCtor:
		return n.Names
	case *Relabel:
		return fieldNames(n.Arg)
	case *Case: // a whole row that an outer join may pad
		return fieldNames(n.Else)
	}
	return nil
}

// recordNames prefers what the planner noted before it rewrote the arguments.
func (c *Call) recordNames() [][]string {
	if c.Names != nil {
		return c.Names
	}
	return RecordNames(c.Args)
}
