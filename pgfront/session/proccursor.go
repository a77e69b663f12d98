package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/plpgsql"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Begin implements plpgsql.Host: a savepoint without a name.
func (h *procHost) Begin() (int, error) {
	s := h.s
	t := &s.tx
	sp := savepoint{mark: s.set.Mark(), readOnly: t.readOnly, listens: s.notify.mark(), checks: s.deferredMark()}
	end := nothing
	if t.txn == nil && !h.readOnly {
		if err := s.beginTxn(); err != nil {
			return 0, err
		}
	}
	if t.txn != nil {
		end = t.txn.NestStatement()
		sp.id = t.txn.Savepoint()
		if t.part != nil {
			if err := t.part.Savepoint(s.env.Ctx, len(t.saves)); err != nil {
				end()
				return 0, err
			}
		}
	}
	t.saves = append(t.saves, sp)
	h.unnest = append(h.unnest, end)
	return len(t.saves) - 1, nil
}

// RollbackTo implements plpgsql.Host.
func (h *procHost) RollbackTo(i int) error {
	s := h.s
	t := &s.tx
	if t.dead != nil {
		return t.dead
	}
	s.closePortals(func(p *portal) bool { return p.cursor && !p.held && p.level > i })
	if t.txn != nil {
		if err := t.txn.RollbackTo(t.saves[i].id); err != nil {
			t.dead = err
			return err
		}
	}
	if err := s.rollbackParticipant(i); err != nil {
		t.dead = err
		return err
	}
	s.set.RollbackTo(t.saves[i].mark)
	s.notify.rollback(t.saves[i].listens)
	s.deferredTruncate(t.saves[i].checks)
	s.path.valid = false
	t.readOnly = t.saves[i].readOnly
	t.saves = t.saves[:i+1]
	return nil
}

// Release implements plpgsql.Host.
func (h *procHost) Release(i int) error {
	s := h.s
	t := &s.tx
	if n := len(h.unnest); n > 0 {
		defer h.unnest[n-1]()
		h.unnest = h.unnest[:n-1]
	}
	if i >= len(t.saves) {
		return nil
	}
	if t.txn != nil {
		t.txn.Release(t.saves[i].id)
	}
	if t.part != nil && i >= t.partLevel {
		if err := t.part.Release(s.env.Ctx, i); err != nil {
			return err
		}
	}
	t.partLevel = min(t.partLevel, i)
	t.saves = t.saves[:i]
	for _, p := range s.portals {
		p.level = min(p.level, i)
	}
	return nil
}

// Open implements plpgsql.Host.
func (h *procHost) Open(name string, q *plpgsql.Query, names plpgsql.Names, scroll int8) (string, error) {
	f, vals, err := h.values(q, names, nil)
	if err != nil {
		return "", err
	}
	return h.openCursor(name, f.p, vals, scroll)
}

// OpenDynamic implements plpgsql.Host.
func (h *procHost) OpenDynamic(name, text string, args []sqltypes.Datum, types []sqltypes.OID, scroll int8) (string, error) {
	s := h.s
	list, err := s.deps.Planner.Parse(text)
	if err != nil {
		return "", inQuery(err, text)
	}
	if len(list) != 1 {
		return "", pgerror.New(pgerror.InvalidCursorDefinition, "cannot open multi-query plan as cursor")
	}
	p := &prepared{text: text, stmt: list[0], declared: types}
	s.classify(s.catalog(), p.stmt, text)
	if p.stmt.Planned {
		if err := s.compile(p, s.catalog()); err != nil {
			return "", inQuery(err, text)
		}
	}
	return h.openCursor(name, p, args[:min(len(args), len(p.params))], scroll)
}

