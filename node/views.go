package node

import (
	"ostraka/engine/catalog"
	"ostraka/exec/syscat"
	"ostraka/pgfront/session"
	"ostraka/sqltypes"
)

// columns makes columns of a view from name, type pairs.
func columns(defs ...any) []*catalog.Column {
	var out []*catalog.Column
	for i := 0; i < len(defs); i += 2 {
		out = append(out, &catalog.Column{Num: int16(len(out) + 1), Name: defs[i].(string), StatTarget: -1,
			Type: sqltypes.ColumnType{OID: defs[i+1].(sqltypes.OID), TypMod: -1}})
	}
	return out
}

// relations builds the node's system relations.
func (n *Node) relations(reg *session.Registry) *syscat.Set {
	s := syscat.New()
	registerActivity(s, reg)
	registerSettings(s)
	n.registerShards(s)
	n.registerSeries(s)
	n.registerAudit(s)
	n.registerStatistics(s, reg)
	registerStatements(s, reg)
	s.Add(&catalog.Relation{OID: 13998, Name: "members", Schema: catalog.SchemaOstraka, Kind: catalog.KindVirtual, Persistence: 'p', Owner: catalog.BootstrapRole,
		Columns: columns("node_id", sqltypes.OIDText, "address", sqltypes.OIDText, "suffrage", sqltypes.OIDText, "leader", sqltypes.OIDBool,
			"match_index", sqltypes.OIDInt8, "lag", sqltypes.OIDInt8, "last_contact", sqltypes.OIDFloat8)}, "ostraka", true,
		func(_ *syscat.Query, emit syscat.Emit) error {
			m := n.group.Metrics()
			for _, x := range m.Members {
				suffrage, match, lag, contact := "voter", sqltypes.Null, sqltypes.Null, sqltypes.Null
				if !x.Voter {
					suffrage = "learner"
				}
				if p := x.Progress; p != nil {
					match, lag, contact = sqltypes.Int(int64(p.Match)), sqltypes.Int(int64(p.Lag)), since(p.LastContact)
				}
				emit(sqltypes.Text(x.ID), sqltypes.Text(x.Addr), sqltypes.Text(suffrage), sqltypes.Bool(x.ID == m.Leader), match, lag, contact)
			}
			return nil
		})
	return s
}

func registerActivity(s *syscat.Set, reg *session.Registry) {
	s.Register("pg_catalog.pg_stat_activity", []string{"datid", "datname", "pid", "usesysid", "usename", "application_name", "client_addr", "client_port",
		"backend_start", "xact_start", "query_start", "state_change", "wait_event_type", "wait_event", "state", "backend_xid", "query", "backend_type"}, true,
		func(q *syscat.Query, emit syscat.Emit) error {
			inet := sqltypes.TypeByOID(sqltypes.OIDInet)
			role, all := readsAllStats(q)
			for _, a := range reg.Activities() {
				who := []sqltypes.Datum{oid(a.Database), sqltypes.Text(a.DatabaseName), sqltypes.Int(int64(a.PID)), oid(a.User), sqltypes.Text(a.UserName),
					sqltypes.Text(a.Application)}
				if !all && a.User != role && !q.Cat.Member(role, a.User) {
					for range 10 {
						who = append(who, sqltypes.Null)
					}
					emit(append(who, sqltypes.Text(hiddenText), sqltypes.Null)...)
					continue
				}
				addr, xid := sqltypes.Null, sqltypes.Null
				if a.ClientAddr != "" {
					if d, err := inet.In(nil, a.ClientAddr, -1); err == nil {
						addr = d
					}
				}
				if a.Xid != 0 {
					xid = sqltypes.Int(int64(uint32(a.Xid)))
				}
				emit(append(who, addr, sqltypes.Int(int64(a.ClientPort)), timestamp(a.BackendStart), timestamp(a.XactStart),
					timestamp(a.QueryStart), timestamp(a.StateAge), textOrNull(a.WaitEventType), textOrNull(a.WaitEvent), textOrNull(a.State), xid,
					sqltypes.Text(a.Query), sqltypes.Text("client backend"))...)
			}
			return nil
		})
}

func oid(o sqltypes.OID) sqltypes.Datum { return sqltypes.Int(int64(o)) }

func textOrNull(s string) sqltypes.Datum {
	if s == "" {
		return sqltypes.Null
	}
	return sqltypes.Text(s)
}
