package session

import (
	"strconv"
	"strings"
	"time"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// forPeer is what a session executes with that another node has opened on its
// leader: it never forwards in turn. What that node sent may arrive late, when it
// has given up on the answer, and must not take effect then under another name, or
// in a term in which nobody knows any more that it is under way: the session
// belongs to the term in which it was opened. It waits for a leader who is not
// ready yet.
func forPeer(deps *Deps) (*Deps, uint64, error) {
	own := *deps
	own.Forwarder = nil
	limit := time.NewTimer(2 * time.Second)
	defer limit.Stop()
	for {
		changed := deps.Engine.Log().LeadershipChanged()
		if l := deps.Engine.Log().Leadership(); l.IsLeader {
			return &own, l.Term, nil
		}
		select {
		case <-changed:
		case <-limit.C:
			return nil, 0, fatal(pgerror.New(pgerror.CannotConnectNow, "this node does not lead the shard"))
		}
	}
}

// inPeerTerm refuses what arrives after the term of a session for another node.
func (s *Session) inPeerTerm() error {
	if !s.client.Peer || s.client.PeerReads {
		return nil
	}
	if l := s.deps.Engine.Log().Leadership(); l.IsLeader && l.Term == s.peerTerm {
		return nil
	}
	return pgerror.New(pgerror.TRSerializationFailure, "could not serialize access because the leadership of the shard has changed").
		WithHint("The transaction might succeed if retried.")
}

// nameTransaction gives the transaction that is about to commit the name under
// which its outcome can be asked for: the client's, or what a node that forwarded
// it calls it.
func (s *Session) nameTransaction() {
	switch {
	case s.conf.transactionID != "":
		s.tx.txn.SetToken(s.conf.transactionID, true)
	case s.client.PeerSession != "" && len(s.client.PeerSession) <= engine.MaxToken/2:
		s.tx.txn.SetToken(transactionName(s.client.PeerSession, s.cycles.Load()), false)
	}
}

// transactionName is peer.TransactionName, which the session does not import.
func transactionName(session string, cycles uint64) string {
	return session + "." + strconv.FormatUint(cycles, 10)
}

// upstreamTransaction names what the upstream session executes.
func (s *Session) upstreamTransaction() string {
	if s.conf.transactionID != "" || s.up == nil {
		return s.conf.transactionID
	}
	return s.up.conn.Transaction()
}

// errLostOutcome is the error of a statement whose answer was lost, with the name to ask about.
func errLostOutcome(err error, name string) error {
	e := pgerror.Wrap(err, pgerror.TransactionResolutionUnknown, "the node that executed the statement was lost; its outcome is unknown")
	if name == "" {
		return e
	}
	return e.WithDetail("The transaction's ostraka.transaction_id is %s.", quoteLiteral(name)).
		WithHint("SELECT ostraka_transaction_status(%s) tells the outcome once a majority of the nodes is up.", quoteLiteral(name))
}

// TransactionStatus is ostraka_transaction_status: what became of the transaction
// with a name; ok is false when nothing is known of it. It runs on the leader.
func (s *Session) TransactionStatus(name string) (st engine.TxnStatus, ok bool, err error) {
	session, cycle, isPeer := strings.Cut(name, ".")
	n, nerr := strconv.ParseUint(cycle, 10, 64)
	isPeer = isPeer && nerr == nil && len(session) == 16
	// Before the state is read: a session that ends meanwhile has its outcome there.
	running := isPeer && s.deps.Registry != nil && s.deps.Registry.executes(session, n)
	_, st, err = s.deps.Engine.TokenStatus(s.env.Ctx, name)
	switch {
	case err != nil:
		return st, false, err
	case st != engine.TxnUnknown:
		return st, true, nil
	case running:
		return engine.TxnInProgress, true, nil
	case isPeer:
		return engine.TxnAborted, true, nil // its session is gone, or ran in a term that is over
	}
	return st, false, nil
}

// executes reports a session for a peer that has not come past a cycle.
func (r *Registry) executes(peerSession string, cycle uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.sessions {
		if x.client.PeerSession == peerSession && x.cycles.Load() <= cycle {
			return true
		}
	}
	return false
}

func init() {
	status := func(s *Session, xid int64) (sqltypes.Datum, error) {
		if xid < 0 {
			return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, "transaction ID %d is in the future", uint64(xid))
		}
		st, err := s.deps.Engine.TransactionStatus(s.env.Ctx, uint64(xid))
		if err != nil || st == engine.TxnUnknown {
			return sqltypes.Null, err
		}
		return sqltypes.Text(st.String()), nil
	}
	sqltypes.RegisterScalar("pg_xact_status", func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
		s, ok := sessionOf(c)
		if !ok {
			return sqltypes.Null, pgerror.NotSupported("%s outside of a session", c.Proc.Name)
		}
		return status(s, args[0].I)
	})
}
