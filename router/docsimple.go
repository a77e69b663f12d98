package router

import (
	"context"
	"strconv"

	"ostraka/pgfront/wire"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// simpleSharded executes a query string before plain servers; false: it is to be
// passed on as it is.
func (s *session) simpleSharded(body []byte, sc *script) (handled bool, err error) {
	if len(sc.parts) > 0 {
		docs := false
		for _, p := range sc.parts {
			docs = docs || s.concerned(p)
		}
		if docs || sc.control {
			return true, s.several(sc, docs)
		}
		return s.refusedBefore(sc)
	}
	if s.concerned(sc) {
		switch {
		case sc.docs == nil:
			return true, s.executeDocs(sc)
		case len(sc.states) == 1 && sc.states[0].prepare != "":
			if err := s.prepareSQL(sc.states[0]); err != nil {
				return true, s.tellFailed(err)
			}
			s.out.CommandComplete("PREPARE")
			s.ready()
			return true, nil
		}
		return true, s.simpleDocs(sc)
	}
	return s.refusedBefore(sc)
}

// refusedBefore tells what before says.
func (s *session) refusedBefore(sc *script) (bool, error) {
	tag, done, err := s.before(sc)
	switch {
	case err != nil:
		return true, s.tellFailed(err)
	case done:
		s.out.CommandComplete(tag)
		s.ready()
		return true, nil
	}
	return false, nil
}

// ready ends the answer to a query string.
func (s *session) ready() {
	if !s.mute {
		s.out.ReadyForQuery(s.status)
		s.out.Flush()
	}
}

// tellFailed tells an error of the router's own, which fails a block.
func (s *session) tellFailed(err error) error {
	s.failBlock()
	return s.tell(err, true)
}

// several executes the statements of a query string one after the other. With
// documents of several shards they are a block, unless they make one themselves.
func (s *session) several(sc *script, docs bool) error {
	if sc.listen {
		return s.tellFailed(pgerror.NotSupported("LISTEN together with transaction control in one query string"))
	}
	s.mute, s.failed = true, false
	hide := docs && !sc.control && s.block == nil
	err := s.together(sc, hide)
	s.mute = false
	if err != nil {
		return err
	}
	s.ready()
	return nil
}

func (s *session) together(sc *script, hide bool) error {
	if hide {
		if err := s.hide(); err != nil {
			return s.tell(err, true)
		}
	}
	for _, p := range sc.parts {
		body := append([]byte(p.text), 0)
		handled, err := s.simpleSharded(body, p)
		if err == nil && !handled {
			err = s.call('Q', body, p)
		}
		if err != nil {
			return err
		}
		if s.failed {
			break
		}
	}
	if hide {
		if err := s.unhide(s.failed); err != nil {
			return s.tell(err, true)
		}
	}
	return nil
}

// simpleDocs executes one statement with documents of several shards.
func (s *session) simpleDocs(sc *script) error {
	delete(s.stmts, "")
	out, err := s.execute(sc.docs, nil)
	if err != nil {
		return s.tellFailed(err)
	}
	if out.text != "" {
		rest := &script{read: sc.read, tame: sc.tame, pin: sc.pin}
		if out.text == sc.docs.text {
			rest = sc
		}
		if handled, err := s.refusedBefore(rest); handled || err != nil {
			return err
		}
		return s.call('Q', append([]byte(out.text), 0), rest)
	}
	return s.answer(out)
}

// answer sends the answer of a statement that the router has executed itself.
func (s *session) answer(out *outcome) error {
	s.describe(out.cols, nil)
	n, _, err := s.sendRows(out, nil, 0)
	if err != nil {
		return s.tellFailed(err)
	}
	s.complete(out, n)
	s.ready()
	return nil
}

// sendRows writes rows of an answer, at most limit (0: all); more says that some are left.
func (s *session) sendRows(o *outcome, formats []int16, limit int) (n int, more bool, err error) {
	if o.rows == nil {
		for _, l := range o.lines {
			if err := s.row(o.cols, formats, []sqltypes.Datum{sqltypes.Text(l)}); err != nil {
				return n, false, err
			}
			n++
		}
		return n, false, nil
	}
	for limit == 0 || n < limit {
		vals, ok, err := o.rows.next()
		if err == nil && ok {
			err = s.row(o.cols, formats, vals)
		}
		if err != nil {
			return n, false, o.rows.close(err)
		}
		if !ok {
			return n, false, o.rows.close(nil)
		}
		n++
	}
	return n, true, nil
}

func (s *session) complete(o *outcome, n int) {
	if o.rows == nil {
		s.out.CommandComplete("EXPLAIN")
		return
	}
	s.out.CommandComplete("SELECT " + strconv.Itoa(n))
}

// pass relays the answer to a query of the router's own making, without frames that
// the client has not asked for.
func (s *session) pass(u *upstream, skip string) (res result) {
	for {
		kind, body, err := u.Receive(context.Background())
		if err != nil {
			res.err = err
			return res
		}
		switch kind {
		case 'E':
			res.failed = true
			s.failed = true
		case 'C':
			res.tag = tagOf(body)
		case 'Z':
			res.status = body[0]
			return res
		case 'G':
			res.err = &clientGone{pgerror.NotSupported("COPY FROM with documents of several shards")}
			return res
		}
		keep := true
		for i := range len(skip) {
			keep = keep && skip[i] != kind
		}
		if keep {
			s.out.Raw(kind, body)
		}
		if s.out.Err() != nil {
			res.err = &clientGone{s.out.Err()}
			return res
		}
	}
}

// inFailed reports a block that has failed.
func (s *session) inFailed() bool { return s.status == wire.StatusFailed }
