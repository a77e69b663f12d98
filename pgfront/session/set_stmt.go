package session

import (
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/pgfront/settings"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (s *Session) allowed() settings.Allowed {
	return settings.Allowed{Superuser: s.auth.Super || s.role.Super}
}

// setStmt is SET, RESET and SET TRANSACTION.
func (s *Session) setStmt(n *pg.VariableSetStmt) error {
	if n.IsLocal && !s.inBlock() {
		s.warn(pgerror.NoActiveSqlTransaction, "SET LOCAL can only be used in transaction blocks")
	}
	switch n.Kind {
	case pg.VariableSetKind_VAR_RESET_ALL:
		s.set.ResetAll()
		return nil
	case pg.VariableSetKind_VAR_SET_MULTI:
		return s.setMulti(n)
	case pg.VariableSetKind_VAR_SET_CURRENT:
		v, ok := s.set.Get(n.Name)
		if !ok {
			return pgerror.New(pgerror.UndefinedObject, `unrecognized configuration parameter "%s"`, n.Name)
		}
		return s.SetSetting(n.Name, v, n.IsLocal)
	case pg.VariableSetKind_VAR_RESET, pg.VariableSetKind_VAR_SET_DEFAULT:
		return s.resetSetting(n.Name, n.IsLocal)
	}
	value, err := s.setValue(n)
	if err != nil {
		return err
	}
	return s.SetSetting(n.Name, value, n.IsLocal)
}

func (s *Session) setMulti(n *pg.VariableSetStmt) error {
	switch n.Name {
	case "TRANSACTION":
		if !s.inBlock() {
			s.warn(pgerror.NoActiveSqlTransaction, "SET TRANSACTION can only be used in transaction blocks")
		}
		return s.transactionOptions(n.Args)
	case "SESSION CHARACTERISTICS":
		for _, o := range n.Args {
			d := o.GetDefElem()
			if err := s.set.Set("default_"+d.GetDefname(), constText(d.GetArg()), false, s.allowed()); err != nil {
				return err
			}
		}
		return nil
	}
	return pgerror.NotSupported("SET %s", n.Name)
}

// setValue flattens SET's arguments (PostgreSQL's flatten_set_variable_args).
func (s *Session) setValue(n *pg.VariableSetStmt) (string, error) {
	d := settings.Lookup(n.Name)
	if len(n.Args) > 1 && (d == nil || !d.List) {
		return "", pgerror.New(pgerror.InvalidParameterValue, "SET %s takes only one argument", n.Name)
	}
	var parts []string
	for _, a := range n.Args {
		if tc := a.GetTypeCast(); tc != nil {
			// SET TIME ZONE INTERVAL '…': the offset in hours.
			h, err := s.intervalZone(constText(tc.Arg))
			if err != nil {
				return "", err
			}
			parts = append(parts, h)
			continue
		}
		v := constText(a)
		if _, isString := a.GetAConst().GetVal().(*pg.A_Const_Sval); isString && d != nil && d.Quote {
			v = quoteIdent(v)
		}
		parts = append(parts, v)
	}
	return strings.Join(parts, ", "), nil
}

func (s *Session) intervalZone(text string) (string, error) {
	t := sqltypes.TypeByOID(sqltypes.OIDInterval)
	if t == nil || t.In == nil {
		return "", pgerror.NotSupported("SET TIME ZONE INTERVAL")
	}
	v, err := t.In(&s.env, text, -1)
	if err != nil {
		return "", err
	}
	if v.S != "" {
		return "", pgerror.New(pgerror.InvalidParameterValue, "invalid interval value for time zone: month or day not allowed")
	}
	return sprintf("%g", float64(v.I)/3600e6), nil
}

// CheckSetting reports whether a parameter can be given a value by default (ALTER ROLE … SET); nothing changes.
func (s *Session) CheckSetting(name, value string) error {
	return s.set.Check(name, value, s.allowed())
}

// SetSetting implements sqltypes.SessionEnv: set_config and SET of one parameter.
func (s *Session) SetSetting(name, value string, local bool) error {
	switch strings.ToLower(name) {
	case "transaction_isolation":
		norm, err := settings.Lookup(name).Normalize(value)
		if err != nil {
			return err
		}
		return s.setIsolation(norm)
	case "transaction_read_only":
		norm, err := settings.Lookup(name).Normalize(value)
		if err != nil {
			return err
		}
		return s.setReadOnly(norm == "on")
	case "transaction_deferrable":
		norm, err := settings.Lookup(name).Normalize(value)
		if err != nil {
			return err
		}
		return s.setDeferrable(norm == "on")
	case "role":
		return s.setRole(value, local)
	case "session_authorization":
		return s.setSessionAuthorization(value, local)
	case "seed":
		norm, err := settings.Lookup(name).Normalize(value)
		if err != nil {
			return err
		}
		s.seedFrom(norm)
		return nil
	}
	return s.set.Set(name, value, local, s.allowed())
}

func (s *Session) resetSetting(name string, local bool) error {
	switch strings.ToLower(name) {
	case "transaction_isolation", "transaction_read_only", "transaction_deferrable":
		if !s.inBlock() {
			s.warn(pgerror.NoActiveSqlTransaction, "RESET TRANSACTION can only be used in transaction blocks")
		}
		v, _ := s.set.Get("default_" + strings.ToLower(name))
		return s.SetSetting(name, v, local)
	case "role":
		return s.setRole("none", local)
	case "session_authorization":
		return s.setSessionAuthorization(s.client.Role.Name, local)
	}
	return s.set.Reset(name, local, s.allowed())
}

