package router

import (
	"bytes"

	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// pipeline is what the client has sent of the extended protocol since the last
// Sync. It is decided as a whole: all of it goes to one upstream session.
type pipeline struct {
	data []byte // bodies of the messages not yet sent
	msgs []sent
	on   *upstream // where a part that ended with Flush has gone
	skip bool      // an error was told: everything up to Sync is dropped
	ran  *script   // what was sent so far, together
	// piecewise: what came before a Flush was executed message by message.
	piecewise bool
}

// sent is one message.
type sent struct {
	kind       byte
	start, end int
	name       string     // of the statement, for Parse, Bind, Describe and Close of statements
	script     *script    // of a Parse
	body       []byte     // of a Parse, kept
	stmt       *statement // of a Parse that says again what the statement is
}

func (p *pipeline) reset() {
	data, msgs := p.data[:0], p.msgs[:0]
	if cap(data) > 1<<20 {
		data = nil
	}
	*p = pipeline{data: data, msgs: msgs}
}

// buffer keeps a message until the client asks for answers.
func (s *session) buffer(kind byte, body []byte) error {
	p := &s.pipe
	if p.skip {
		return nil
	}
	if len(p.data)+len(body) > maxMessage {
		p.skip = true
		return s.tell(pgerror.New(pgerror.ProgramLimitExceeded, "more than %d bytes up to a Sync", maxMessage), false)
	}
	m := sent{kind: kind, start: len(p.data), end: len(p.data) + len(body)}
	f := wire.NewFields(body)
	switch kind {
	case 'P':
		m.name = string(f.CString())
		m.script = analyse(string(f.CString()))
		m.body = append([]byte(nil), body...)
	case 'B':
		f.CString()
		m.name = string(f.CString())
	case 'D', 'C':
		if f.Byte() != 'S' {
			break
		}
		m.name = string(f.CString())
		if kind == 'D' {
			m.kind = 'd' // Describe of a statement
		} else {
			m.kind = 'c'
		}
	}
	p.data = append(p.data, body...)
	p.msgs = append(p.msgs, m)
	return nil
}

// segment sends what is buffered and relays the answers.
func (s *session) segment(synced bool) error {
	p := &s.pipe
	if synced {
		s.r.stats.requests.Add(1)
	}
	if p.skip {
		return s.skipped(synced)
	}
	if len(p.msgs) == 0 && !synced {
		return nil
	}
	if s.sharded() {
		return s.piecewise(synced)
	}
	sc, needs := s.judge()
	u := p.on
	var err error
	switch {
	case u == nil && len(p.msgs) == 0:
		if s.block == nil {
			s.out.ReadyForQuery(s.status)
			s.out.Flush()
			return nil
		}
		u, err = s.acquire(false)
	case u == nil:
		u, err = s.acquire(sc.read)
	case u.replica && !sc.read && s.block == nil:
		err = pgerror.NotSupported("a statement that may write behind a Flush of a pipeline that only read")
	}
	for i := 0; err == nil && i < len(needs); i++ {
		if p.on != nil && s.stmts[needs[i]] != nil && s.stmts[needs[i]].on[side(u)] != u {
			err = pgerror.NotSupported("a pipeline that goes on after a Flush with a statement prepared on another server")
		} else {
			err = s.ensure(u, needs[i])
		}
	}
	if err != nil {
		if err := s.tell(err, false); err != nil {
			return err
		}
		p.skip = true
		return s.skipped(synced)
	}
	if p.ran != nil {
		sc = joined(p.ran, sc)
	}
	return s.exchange(u, sc, synced)
}

// exchange sends the buffered messages in one write and relays what comes back.
func (s *session) exchange(u *upstream, sc *script, synced bool) error {
	p := &s.pipe
	var res result
	if res.err = s.send(u, synced); res.err == nil {
		expect := p.msgs
		if expect == nil {
			expect = []sent{}
		}
		res = s.relay(u, expect, synced, result{})
	}
	return s.exchanged(u, sc, synced, res)
}

// exchanged ends an exchange that was answered.
func (s *session) exchanged(u *upstream, sc *script, synced bool, res result) error {
	p := &s.pipe
	p.msgs, p.data = p.msgs[:0], p.data[:0]
	if res.err != nil {
		if err := s.lost(u, res.err, sc, synced && !res.copied); err != nil {
			return err
		}
		p.on, p.skip = nil, !synced || res.copied
		if !p.skip {
			p.reset()
		}
		s.out.Flush()
		return nil
	}
	if !synced || res.copied && res.status == 0 {
		p.on, p.ran = u, sc
		if res.failed {
			p.ran = nil
		}
		s.out.Flush()
		return nil
	}
	p.reset()
	if err := s.after(u, sc, res); err != nil {
		return err
	}
	s.out.Flush()
	if sc.listen && !res.failed {
		return s.tunnel(u)
	}
	return nil
}

// send writes the buffered messages and the Sync or Flush behind them.
func (s *session) send(u *upstream, synced bool) error {
	p := &s.pipe
	for _, m := range p.msgs {
		if err := u.Send(bytes.ToUpper([]byte{m.kind})[0], p.data[m.start:m.end]); err != nil {
			return err
		}
	}
	end := byte('H')
	if synced {
		end = 'S'
	}
	if err := u.Send(end, nil); err != nil {
		return err
	}
	return u.Flush()
}

// skipped drops what is buffered after an error of the router's own; with the
// Sync the pipeline is over, also where a part of it has gone.
func (s *session) skipped(synced bool) error {
	p := &s.pipe
	p.msgs, p.data = p.msgs[:0], p.data[:0]
	if !synced {
		s.out.Flush()
		return nil
	}
	u := p.on
	piecewise := p.piecewise
	p.reset()
	if piecewise {
		return s.synced(true)
	}
	if u != nil {
		return s.exchange(u, &script{read: u.replica}, true)
	}
	s.out.ReadyForQuery(s.status)
	s.out.Flush()
	return nil
}

// judge combines what the buffered messages execute, and lists the statements
// they use that were prepared before.
func (s *session) judge() (sc *script, needs []string) {
	sc = &script{read: true, tame: true}
	var first []string // PREPARE drops the unnamed statement, so it comes before
	here := map[string]*script{}
	use := func(name string) *script {
		if own := here[name]; own != nil {
			return own
		}
		st := s.stmts[name]
		if st == nil {
			return &script{read: true} // the server says that it does not exist
		}
		needs = append(needs, name)
		return st.script
	}
	for _, m := range s.pipe.msgs {
		switch m.kind {
		case 'P':
			if m.name != "" && here[m.name] == nil && s.stmts[m.name] != nil {
				needs = append(needs, m.name) // so that the server refuses the second one
			}
			here[m.name] = m.script
			sc.read = sc.read && s.reads(m.script)
			first = append(first, m.script.executes...)
		case 'B':
			used := use(m.name)
			first = append(first, used.executes...)
			read := sc.read && s.reads(used)
			sc = joined(sc, used)
			sc.read = read
		case 'd':
			sc.read = sc.read && use(m.name).read
		case 'F':
			sc.read, sc.tame = false, false
		}
	}
	return sc, append(first, needs...)
}

// joined is what two scripts do together.
func joined(a, b *script) *script {
	return &script{
		read: a.read && b.read, tame: (a.read || a.tame) && (b.read || b.tame), pin: a.pin || b.pin, listen: a.listen || b.listen, begin: a.begin || b.begin,
		readOnly: a.readOnly || b.readOnly, commit: a.commit || b.commit, rollbackTo: a.rollbackTo || b.rollbackTo,
		control: a.control || b.control, states: append(append([]state(nil), a.states...), b.states...),
	}
}

// answered takes note of a message that was carried out.
func (s *session) answered(u *upstream, m sent) {
	switch m.kind {
	case 'P':
		st := m.stmt
		if st == nil {
			st = &statement{parse: m.body, script: m.script}
		}
		st.on[side(u)] = u
		if m.name == "" {
			u.unnamed = st
		}
		if len(s.stmts) < maxStatements || s.stmts[m.name] != nil {
			s.stmts[m.name] = st
		} else {
			s.pinned = true // the primary alone has it
		}
	case 'c':
		s.forget(u, m.name)
	}
}
