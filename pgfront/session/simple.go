package session

import (
	"unicode/utf8"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/pgfront/wire"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes/pgerror"
)

// simpleQuery handles a Query message: every statement of the string in turn, in
// one implicit transaction if there are several.
func (s *Session) simpleQuery(body []byte) error {
	f := wire.NewFields(body)
	raw := f.CString()
	if err := f.End(); err != nil {
		return fatal(err.(*pgerror.Error))
	}
	if err := s.drainUpstream(); err != nil {
		// The messages before failed: like them, this one is skipped up to Sync.
		s.failExtended(err)
		return s.fatalEnd()
	}
	s.inQuery = true
	s.dropUnnamed()
	sql, err := s.conf.encoding.Decode(raw)
	if err != nil {
		s.begin("")
		s.fail(err)
		s.end()
		s.ready()
		return s.fatalEnd()
	}
	s.begin(sql)
	if err := s.queryString(sql); err != nil {
		s.fail(err)
	}
	s.end()
	s.ready()
	return s.fatalEnd()
}

func (s *Session) queryString(sql string) error {
	if s.conf.escapeStrings {
		var err error
		if sql, err = parse.EscapeStrings(sql); err != nil {
			return err
		}
	}
	missed := false
	if s.cacheUsable() {
		done, err := s.quick(sql)
		if done {
			if err == nil {
				s.countRan(s.began, false)
			}
			return err
		}
		missed = true
	}
	list, err := s.deps.Planner.Parse(sql)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		s.out.EmptyQueryResponse()
		return nil
	}
	for i, stmt := range list {
		last := i == len(list)-1
		if len(list) > 1 {
			// A block that a COMMIT inside the string ended starts anew as an implicit one.
			if s.tx.state == txNone {
				s.openTransaction(txImplicit)
			}
			if s.tx.state == txImplicit && !s.tx.several {
				if s.tx.remote { // what the messages before it in the series did there belongs to it
					if err := s.remoteControl("BEGIN"); err != nil {
						return err
					}
				}
				s.tx.several = true
			}
			if i > 0 {
				s.rearm()
			}
		}
		began := s.began
		if i > 0 {
			began = s.now()
		}
		s.counting = counting{}
		if err := s.simpleStatement(&prepared{text: sql, stmt: stmt}, last, missed && len(list) == 1); err != nil {
			return err
		}
		s.countRan(began, false)
		if err := s.fatalEnd(); err != nil {
			return err
		}
	}
	return nil
}

// rearm starts the clock of statement_timeout again for the next statement of a string.
func (s *Session) rearm() {
	if s.timedCtx != nil {
		ctx := s.timedCtx
		s.stopTimer()
		if d := s.conf.statementTimeout; d > 0 {
			s.startTimer(ctx, d)
		}
	}
}

// simpleStatement runs one statement of a query string; learn offers its plan to the plan cache.
func (s *Session) simpleStatement(p *prepared, last, learn bool) error {
	if s.tx.state == txFailed && !exits(p.stmt.AST) {
		return errAborted()
	}
	s.startTransaction()
	s.awaitOwn()
	s.classify(s.catalog(), p.stmt, p.text)
	if s.goesUpstream(p.stmt) {
		return s.forwardSimple(p, last)
	}
	err := s.localSimple(p, last, learn)
	if s.lostLead(err) {
		if p.stmt.AST.GetTransactionStmt() != nil {
			// SAVEPOINT is known here as well, and goes to the leader by itself.
			return s.lostLeadExtended(s.localSimple(p, last, learn))
		}
		return s.forwardSimple(p, last)
	}
	return err
}

func (s *Session) forwardSimple(p *prepared, last bool) error {
	if err := s.relaySimple(p); err != nil {
		return err
	}
	return s.finishSimple(last)
}

// localSimple runs one statement of a query string on this node.
func (s *Session) localSimple(p *prepared, last, learn bool) error {
	if err := s.awaitState(p.stmt.Class); err != nil {
		return err
	}
	if !p.stmt.Planned {
		return s.simpleUtility(p, last)
	}
	po := &portal{s: s, p: p}
	if learn {
		if err := s.learn(po); err != nil {
			return err
		}
	} else if err := s.analyzeFresh(p); err != nil {
		return err
	}
	if err := p.due(); err != nil {
		return err
	}
	if len(p.params) > 0 {
		return pgerror.New(pgerror.UndefinedParameter, "there is no parameter $1")
	}
	po.plan, po.cols = p.plan, p.cols
	defer po.close()
	return s.runSimple(po, last)
}

