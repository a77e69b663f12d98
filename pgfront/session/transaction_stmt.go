package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/sqltypes/pgerror"
)

// exits reports a statement that a failed block accepts (PostgreSQL's IsTransactionExitStmt).
func exits(n *pg.Node) bool {
	t := n.GetTransactionStmt()
	if t == nil {
		return false
	}
	switch t.Kind {
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT, pg.TransactionStmtKind_TRANS_STMT_PREPARE,
		pg.TransactionStmtKind_TRANS_STMT_ROLLBACK, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return true
	}
	return false
}

// transactionStmt runs BEGIN, COMMIT, SAVEPOINT and their like and returns the tag.
func (s *Session) transactionStmt(n *pg.TransactionStmt) (string, error) {
	t := &s.tx
	switch n.Kind {
	case pg.TransactionStmtKind_TRANS_STMT_BEGIN, pg.TransactionStmtKind_TRANS_STMT_START:
		tag := "BEGIN"
		if n.Kind == pg.TransactionStmtKind_TRANS_STMT_START {
			tag = "START TRANSACTION"
		}
		switch t.state {
		case txBlock:
			s.warn(pgerror.ActiveSqlTransaction, "there is already a transaction in progress")
		case txNone:
			s.openTransaction(txBlock)
		case txImplicit:
			if t.remote && !t.several { // messages before it in the series were executed there
				if err := s.remoteControl("BEGIN"); err != nil {
					return "", err
				}
			}
			t.state = txBlock
		}
		return tag, s.transactionOptions(n.Options)
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT:
		return s.commitStmt(n.Chain)
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		return s.rollbackStmt(n.Chain)
	case pg.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		return "SAVEPOINT", s.savepoint(n.SavepointName)
	case pg.TransactionStmtKind_TRANS_STMT_RELEASE:
		return "RELEASE", s.release(n.SavepointName)
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return "ROLLBACK", s.rollbackTo(n.SavepointName)
	case pg.TransactionStmtKind_TRANS_STMT_PREPARE:
		return "", pgerror.NotSupported("PREPARE TRANSACTION")
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED:
		return "", pgerror.NotSupported("COMMIT PREPARED")
	}
	return "", pgerror.NotSupported("ROLLBACK PREPARED")
}

// characteristics are what AND CHAIN carries over.
type characteristics struct {
	isolation            engine.Isolation
	isoName              string
	readOnly, deferrable bool
}

func (t *txn) characteristics() characteristics {
	return characteristics{t.isolation, t.isoName, t.readOnly, t.deferrable}
}

// chain opens the next block with the characteristics of the one before.
func (s *Session) chain(c characteristics) {
	s.openTransaction(txBlock)
	s.tx.isolation, s.tx.isoName, s.tx.readOnly, s.tx.deferrable = c.isolation, c.isoName, c.readOnly, c.deferrable
	s.tx.began = c
}

// chained are the characteristics for a block after this one. A block that failed as
// a whole has lost, with its settings, those that it was given itself.
func (t *txn) chained() characteristics {
	if t.state == txFailed && len(t.saves) == 0 {
		return t.began
	}
	return t.characteristics()
}

func (s *Session) commitStmt(chain bool) (string, error) {
	t := &s.tx
	explicit := t.state == txBlock || t.state == txFailed
	if chain && !explicit {
		return "", pgerror.New(pgerror.NoActiveSqlTransaction, "COMMIT AND CHAIN can only be used in transaction blocks")
	}
	if !explicit {
		s.warn(pgerror.NoActiveSqlTransaction, "there is no transaction in progress")
		return "COMMIT", s.commitTransaction()
	}
	c := t.chained()
	tag := "COMMIT"
	var err error
	if t.state == txFailed {
		tag = "ROLLBACK"
		s.rollbackTransaction()
	} else {
		err = s.commitTransaction()
	}
	if err != nil {
		return "", err
	}
	if chain {
		s.chain(c)
	}
	return tag, nil
}

func (s *Session) rollbackStmt(chain bool) (string, error) {
	t := &s.tx
	explicit := t.state == txBlock || t.state == txFailed
	if chain && !explicit {
		return "", pgerror.New(pgerror.NoActiveSqlTransaction, "ROLLBACK AND CHAIN can only be used in transaction blocks")
	}
	if !explicit {
		s.warn(pgerror.NoActiveSqlTransaction, "there is no transaction in progress")
	}
	c := t.chained()
	s.rollbackTransaction()
	if chain {
		s.chain(c)
	}
	return "ROLLBACK", nil
}

func (s *Session) explicitBlock(what string) error {
	if s.tx.state == txBlock || s.tx.state == txFailed {
		return nil
	}
	return pgerror.New(pgerror.NoActiveSqlTransaction, "%s can only be used in transaction blocks", what)
}