// openCursor opens a cursor. Its rows are read now: the statement that runs goes on.
func (h *procHost) openCursor(name string, p *prepared, args []sqltypes.Datum, scroll int8) (string, error) {
	s := h.s
	if !p.stmt.Planned || p.cols == nil {
		return "", pgerror.New(pgerror.InvalidCursorDefinition, "cannot open %s query as cursor", p.stmt.Tag)
	}
	if name == "" {
		for {
			s.unnamed++
			name = sprintf("<unnamed portal %d>", s.unnamed)
			if s.portals[name] == nil {
				break
			}
		}
	} else if s.portals[name] != nil {
		return "", pgerror.New(pgerror.DuplicateCursor, `cursor "%s" already in use`, name)
	}
	q := p
	var rels []cursorRel
	if p.stmt.AST.GetSelectStmt() != nil {
		if with, found := s.cursorRels(p.text, p.stmt.AST); with != nil {
			w := s.innerStatement(p, with)
			w.body = p.body
			if s.compile(w, s.catalog()) == nil {
				q, rels = w, found
			}
		}
	}
	hidden := hiddenColumns(rels)
	po := &portal{s: s, name: name, p: q, plan: q.plan, cols: q.cols[:len(q.cols)-hidden], rels: rels, hidden: hidden, args: args, cursor: true, scroll: scroll > 0}
	if scroll == 0 {
		po.scroll = !q.plan.Class.Writes() && scansBackward(q.plan.Root)
	}
	if err := s.startNestedFresh(po, h.readOnly); err != nil {
		return "", err
	}
	if err := po.fill(); err != nil {
		po.close()
		return "", err
	}
	po.stop()
	if err := s.addPortal(po); err != nil {
		po.close()
		return "", err
	}
	return name, nil
}

// Fetch implements plpgsql.Host.
func (h *procHost) Fetch(name, direction string, count int64, all, move bool, rows plpgsql.RowFunc) (int64, error) {
	s := h.s
	po, err := s.findCursor(name)
	if err != nil {
		return 0, err
	}
	if !po.started && po.spool == nil {
		if err := s.startNestedFresh(po, h.readOnly); err != nil {
			return 0, err
		}
		if err := po.fill(); err != nil {
			return 0, err
		}
		po.stop()
	}
	dir := map[string]pg.FetchDirection{"next": pg.FetchDirection_FETCH_FORWARD, "prior": pg.FetchDirection_FETCH_BACKWARD,
		"first": pg.FetchDirection_FETCH_ABSOLUTE, "last": pg.FetchDirection_FETCH_ABSOLUTE, "absolute": pg.FetchDirection_FETCH_ABSOLUTE,
		"relative": pg.FetchDirection_FETCH_RELATIVE, "forward": pg.FetchDirection_FETCH_FORWARD, "backward": pg.FetchDirection_FETCH_BACKWARD}[direction]
	switch {
	case direction == "last":
		count = -1
	case all:
		count = 1<<63 - 1
	}
	cols := po.cols
	var row []sqltypes.Datum
	return po.fetch(dir, count, move, func(b *expr.Batch, i int) error {
		row = row[:0]
		for k := range cols {
			row = append(row, keepDatum(b.Cols[k].Datum(i)))
		}
		return rows(cols, row)
	})
}

// CloseCursor implements plpgsql.Host.
func (h *procHost) CloseCursor(name string) error {
	p, err := h.s.findCursor(name)
	if err != nil {
		return err
	}
	p.close()
	delete(h.s.portals, name)
	return nil
}

// Pin implements plpgsql.Host.
func (h *procHost) Pin(name string, on bool) {
	if p := h.s.portals[name]; p != nil {
		p.pinned = on
	}
}

// EndTransaction implements plpgsql.Host.
func (h *procHost) EndTransaction(commit, chain bool) error {
	s := h.s
	for _, p := range s.portals {
		if p.pinned {
			p.ended, p.held, p.level = true, true, 0 // its rows are in a spool
		}
	}
	c := s.tx.characteristics()
	if commit {
		if err := s.commitTransaction(); err != nil {
			s.openTransaction(txImplicit)
			return err
		}
	} else {
		s.rollbackTransaction()
	}
	s.openTransaction(txImplicit)
	if chain {
		s.tx.isolation, s.tx.isoName, s.tx.readOnly, s.tx.deferrable = c.isolation, c.isoName, c.readOnly, c.deferrable
	}
	return nil
}
