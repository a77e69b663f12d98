package node

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"ostraka/engine/catalog"
	"ostraka/pgfront/session"
	"ostraka/raft"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// adminRole may call the functions that change the cluster, besides superusers.
const adminRole = "ostraka_admin"

// function is one SQL function of the node.
type function struct {
	name  string
	args  []sqltypes.OID
	names []string
	admin bool
	// leader: the call runs on the leader, whichever node is asked.
	leader bool
	// ret is the type of the result, 0: jsonb, made from what call returns.
	ret sqltypes.OID
	// session is call for functions that answer a value themselves.
	session func(s *session.Session, args []sqltypes.Datum) (sqltypes.Datum, error)
	call    func(ctx context.Context, n *Node, args []sqltypes.Datum) (any, error)
}

// functions are registered in this order from the first OID of the range on;
// new ones are appended, so that OIDs are stable.
var functions = []function{
	{name: "raft_init", admin: true, call: func(ctx context.Context, n *Node, _ []sqltypes.Datum) (any, error) {
		if err := n.initCluster(ctx); err != nil {
			if errors.Is(err, raft.ErrBootstrapped) {
				return nil, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "the cluster is initialised already")
			}
			return nil, err
		}
		return map[string]any{"status": "initialised", "leader": n.cfg.NodeID}, nil
	}},
	{name: "raft_add_learner", args: []sqltypes.OID{sqltypes.OIDInt8, sqltypes.OIDText}, names: []string{"node_id", "addr"}, admin: true,
		call: func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			return n.addLearner(ctx, strconv.FormatInt(a[0].I, 10), a[1].S)
		}},
	{name: "raft_add_learner", args: []sqltypes.OID{sqltypes.OIDText, sqltypes.OIDText}, names: []string{"node_id", "addr"}, admin: true,
		call: func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			return n.addLearner(ctx, a[0].S, a[1].S)
		}},
	{name: "raft_change_membership", args: []sqltypes.OID{sqltypes.OIDInt8Array}, names: []string{"members"}, admin: true,
		call: func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			var ids []string
			for _, d := range sqltypes.OpenArray(a[0]).Elements() {
				if d.Null {
					return nil, pgerror.New(pgerror.NullValueNotAllowed, "a member must not be null")
				}
				ids = append(ids, strconv.FormatInt(d.I, 10))
			}
			return n.changeMembership(ctx, ids)
		}},
	{name: "raft_change_membership", args: []sqltypes.OID{sqltypes.OIDTextArray}, names: []string{"members"}, admin: true,
		call: func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			var ids []string
			for _, d := range sqltypes.OpenArray(a[0]).Elements() {
				if d.Null {
					return nil, pgerror.New(pgerror.NullValueNotAllowed, "a member must not be null")
				}
				ids = append(ids, d.S)
			}
			return n.changeMembership(ctx, ids)
		}},
	{name: "raft_metrics", call: func(_ context.Context, n *Node, _ []sqltypes.Datum) (any, error) {
		return n.group.Metrics(), nil
	}},
	{name: "raft_transfer_leadership", args: []sqltypes.OID{sqltypes.OIDText}, names: []string{"node_id"}, admin: true,
		call: func(ctx context.Context, n *Node, a []sqltypes.Datum) (any, error) {
			if err := n.group.TransferLeadership(ctx, a[0].S); err != nil {
				return nil, clusterError(err)
			}
			return map[string]any{"leader": n.group.Leadership().LeaderID}, nil
		}},
	{name: "ostraka_transaction_status", args: []sqltypes.OID{sqltypes.OIDText}, names: []string{"transaction_id"}, leader: true, ret: sqltypes.OIDText,
		session: func(s *session.Session, a []sqltypes.Datum) (sqltypes.Datum, error) {
			st, known, err := s.TransactionStatus(a[0].S)
			if err != nil || !known {
				return sqltypes.Null, err
			}
			return sqltypes.Text(st.String()), nil
		}},
	{name: "ostraka_checksum", admin: true, leader: true, call: func(ctx context.Context, n *Node, _ []sqltypes.Datum) (any, error) {
		return n.compareReplicas(ctx)
	}},
	{name: "pg_stat_statements_reset", ret: sqltypes.OIDVoid, session: resetStatements},
	{name: "pg_stat_statements_reset", args: []sqltypes.OID{sqltypes.OIDOid, sqltypes.OIDOid, sqltypes.OIDInt8}, names: []string{"userid", "dbid", "queryid"},
		ret: sqltypes.OIDVoid, session: resetStatements},
}