func (s *Session) setRole(name string, local bool) error {
	if name != "none" {
		r := s.findRole(name)
		if r == nil {
			return pgerror.New(pgerror.InvalidParameterValue, `role "%s" does not exist`, name)
		}
		if cat := s.catalog(); !s.auth.Super && r.OID != s.auth.OID && (cat == nil || !cat.MayBecome(s.auth.OID, r.OID)) {
			return pgerror.New(pgerror.InsufficientPrivilege, `permission denied to set role "%s"`, name)
		}
	}
	return s.set.Set("role", name, local, settings.Allowed{Superuser: true})
}

func (s *Session) setSessionAuthorization(name string, local bool) error {
	r := s.findRole(name)
	if r == nil {
		return pgerror.New(pgerror.InvalidParameterValue, `role "%s" does not exist`, name)
	}
	if r.OID != s.client.Role.OID && !s.client.Role.Super {
		return pgerror.New(pgerror.InsufficientPrivilege, `permission denied to set session authorization "%s"`, name)
	}
	if err := s.set.Set("role", "none", local, settings.Allowed{Superuser: true}); err != nil {
		return err
	}
	return s.set.Set("session_authorization", name, local, settings.Allowed{Superuser: true})
}

// Setting implements sqltypes.SessionEnv.
func (s *Session) Setting(name string) (string, bool) {
	v, err := s.show(name)
	return v, err == nil
}

// show is SHOW's text of a parameter.
func (s *Session) show(name string) (string, error) {
	t := &s.tx
	switch strings.ToLower(name) {
	case "transaction_isolation":
		if t.state != txNone {
			return t.isoName, nil
		}
		if s.conf.isolation == "" {
			return "read committed", nil
		}
		return s.conf.isolation, nil
	case "transaction_read_only":
		return onOff(t.state != txNone && t.readOnly || t.state == txNone && s.conf.readOnly), nil
	case "transaction_deferrable":
		return onOff(t.state != txNone && t.deferrable || t.state == txNone && s.conf.deferrable), nil
	case "in_hot_standby":
		return "off", nil
	case "ostraka.position":
		return s.position().String(), nil
	}
	return s.set.Show(name)
}

func (s *Session) showColumns(n *pg.VariableShowStmt) []planner.Column {
	if strings.EqualFold(n.Name, "all") {
		return []planner.Column{textColumn("name"), textColumn("setting"), textColumn("description")}
	}
	name := n.Name
	if d := settings.Lookup(name); d != nil {
		name = d.Name
	}
	return []planner.Column{textColumn(name)}
}

func (s *Session) showStmt(n *pg.VariableShowStmt) (*outcome, error) {
	cols := s.showColumns(n)
	if len(cols) == 1 {
		v, err := s.show(n.Name)
		if err != nil {
			return nil, err
		}
		return rowsOutcome(cols, [][]sqltypes.Datum{{sqltypes.Text(v)}}, "SHOW"), nil
	}
	var rows [][]sqltypes.Datum
	for _, r := range s.set.Rows() {
		if r.Def != nil && r.Def.NoShowAll {
			continue
		}
		v, err := s.show(r.Name)
		if err != nil {
			return nil, err
		}
		short := ""
		if r.Def != nil {
			short = r.Def.Short
		}
		rows = append(rows, []sqltypes.Datum{sqltypes.Text(r.Name), sqltypes.Text(v), sqltypes.Text(short)})
	}
	return rowsOutcome(cols, rows, "SHOW"), nil
}

// discardStmt is DISCARD.
func (s *Session) discardStmt(n *pg.DiscardStmt) error {
	switch n.Target {
	case pg.DiscardMode_DISCARD_PLANS:
		s.forgetPlans()
	case pg.DiscardMode_DISCARD_SEQUENCES:
		s.seqs.forget()
		return s.discardUpstream("DISCARD SEQUENCES")
	case pg.DiscardMode_DISCARD_TEMP:
		if err := s.discardUpstream("DISCARD TEMP"); err != nil {
			return err
		}
		return s.dropTemp()
	default:
		if err := s.preventBlock("DISCARD ALL"); err != nil {
			return err
		}
		s.closePortals(func(p *portal) bool { return p.cursor })
		if err := s.setSessionAuthorization(s.client.Role.Name, false); err != nil {
			return err
		}
		s.set.ResetAll()
		for name := range s.stmts {
			delete(s.stmts, name)
		}
		s.notify.unlisten("")
		s.unlockAllAdvisory()
		s.seqs.forget()
		s.closeUpstream() // temporary tables, locks and cursors there go with it
		return s.dropTemp()
	}
	return nil
}

func (s *Session) forgetPlans() {
	for _, p := range s.stmts {
		p.key = planKey{}
	}
}

// sortedStatements lists named prepared statements (pg_prepared_statements).
func (s *Session) sortedStatements() []*prepared {
	var out []*prepared
	for name, p := range s.stmts {
		if name != "" {
			out = append(out, p)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}
