package session

// prepareUpstream makes a statement known that EXECUTE is about to name.
func (s *Session) prepareUpstream(q *prepared, name string) error {
	if !q.fromSQL {
		if err := s.reparse(q, name); err != nil {
			return err
		}
		return s.drainUpstream()
	}
	if err := s.queue('C', append([]byte("S"+name), 0), expectation{final: "3", silent: true}); err != nil {
		return err
	}
	if err := s.runUpstream(q.stmt.Text, nil); err != nil {
		return err
	}
	s.up.parsed[name] = q
	return nil
}

// reparse prepares a statement upstream that was prepared here, or before the upstream session was.
func (s *Session) reparse(q *prepared, name string) error {
	text, err := s.up.query(q.text)
	if err != nil {
		return err
	}
	body := append([]byte(name), 0)
	body = append(body, text...)
	types := q.declared
	if !q.remote {
		types = q.params
	}
	body = append(body, byte(len(types)>>8), byte(len(types)))
	for _, t := range types {
		body = append(body, byte(t>>24), byte(t>>16), byte(t>>8), byte(t))
	}
	if name != "" { // closing what is not there is no error, and what is there after errors is not known
		if err := s.queue('C', append([]byte("S"+name), 0), expectation{final: "3", silent: true}); err != nil {
			return err
		}
	}
	s.up.parsed[name] = q
	return s.queue('P', body, expectation{final: "1", silent: true})
}

// enterRemote makes extended-protocol messages go upstream from now on in this transaction.
func (s *Session) enterRemote() error {
	if err := s.openUpstream(); err != nil {
		return err
	}
	if s.tx.state == txBlock && !s.tx.remote {
		return s.openBlock()
	}
	s.tx.remote = true
	return nil
}

func (s *Session) remoteParse(p *prepared, body []byte) error {
	if p.name != "" && s.stmts[p.name] != nil {
		return duplicateStatement(p.name)
	}
	block := s.tx.state == txBlock
	if block {
		if err := s.enterRemote(); err != nil {
			return err
		}
	} else if err := s.openUpstream(); err != nil {
		return err
	}
	p.remote = true
	if p.name != "" {
		if err := s.queue('C', append([]byte("S"+p.name), 0), expectation{final: "3", silent: true}); err != nil {
			return err
		}
	}
	s.up.parsed[p.name] = p
	return s.queue('P', body, expectation{final: "1", parse: p})
}

func (s *Session) remoteBind(p *prepared, portalName string, body []byte) error {
	if err := s.enterRemote(); err != nil {
		return err
	}
	if s.up.parsed[p.name] != p {
		if err := s.reparse(p, p.name); err != nil {
			return err
		}
	}
	po := &portal{s: s, name: portalName, p: p, remote: true}
	if err := s.addPortal(po); err != nil {
		return err
	}
	return s.queue('B', body, expectation{final: "2"})
}

func (s *Session) remoteDescribe(body []byte) error {
	if err := s.openUpstream(); err != nil {
		return err
	}
	if body[0] == 'S' {
		name := string(body[1 : len(body)-1])
		if p := s.stmts[name]; p != nil && s.up.parsed[name] != p {
			if err := s.reparse(p, name); err != nil {
				return err
			}
		}
	}
	return s.queue('D', body, expectation{final: "Tn"})
}

func (s *Session) remoteExecute(po *portal, body []byte) error {
	if s.up == nil {
		return noPortal([]byte(po.name))
	}
	return s.queue('E', body, expectation{final: "CIs", runs: true})
}

func (s *Session) remoteClose(body []byte) error {
	if s.up == nil || !s.tx.remote && !s.up.dirty && s.up.conn.Stale() {
		s.out.CloseComplete()
		return nil
	}
	if body[0] == 'S' {
		delete(s.up.parsed, string(body[1:len(body)-1]))
	}
	return s.queue('C', body, expectation{final: "3"})
}