func init() {
	for i, f := range functions {
		p := &sqltypes.Proc{OID: sqltypes.FirstOstrakaProc + sqltypes.OID(i), Name: f.name, Namespace: catalog.SchemaPgCatalog, Kind: 'f',
			Strict: true, Volatility: sqltypes.Volatile, ArgTypes: f.args, ArgNames: f.names, RetType: f.ret,
			Src: "ostraka_" + f.name, Cost: 1, Node: !f.leader, Writes: f.leader}
		if f.ret == 0 {
			p.RetType = sqltypes.OIDJsonb
		}
		p.Fn = func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) { return f.run(c, args) }
		sqltypes.RegisterProc(p)
	}
}

// run checks who calls, calls, and answers with a JSON document.
func (f function) run(c *sqltypes.Call, args []sqltypes.Datum) (_ sqltypes.Datum, failed error) {
	s, n, err := nodeOf(c)
	if err != nil {
		return sqltypes.Null, err
	}
	if f.admin {
		record := auditRecord{User: s.SessionUser(), Role: s.CurrentUser(), Client: s.ClientAddr(), Function: f.name, Args: argTexts(c, args)}
		if !mayAdminister(s) {
			err := pgerror.New(pgerror.InsufficientPrivilege, "permission denied for function %s", f.name).
				WithHint("Only superusers and members of the role %q may call it.", adminRole)
			record.Error = err.Message
			if aerr := n.audit.add(record); aerr != nil {
				return sqltypes.Null, aerr
			}
			return sqltypes.Null, err
		}
		n.log.Info("audit: cluster function", "function", f.name, "user", s.SessionUser(), "role", s.CurrentUser())
		if err := n.audit.add(record); err != nil {
			return sqltypes.Null, err
		}
		defer func() {
			if failed != nil {
				record.Error = failed.Error()
				if err := n.audit.add(record); err != nil {
					n.log.Error("audit log", "error", err)
				}
			}
		}()
	}
	if f.session != nil {
		return f.session(s, args)
	}
	out, err := f.call(c.Env.Ctx, n, args)
	if err != nil {
		return sqltypes.Null, err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return sqltypes.Null, err
	}
	return sqltypes.TypeByOID(sqltypes.OIDJsonb).In(c.Env, string(text), -1)
}

// argTexts are arguments as the audit log shows them.
func argTexts(c *sqltypes.Call, args []sqltypes.Datum) []string {
	var out []string
	for i, a := range args {
		typ := sqltypes.TypeByOID(c.Proc.ArgTypes[i])
		if a.Null || typ == nil || typ.Out == nil {
			out = append(out, "NULL")
			continue
		}
		out = append(out, string(typ.Out(c.Env, nil, a)))
	}
	return out
}

func nodeOf(c *sqltypes.Call) (*session.Session, *Node, error) {
	if c.Env != nil && c.Env.Session != nil {
		if s, ok := c.Env.Session.Ext().(*session.Session); ok {
			if n, ok := s.Deps().Node.(*Node); ok {
				return s, n, nil
			}
		}
	}
	return nil, nil, pgerror.NotSupported("function %s outside of a node's session", c.Proc.Name)
}

func mayAdminister(s *session.Session) bool {
	if s.Superuser() {
		return true
	}
	cat := s.PlanContext().Catalog
	admin := cat.RoleByName(adminRole)
	if admin == nil {
		return false
	}
	return s.MemberOf(admin.OID)
}

func (n *Node) addLearner(ctx context.Context, id, addr string) (any, error) {
	pos, err := n.group.AddLearner(ctx, id, addr)
	if err != nil {
		return nil, clusterError(err)
	}
	return membership{pos.Index, n.group.Metrics().Members}, nil
}

func (n *Node) changeMembership(ctx context.Context, ids []string) (any, error) {
	pos, err := n.group.ChangeMembership(ctx, ids)
	if err != nil {
		return nil, clusterError(err)
	}
	return membership{pos.Index, n.group.Metrics().Members}, nil
}

// membership is the answer of the functions that change it.
type membership struct {
	LogID   uint64        `json:"log_id"`
	Members []raft.Member `json:"membership"`
}

// clusterError gives the raft room's errors their SQLSTATE.
func clusterError(err error) error {
	var pe *pgerror.Error
	switch {
	case errors.As(err, &pe):
		return err
	case errors.Is(err, raft.ErrNoMembers), errors.Is(err, raft.ErrUnknownMember):
		return pgerror.Wrap(err, pgerror.InvalidParameterValue, "%s", err.Error())
	case errors.Is(err, raft.ErrNoLeader):
		return pgerror.Wrap(err, pgerror.CannotConnectNow, "%s", err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return pgerror.Wrap(err, pgerror.ObjectNotInPrerequisiteState, "%s", err.Error())
}

// since is the age of a time in seconds, NULL when it is zero.
func since(t time.Time) sqltypes.Datum {
	if t.IsZero() {
		return sqltypes.Null
	}
	return sqltypes.Float(time.Since(t).Seconds())
}
