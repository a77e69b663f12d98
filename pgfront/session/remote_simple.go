package session

import (
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// openBlock starts the session's transaction in the upstream session.
func (s *Session) openBlock() error {
	if err := s.openUpstream(); err != nil {
		return err
	}
	sql := "BEGIN ISOLATION LEVEL " + strings.ToUpper(s.tx.isoName)
	if s.tx.readOnly {
		sql += ", READ ONLY"
	} else {
		sql += ", READ WRITE"
	}
	if s.tx.deferrable {
		sql += ", DEFERRABLE"
	}
	if err := s.runUpstream(sql, nil); err != nil {
		return err
	}
	s.tx.remote, s.tx.queried = true, true
	return nil
}

// endRemote ends the upstream transaction.
func (s *Session) endRemote(sql string) error {
	if !s.tx.remote || s.up == nil {
		return nil
	}
	s.tx.remote = false
	err := s.runUpstream(sql, nil)
	if sql != "COMMIT" && s.up != nil {
		s.up.forgetSettings() // SETs in the block were undone there
	}
	return err
}

// remoteControl runs a statement of transaction control upstream.
func (s *Session) remoteControl(sql string) error {
	if s.up == nil {
		return s.tx.dead
	}
	return s.runUpstream(sql, nil)
}

// runUpstream sends a simple query and waits for its end. With relay, frames go
// to the client; without, rows and tags are dropped and an error is returned as such.
func (s *Session) runUpstream(sql string, relay func(kind byte, body []byte) error) error {
	if err := s.drainUpstream(); err != nil {
		return err
	}
	u := s.up
	body, err := u.query(sql)
	if err != nil {
		return err
	}
	if err := u.send('Q', body); err != nil {
		return s.lostUpstream(err)
	}
	var failed error
	for {
		kind, body, err := u.conn.Receive(s.env.Ctx)
		if err != nil {
			return s.lostUpstream(err)
		}
		switch kind {
		case 'Z':
			s.notePosition()
			return failed
		case 'S', 'K', 'A':
		case 'E':
			if e := decodeError(body); e.Severity != "" {
				return s.lostUpstream(e)
			} else if relay == nil {
				failed = e
			} else {
				failed = s.relayError(body)
			}
		case 'G':
			if relay != nil {
				s.out.Raw(kind, body)
			}
			if err := s.pumpCopy(); err != nil {
				return err
			}
		case 'N':
			s.out.Raw(kind, body)
		default:
			if relay != nil {
				if err := relay(kind, body); err != nil {
					return err
				}
			}
		}
	}
}

func (s *Session) notePosition() {
	s.ownWrite.note(s.up.conn.Position())
	s.shardsSeen.Elsewhere()
	s.noteUpstreamAdvisory()
}

// pumpCopy carries the client's COPY data upstream until its end.
func (s *Session) pumpCopy() error {
	s.out.Flush()
	for {
		kind, body, err := s.in.Next()
		if err != nil {
			return err
		}
		switch kind {
		case 'd', 'c', 'f':
		case 'H', 'S':
			continue
		default:
			kind, body = 'f', append([]byte(sprintf("unexpected message type 0x%02X during COPY from stdin", kind)), 0)
		}
		if err := s.up.conn.Send(kind, body); err != nil {
			return s.lostUpstream(err)
		}
		if kind != 'd' {
			if err := s.up.conn.Flush(); err != nil {
				return s.lostUpstream(err)
			}
			return nil
		}
	}
}

// relaySimple runs one statement of a query string upstream.
func (s *Session) relaySimple(p *prepared) error {
	if err := s.openUpstream(); err != nil {
		return err
	}
	if !s.tx.remote && (s.tx.state == txBlock || s.tx.several) {
		if err := s.openBlock(); err != nil {
			return err
		}
	}
	if ex := p.stmt.AST.GetExecuteStmt(); ex != nil {
		if q := s.stmts[ex.Name]; q != nil && s.up.parsed[ex.Name] != q {
			if err := s.prepareUpstream(q, ex.Name); err != nil {
				return err
			}
		}
	}
	// Blanks keep error positions right when the statement is not the first of its string.
	sql := strings.Repeat(" ", utf8.RuneCountInString(p.text[:p.stmt.Location])) + p.stmt.Text
	err := s.runUpstream(sql, func(kind byte, body []byte) error {
		s.out.Raw(kind, body)
		return s.out.Err()
	})
	if plantedRetry && pgerror.CodeOf(err) == pgerror.TransactionResolutionUnknown && s.tx.state != txBlock {
		return s.relaySimple(p)
	}
	return err
}
