package session

import (
	"context"
	"slices"

	"ostraka/engine/catalog"
	"ostraka/exec"
	"ostraka/planner"
	"ostraka/plpgsql"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

var _ exec.TriggerRunner = (*Session)(nil)

// ReplicationRole implements exec.TriggerRunner.
func (s *Session) ReplicationRole() string {
	v, _ := s.set.Get("session_replication_role")
	return v
}

var triggerOps = map[byte]string{'i': "INSERT", 'u': "UPDATE", 'd': "DELETE", 't': "TRUNCATE"}

// FireTrigger implements exec.TriggerRunner.
func (s *Session) FireTrigger(c *exec.TriggerCall) ([]sqltypes.Datum, error) {
	t, rel := c.Trigger, c.Rel
	as := c.New
	if c.Op == 'd' {
		as = c.Old
	}
	call := &plpgsql.TriggerCall{Name: t.Name, When: map[byte]string{'b': "BEFORE", 'a': "AFTER", 'i': "INSTEAD OF"}[t.Timing],
		Level: "STATEMENT", Op: triggerOps[c.Op], Relation: rel.OID, Table: rel.Name, Args: t.Args, Type: rel.RowType}
	if t.Row {
		call.Level = "ROW"
	}
	if sc := s.catalog().Schema(rel.Schema); sc != nil {
		call.Schema = sc.Name
	}
	for _, col := range rel.Columns {
		if !col.Dropped {
			call.Columns = append(call.Columns, sqltypes.Field{Name: col.Name, ColumnType: col.Type})
		}
	}
	call.Old, call.New = liveValues(rel, c.Old), liveValues(rel, c.New)
	leave, err := s.enterCall()
	if err != nil {
		return nil, err
	}
	defer leave()
	h := &procHost{s: s, ContextTypes: plpgsql.ContextTypes{Ctx: s.PlanContext()}}
	if t.When != "" {
		ok, err := s.triggerCondition(h, rel, t, call)
		if err != nil || !ok {
			return as, err
		}
	}
	fn, def, err := s.triggerFunction(t, rel)
	if err != nil {
		return nil, err
	}
	exit, err := s.enterFunction(&sqltypes.Proc{OID: def.OID, Name: def.Name, Namespace: def.Schema})
	if err != nil {
		return nil, err
	}
	defer exit()
	defer s.showTransitions(c)()
	s.triggerDepth++
	res, err := fn.Trigger(h, call)
	s.triggerDepth--
	if err != nil || t.Timing != 'b' || !t.Row || res.Row == nil {
		return nil, err
	}
	out := slices.Clone(as)
	k := 0
	for i, col := range rel.Columns {
		if !col.Dropped {
			out[i] = keepDatum(res.Row[k])
			k++
		}
	}
	return out, nil
}

// liveValues are a row's values without those of dropped columns.
func liveValues(rel *catalog.Relation, row []sqltypes.Datum) []sqltypes.Datum {
	if row == nil {
		return nil
	}
	out := make([]sqltypes.Datum, 0, len(row))
	for i, col := range rel.Columns {
		if !col.Dropped {
			out = append(out, keepDatum(row[i]))
		}
	}
	return out
}

// triggerFunction parses a trigger's function, once for every table.
func (s *Session) triggerFunction(t *catalog.Trigger, rel *catalog.Relation) (*plpgsql.Function, *catalog.Function, error) {
	def := s.catalog().Function(t.Func)
	if def == nil {
		return nil, nil, pgerror.New(pgerror.UndefinedFunction, "function with OID %d does not exist", t.Func)
	}
	if def.Language != "plpgsql" {
		return nil, nil, pgerror.NotSupported("a trigger function in language %q", def.Language)
	}
	key := proceduralKey{oid: def.OID, types: sprintf("trigger %d", rel.OID)}
	if p := s.procs[key]; p != nil && p.def == def {
		return p.fn, def, nil
	}
	h := plpgsql.Header{Name: def.Name, Signature: def.Name + "()", Kind: 't', Ret: sqltypes.ColumnType{OID: sqltypes.OIDTrigger, TypMod: -1}}
	fn, err := plpgsql.Parse(def.Body, h, plpgsql.ContextTypes{Ctx: s.PlanContext()})
	if err != nil {
		return nil, nil, compilation(err, h.Signature, "")
	}
	s.rememberProcedural(key, &procedural{def: def, fn: fn})
	return fn, def, nil
}

func (s *Session) rememberProcedural(key proceduralKey, p *procedural) {
	if s.procs == nil || len(s.procs) >= maxProcedural {
		s.procs = map[proceduralKey]*procedural{}
	}
	s.procs[key] = p
}

// triggerCondition evaluates WHEN.
func (s *Session) triggerCondition(h *procHost, rel *catalog.Relation, t *catalog.Trigger, call *plpgsql.TriggerCall) (bool, error) {
	key := proceduralKey{oid: t.OID, types: t.When}
	p := s.procs[key]
	if p == nil {
		fn, err := plpgsql.ParseCondition(t.When, h.ContextTypes)
		if err != nil {
			return false, err
		}
		p = &procedural{fn: fn}
		s.rememberProcedural(key, p)
	}
	return p.fn.Condition(h, call)
}

// transition is a transition table that the running trigger function can read.
type transition struct {
	name string
	rel  *planner.VirtualRelation
	rows [][]sqltypes.Datum
}

// showTransitions makes the transition tables of a trigger readable until the
// function returned is called.
func (s *Session) showTransitions(c *exec.TriggerCall) (hide func()) {
	saved := s.transitions
	s.transitions = nil
	if c.Changed != nil {
		for name, rows := range map[string][][]sqltypes.Datum{c.Trigger.OldTable: c.Changed.Old, c.Trigger.NewTable: c.Changed.New} {
			if name != "" {
				s.transitions = append(s.transitions, s.transitionTable(name, c.Rel, rows))
			}
		}
	}
	return func() { s.transitions = saved }
}

func (s *Session) transitionTable(name string, rel *catalog.Relation, rows [][]sqltypes.Datum) *transition {
	t := &transition{name: name, rows: rows}
	desc := &catalog.Relation{OID: rel.OID, Name: name, Kind: catalog.KindVirtual, Owner: s.role.OID}
	for _, col := range rel.Columns {
		if !col.Dropped {
			cp := *col
			cp.Num, cp.NotNull = int16(len(desc.Columns)+1), false
			desc.Columns = append(desc.Columns, &cp)
		}
	}
	t.rel = &planner.VirtualRelation{Rel: desc, RowsEstimate: float64(len(rows)),
		Rows: func(context.Context, planner.VirtualQuery) (sqltypes.RowSource, error) {
			for _, now := range s.transitions {
				if now.name == name {
					return &transitionRows{rel: rel, rows: now.rows}, nil
				}
			}
			return nil, pgerror.New(pgerror.UndefinedTable, "relation %q does not exist", name)
		}}
	return t
}

type transitionRows struct {
	rel  *catalog.Relation
	rows [][]sqltypes.Datum
}

func (r *transitionRows) Next() ([]sqltypes.Datum, bool, error) {
	if len(r.rows) == 0 {
		return nil, false, nil
	}
	row := liveValues(r.rel, r.rows[0])
	r.rows = r.rows[1:]
	return row, true, nil
}

// withTransitions are the virtual relations, the transition tables of the running
// trigger function among them.
type withTransitions struct {
	planner.Relations
	list []*transition
}

func (w withTransitions) VirtualByName(schema, name string) *planner.VirtualRelation {
	for _, t := range w.list {
		if t.name == name {
			return t.rel
		}
	}
	if w.Relations == nil {
		return nil
	}
	return w.Relations.VirtualByName(schema, name)
}
