package router

import (
	"bytes"
	"context"
	"encoding/binary"

	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// docPortal is a portal of a statement with documents of several shards.
type docPortal struct {
	docs *documents
	b    bound
	sc   *script
	out  *outcome // once it was executed
	over bool     // all rows were sent
}

// sharded reports that the buffered messages have to be executed one by one: a
// statement with documents of several shards is among them, or transaction control.
func (s *session) sharded() bool {
	if s.r.sharding == nil {
		return false
	}
	if s.pipe.piecewise {
		return true
	}
	here := map[string]*script{}
	for _, m := range s.pipe.msgs {
		var sc *script
		switch m.kind {
		case 'P':
			sc = m.script
			here[m.name] = sc
		case 'B', 'd':
			if sc = here[m.name]; sc == nil && s.stmts[m.name] != nil {
				sc = s.stmts[m.name].script
			}
		case 'D', 'C', 'E':
			if s.portals[portalOf(m.kind, s.pipe.data[m.start:m.end])] != nil {
				return true
			}
		}
		if sc != nil && (s.concerned(sc) || len(sc.txn) > 0) {
			return true
		}
	}
	return s.doc.part != nil || s.doc.lost != nil
}

// portalOf is the portal that a message names.
func portalOf(kind byte, body []byte) string {
	f := wire.NewFields(body)
	if kind != 'E' && f.Byte() != 'P' {
		return ""
	}
	return string(f.CString())
}

// piecewise executes the buffered messages one by one.
func (s *session) piecewise(synced bool) error {
	p := &s.pipe
	if p.on != nil {
		if err := s.tellFailed(pgerror.NotSupported("documents of several shards behind a Flush of a pipeline")); err != nil {
			return err
		}
		p.skip = true
		return s.skipped(synced)
	}
	p.piecewise = true
	s.mute, s.failed = true, false
	err := s.pieces(synced)
	s.mute = false
	if err != nil {
		return err
	}
	failed := s.failed
	p.msgs, p.data = p.msgs[:0], p.data[:0]
	if !synced {
		p.skip = failed
		s.out.Flush()
		return nil
	}
	p.reset()
	return s.synced(failed)
}

// synced ends a pipeline that was executed piecewise.
func (s *session) synced(failed bool) error {
	if s.doc.hidden {
		if err := s.unhide(failed); err != nil {
			if err := s.tell(err, false); err != nil {
				return err
			}
		}
	}
	if s.block == nil {
		s.closePortals()
	}
	s.out.ReadyForQuery(s.status)
	s.out.Flush()
	return nil
}

func (s *session) closePortals() {
	for name, p := range s.portals {
		p.close()
		delete(s.portals, name)
	}
}

func (p *docPortal) close() {
	if p.out != nil && p.out.rows != nil {
		_ = p.out.rows.close(nil)
	}
}

// pieces executes the messages up to the first error.
func (s *session) pieces(synced bool) error {
	executes, control := 0, false
	for _, m := range s.pipe.msgs {
		if m.kind == 'E' {
			executes++
		}
		if m.kind == 'P' {
			control = control || m.script.control
		} else if st := s.stmts[m.name]; m.kind == 'B' && st != nil {
			control = control || st.script.control
		}
	}
	if s.block == nil && !control && (executes > 1 || executes > 0 && !synced) {
		if err := s.hide(); err != nil {
			return s.tell(err, true)
		}
	}
	msgs := s.pipe.msgs
	for from := 0; from < len(msgs) && !s.failed; {
		handled, err := s.piece(msgs[from])
		if err != nil {
			return err
		}
		if handled {
			from++
			continue
		}
		to := from + 1
		for to < len(msgs) && !s.ours(msgs[to]) && !(msgs[to].kind == 'B' && msgs[to-1].kind == 'E') {
			to++
		}
		if err := s.forward(msgs[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// scriptOf is the script of the statement that a Parse, Bind or Describe names.
func (s *session) scriptOf(m sent) *script {
	if m.kind == 'P' {
		return m.script
	}
	if st := s.stmts[m.name]; st != nil && (m.kind == 'B' || m.kind == 'd') {
		return st.script
	}
	return nil
}

// ours reports a message that piece executes here.
func (s *session) ours(m sent) bool {
	switch m.kind {
	case 'P', 'B', 'd':
		sc := s.scriptOf(m)
		return sc != nil && s.concerned(sc)
	case 'D', 'C', 'E':
		return s.portals[portalOf(m.kind, s.pipe.data[m.start:m.end])] != nil
	}
	return false
}

// forward passes messages on with a Sync of their own.
func (s *session) forward(msgs []sent) error {
	all := s.pipe
	s.pipe.msgs = msgs
	defer func() { s.pipe.msgs, s.pipe.data = all.msgs, all.data }()
	sc, needs := s.judge()
	for _, m := range msgs { // judge drops what transaction control says
		if x := s.scriptOf(m); x != nil && m.kind == 'B' {
			sc.txn = append(sc.txn, x.txn...)
		}
	}
	executes := false
	for _, m := range msgs {
		executes = executes || m.kind == 'E'
	}
	if executes {
		if tag, done, err := s.before(sc); err != nil {
			return s.tellFailed(err)
		} else if done {
			s.out.CommandComplete(tag)
			return nil
		}
	}
	u, err := s.acquire(false)
	for i := 0; err == nil && i < len(needs); i++ {
		err = s.ensure(u, needs[i])
	}
	if err != nil {
		return s.tellFailed(err)
	}
	if err = s.send(u, true); err == nil {
		res := s.relay(u, msgs, true, result{})
		if err = res.err; err == nil {
			return s.after(u, sc, res)
		}
	}
	return s.lost(u, err, sc, true)
}

// piece executes one message that is about documents; false: it is not.
func (s *session) piece(m sent) (bool, error) {
	if !s.ours(m) {
		if m.kind == 'B' { // a portal of another statement takes the name
			f := wire.NewFields(s.pipe.data[m.start:m.end])
			delete(s.portals, string(f.CString()))
		}
		return false, nil
	}
	body := s.pipe.data[m.start:m.end]
	switch m.kind {
	case 'P':
		return true, s.prepareDocs(m, body)
	case 'd':
		return true, s.describeDocs(s.stmts[m.name])
	case 'B':
		return true, s.bindDocs(m, body)
	case 'D':
		return true, s.describePortal(s.portals[portalOf('D', body)])
	case 'C':
		name := portalOf('C', body)
		s.portals[name].close()
		delete(s.portals, name)
		s.out.CloseComplete()
		return true, nil
	}
	f := wire.NewFields(body)
	portal := s.portals[string(f.CString())]
	return true, s.executePortal(portal, int(f.Int32()))
}

// prepareDocs takes a Parse. A statement that a server executes in part is known to
// the first server too, which describes it.
func (s *session) prepareDocs(m sent, body []byte) error {
	err := errExecuteDocs
	if m.script.docs != nil {
		err = s.register(m, body)
	}
	if err != nil {
		return s.tellFailed(err)
	}
	s.out.ParseComplete()
	return nil
}

// errExecuteDocs refuses EXECUTE where Bind would do.
var errExecuteDocs error = pgerror.NotSupported("EXECUTE of a statement with documents of several shards in the extended protocol, or below another statement").
	WithHint("Send it as a simple query, or bind the prepared statement.")

// register takes a statement in.
func (s *session) register(m sent, body []byte) error {
	if s.inFailed() {
		return errFailedBlock()
	}
	if m.name != "" && s.stmts[m.name] != nil {
		return pgerror.New(pgerror.DuplicatePstatement, "prepared statement %q already exists", m.name)
	}
	if len(s.stmts) >= maxStatements {
		return pgerror.New(pgerror.ConfigurationLimitExceeded, "too many prepared statements in one session")
	}
	st := &statement{parse: m.body, script: m.script}
	f := wire.NewFields(body)
	f.CString()
	f.CString()
	for n := f.Count(4); n > 0; n-- {
		st.oids = append(st.oids, uint32(f.Int32()))
	}
	s.stmts[m.name] = st
	d := m.script.docs
	st.here = d.direct && d.describable()
	if st.here {
		for n := len(st.oids); n < d.params; n++ {
			st.oids = append(st.oids, 0)
		}
		for _, c := range d.calls {
			for k, a := range c.args {
				if a.param > 0 && st.oids[a.param-1] == 0 {
					st.oids[a.param-1] = uint32(c.params[k].Type)
				}
			}
		}
		return nil
	}
	u, err := s.acquire(false)
	if err == nil {
		err = s.ensure(u, m.name)
	}
	if err == nil {
		err = s.learn(u, m.name, st)
	}
	if err != nil {
		delete(s.stmts, m.name)
	}
	return err
}

// describable: every parameter of the statement is a parameter of the function.
func (d *documents) describable() bool {
	seen := map[int]bool{}
	for _, c := range d.calls {
		for _, a := range c.args {
			if a.param > 0 {
				seen[a.param] = true
			} else if !a.known {
				return false
			}
		}
	}
	return len(seen) == d.params
}

func errFailedBlock() error {
	return pgerror.New(pgerror.InFailedSqlTransaction, "current transaction is aborted, commands ignored until end of transaction block")
}

// learn asks the first server for the types of a statement's parameters and columns.
func (s *session) learn(u *upstream, name string, st *statement) error {
	err := u.Send('D', append([]byte("S"+name), 0))
	if err == nil {
		err = u.Send('S', nil)
	}
	if err == nil {
		err = u.Flush()
	}
	var refused *upstreamError
	for err == nil {
		var kind byte
		var body []byte
		if kind, body, err = u.Receive(context.Background()); err != nil {
			break
		}
		switch kind {
		case 't':
			f := wire.NewFields(body)
			st.oids = st.oids[:0]
			for n := f.Count(4); n > 0; n-- {
				st.oids = append(st.oids, uint32(f.Int32()))
			}
		case 'T':
			st.rows = bytes.Clone(body)
		case 'E':
			refused = &upstreamError{body: bytes.Clone(body)}
		case 'Z':
			if refused != nil {
				return s.upstreamFailed(u, refused)
			}
			return nil
		}
	}
	return s.upstreamFailed(u, err)
}

// describeDocs answers Describe of a statement.
func (s *session) describeDocs(st *statement) error {
	if st.script.docs == nil {
		return s.tellFailed(errExecuteDocs)
	}
	s.out.ParameterDescription(st.oids)
	switch {
	case st.here:
		s.describe(st.script.docs.columns(), nil)
	case st.rows == nil:
		s.out.NoData()
	default:
		s.out.Raw('T', st.rows)
	}
	return nil
}

// bindDocs makes a portal.
func (s *session) bindDocs(m sent, body []byte) error {
	if s.inFailed() {
		return s.tellFailed(errFailedBlock())
	}
	st := s.stmts[m.name]
	if st.script.docs == nil {
		return s.tellFailed(errExecuteDocs)
	}
	var w wire.Bind
	if err := w.Decode(bytes.Clone(body)); err != nil {
		return s.tellFailed(err)
	}
	name := string(w.Portal)
	if name != "" && s.portals[name] != nil {
		return s.tellFailed(pgerror.New(pgerror.DuplicateCursor, "cursor %q already exists", name))
	}
	if n := st.script.docs.params; len(w.Params) != n && st.here {
		return s.tellFailed(pgerror.New(pgerror.ProtocolViolation, "bind message supplies %d parameters, but prepared statement %q requires %d", len(w.Params), m.name, n))
	}
	if len(w.ParamFormats) > 1 && len(w.ParamFormats) != len(w.Params) {
		return s.tellFailed(pgerror.New(pgerror.ProtocolViolation, "bind message has %d parameter formats but %d parameters", len(w.ParamFormats), len(w.Params)))
	}
	if len(s.portals) >= maxPortals {
		return s.tellFailed(pgerror.New(pgerror.ConfigurationLimitExceeded, "too many portals in one session"))
	}
	if old := s.portals[name]; old != nil {
		old.close()
	}
	if s.portals == nil {
		s.portals = map[string]*docPortal{}
	}
	s.portals[name] = &docPortal{docs: st.script.docs, sc: st.script, b: bound{oids: st.oids, formats: w.ParamFormats, params: w.Params, results: w.ResultFormats}}
	s.out.BindComplete()
	return nil
}

// maxPortals bounds the portals of a session.
const maxPortals = 1000

// describePortal answers Describe of a portal.
func (s *session) describePortal(p *docPortal) error {
	if p.docs.direct || p.docs.utility {
		s.describe(p.docs.columns(), p.b.results)
		return nil
	}
	// The servers' columns do not depend on the answers of the calls.
	return s.original(p)
}

// original lets the first server describe the statement as the client wrote it.
func (s *session) original(p *docPortal) error {
	u, err := s.acquire(false)
	if err != nil {
		return s.tellFailed(err)
	}
	q := extendedQuery{sql: p.docs.text, oids: p.b.oids, formats: p.b.formats, params: p.b.params, results: p.b.results}
	if err = q.parseAndBind(u); err == nil {
		if err = u.Send('D', []byte{'P', 0}); err == nil {
			if err = u.Send('S', nil); err == nil {
				err = u.Flush()
			}
		}
	}
	if err == nil {
		res := s.pass(u, "12")
		if err = res.err; err == nil {
			s.settle(u, res)
			return nil
		}
	}
	return s.lost(u, err, &script{read: true}, true)
}

// executePortal executes a portal, or goes on with it.
func (s *session) executePortal(p *docPortal, limit int) error {
	if s.inFailed() {
		return s.tellFailed(errFailedBlock())
	}
	if states := p.sc.states; len(states) == 1 && states[0].prepare != "" {
		if err := s.prepareSQL(states[0]); err != nil {
			return s.tellFailed(err)
		}
		s.out.CommandComplete("PREPARE")
		return nil
	}
	if p.out == nil {
		out, err := s.execute(p.docs, &p.b)
		if err != nil {
			return s.tellFailed(err)
		}
		p.out = out
		if out.text != "" {
			return s.executeRest(p, limit)
		}
	}
	if p.over {
		s.complete(p.out, 0)
		return nil
	}
	n, more, err := s.sendRows(p.out, p.b.results, max(limit, 0))
	if err != nil {
		return s.tellFailed(err)
	}
	if more {
		s.out.PortalSuspended()
		return nil
	}
	p.over = true
	s.complete(p.out, n)
	return nil
}

// executeRest lets the first server execute what is left of the statement.
func (s *session) executeRest(p *docPortal, limit int) error {
	if limit > 0 {
		return s.tellFailed(pgerror.NotSupported("a row limit of Execute for a larger statement with documents of several shards"))
	}
	rest := &script{read: p.sc.read, tame: p.sc.tame, pin: p.sc.pin}
	if p.out.text == p.docs.text {
		rest = p.sc
	}
	if _, _, err := s.before(rest); err != nil {
		return s.tellFailed(err)
	}
	u, err := s.acquire(false)
	if err != nil {
		return s.tellFailed(err)
	}
	q := extendedQuery{sql: p.out.text, oids: p.b.oids, formats: p.b.formats, params: p.b.params, results: p.b.results}
	if err = q.send(u); err == nil {
		res := s.pass(u, "12")
		if err = res.err; err == nil {
			p.over = true
			return s.after(u, rest, res)
		}
	}
	return s.lost(u, err, rest, true)
}

// parseAndBind sends Parse and Bind without the rest.
func (q *extendedQuery) parseAndBind(u *upstream) error {
	u.unnamed = nil
	if err := u.Send('P', q.parseBody()); err != nil {
		return err
	}
	return u.Send('B', q.bindBody())
}

func (q *extendedQuery) parseBody() []byte {
	b := append([]byte{0}, q.sql...)
	b = binary.BigEndian.AppendUint16(append(b, 0), uint16(len(q.oids)))
	for _, o := range q.oids {
		b = binary.BigEndian.AppendUint32(b, o)
	}
	return b
}

func (q *extendedQuery) bindBody() []byte {
	b := appendFormats([]byte{0, 0}, q.formats)
	b = binary.BigEndian.AppendUint16(b, uint16(len(q.params)))
	for _, p := range q.params {
		if p == nil {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return appendFormats(b, q.results)
}