func (s *Session) savepoint(name string) error {
	if err := s.explicitBlock("SAVEPOINT"); err != nil {
		return err
	}
	t := &s.tx
	sp := savepoint{name: name, mark: s.set.Mark(), readOnly: t.readOnly, listens: s.notify.mark(), checks: s.deferredMark()}
	if s.blockGoesUpstream() {
		if err := s.remoteControl("SAVEPOINT " + quoteIdent(name)); err != nil {
			return err
		}
	} else {
		if err := s.beginTxn(); err != nil {
			return err
		}
		sp.id = t.txn.Savepoint()
		if t.part != nil {
			if err := t.part.Savepoint(s.env.Ctx, len(t.saves)); err != nil {
				return err
			}
		}
	}
	t.saves = append(t.saves, sp)
	return nil
}

func (s *Session) findSavepoint(name string) (int, error) {
	for i := len(s.tx.saves) - 1; i >= 0; i-- {
		if s.tx.saves[i].name == name {
			return i, nil
		}
	}
	return 0, pgerror.New(pgerror.SEInvalidSpecification, `savepoint "%s" does not exist`, name)
}

func (s *Session) release(name string) error {
	if err := s.explicitBlock("RELEASE SAVEPOINT"); err != nil {
		return err
	}
	i, err := s.findSavepoint(name)
	if err != nil {
		return err
	}
	if s.tx.remote {
		if err := s.remoteControl("RELEASE SAVEPOINT " + quoteIdent(name)); err != nil {
			return err
		}
	} else if s.tx.txn != nil {
		s.tx.txn.Release(s.tx.saves[i].id)
	}
	if s.tx.part != nil && i >= s.tx.partLevel {
		if err := s.tx.part.Release(s.env.Ctx, i); err != nil {
			return err
		}
	}
	s.tx.partLevel = min(s.tx.partLevel, i)
	s.tx.readOnly = s.tx.saves[i].readOnly // SET TRANSACTION ends with its subtransaction
	s.tx.saves = s.tx.saves[:i]
	for _, p := range s.portals {
		p.level = min(p.level, i)
	}
	return nil
}

func (s *Session) rollbackTo(name string) error {
	if err := s.explicitBlock("ROLLBACK TO SAVEPOINT"); err != nil {
		return err
	}
	i, err := s.findSavepoint(name)
	if err != nil {
		return err
	}
	t := &s.tx
	if t.dead != nil && t.txn == nil {
		return t.dead // there is nothing to go back to
	}
	s.closePortals(func(p *portal) bool { return !p.held && p.level > i })
	if t.remote {
		if err := s.remoteControl("ROLLBACK TO SAVEPOINT " + quoteIdent(name)); err != nil {
			return err
		}
		s.up.forgetSettings()
	} else if t.txn != nil && t.dead == nil {
		if err := t.txn.RollbackTo(t.saves[i].id); err != nil {
			t.dead = err
		}
	}
	if err := s.rollbackParticipant(i); err != nil {
		t.dead = err
	}
	t.saves = t.saves[:i+1]
	s.set.RollbackTo(t.saves[i].mark)
	s.notify.rollback(t.saves[i].listens)
	s.deferredTruncate(t.saves[i].checks)
	t.readOnly = t.saves[i].readOnly
	t.state = txBlock
	return nil
}

// transactionOptions applies BEGIN's and SET TRANSACTION's options.
func (s *Session) transactionOptions(options []*pg.Node) error {
	for _, o := range options {
		d := o.GetDefElem()
		val := constText(d.GetArg())
		switch d.GetDefname() {
		case "transaction_isolation":
			if err := s.setIsolation(val); err != nil {
				return err
			}
		case "transaction_read_only":
			if err := s.setReadOnly(val == "1" || val == "on" || val == "true"); err != nil {
				return err
			}
		case "transaction_deferrable":
			if err := s.setDeferrable(val == "1" || val == "on" || val == "true"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) setIsolation(name string) error {
	t := &s.tx
	level := isolationOf(name)
	if t.isoName == name {
		return nil
	}
	if t.queried || t.remote {
		return pgerror.New(pgerror.ActiveSqlTransaction, "SET TRANSACTION ISOLATION LEVEL must be called before any query")
	}
	if len(t.saves) > 0 {
		return pgerror.New(pgerror.ActiveSqlTransaction, "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	}
	if t.txn != nil {
		t.txn.Rollback()
		t.txn = nil
	}
	t.isolation, t.isoName = level, name
	return nil
}

func (s *Session) setReadOnly(on bool) error {
	t := &s.tx
	if t.readOnly == on {
		return nil
	}
	if !on && (t.queried || t.remote) {
		return pgerror.New(pgerror.ActiveSqlTransaction, "transaction read-write mode must be set before any query")
	}
	if !on && t.txn != nil {
		t.txn.Rollback()
		t.txn = nil
	}
	t.readOnly = on
	return nil
}

func (s *Session) setDeferrable(on bool) error {
	if s.tx.queried {
		return pgerror.New(pgerror.ActiveSqlTransaction, "SET TRANSACTION [NOT] DEFERRABLE must be called before any query")
	}
	s.tx.deferrable = on
	return nil
}