// runSimple runs a planned statement of a query string.
func (s *Session) runSimple(po *portal, last bool) error {
	p := po.p
	if p.cols != nil {
		enc, err := s.encoder(p, p.cols, nil)
		if err != nil {
			return err
		}
		po.enc = enc
	}
	if done, err := s.short(po, true); done || err != nil {
		if err == nil {
			err = s.finishSimple(last)
			if err == nil {
				s.ran(p, po.affected)
				s.out.CommandCompleteCount("SELECT", po.affected)
			}
		}
		return err
	}
	if p.stmt.AST == nil {
		if err := s.startWith(po, cannotReplan); err != nil {
			return err
		}
	} else if err := s.start(po); err != nil {
		return err
	}
	n, err := s.sendAll(po)
	if err != nil {
		return err
	}
	if err := s.finishSimple(last); err != nil {
		return err
	}
	s.completePlan(po, n)
	return nil
}

// analyzeFresh plans; on a follower, where the catalogue may lag, a failure is
// tried once more after the leader's position has been applied.
func (s *Session) analyzeFresh(p *prepared) error {
	err := s.analyze(p)
	if err == nil || s.leads() || s.tx.txn != nil || !mayLag(err) {
		return err
	}
	if werr := engine.Confirm(s.env.Ctx, s.deps.Engine); werr != nil {
		return err
	}
	return s.analyze(p)
}

// mayLag reports errors of binding that a newer catalogue may cure: class 42.
func mayLag(err error) bool { return string(pgerror.CodeOf(err))[:2] == "42" }

// sendAll runs the portal to its end and sends its rows.
func (s *Session) sendAll(po *portal) (int64, error) {
	if po.p.cols == nil {
		n, _, err := po.forward(0, func(*expr.Batch, int) error { return nil })
		return n, err
	}
	// The description waits for the first row: a statement that fails before it, like
	// SELECT 1/0, answers only its error (PostgreSQL finds that while planning).
	enc, out, described := po.enc, s.out, false
	n, _, err := po.forward(0, func(b *expr.Batch, i int) error {
		if !described {
			s.rowDescription(po.p.cols, nil)
			described = true
		}
		if err := enc.batchRow(out, b, i); err != nil {
			return err
		}
		return out.Err()
	})
	if err == nil && !described {
		s.rowDescription(po.p.cols, nil)
	}
	return n, err
}

// completePlan sends CommandComplete of a planned statement.
func (s *Session) completePlan(po *portal, rows int64) {
	s.ran(po.p, po.affected)
	switch po.plan.Command {
	case "SELECT":
		s.ran(po.p, rows)
		s.out.CommandCompleteCount("SELECT", rows)
	case "INSERT":
		s.out.CommandCompleteCount("INSERT 0", po.affected)
	default:
		s.out.CommandCompleteCount(po.plan.Command, po.affected)
	}
}

// finishSimple commits after the last statement, or after each one outside of a block.
func (s *Session) finishSimple(last bool) error {
	if s.tx.state == txImplicit && (last || !s.tx.several) {
		return s.commitTransaction()
	}
	return nil
}

// simpleUtility runs a statement that is not planned.
func (s *Session) simpleUtility(p *prepared, last bool) error {
	o, err := s.utility(p, nil)
	if err != nil {
		return err
	}
	if o.cols != nil {
		enc, err := newRowEncoder(&s.env, s.conf.encoding, o.cols, o.formats)
		if err != nil {
			return err
		}
		// The description waits for the first row, so that a statement that fails at once answers only its error.
		described := false
		describe := func() {
			if !described && !o.silent {
				s.rowDescription(o.cols, o.formats)
			}
			described = true
		}
		tag, err := o.run(func(b *expr.Batch, i int) error {
			describe()
			if err := enc.batchRow(s.out, b, i); err != nil {
				return err
			}
			return s.out.Err()
		})
		if err != nil {
			return err
		}
		describe()
		o.tag = tag
	}
	if err := s.finishSimple(last); err != nil {
		return err
	}
	s.ran(p, tagRows(o.tag))
	s.out.CommandComplete(o.tag)
	return nil
}

// dropUnnamed forgets the unnamed statement and portal, as a Query message does.
func (s *Session) dropUnnamed() {
	delete(s.stmts, "")
	if p := s.portals[""]; p != nil {
		p.close()
		delete(s.portals, "")
	}
}

// charPos converts a byte offset of a text to a 1-based character position.
func charPos(text string, offset int32) int {
	if offset < 0 || int(offset) > len(text) {
		return 0
	}
	return utf8.RuneCountInString(text[:offset]) + 1
}

var _ = planner.ClassRead
