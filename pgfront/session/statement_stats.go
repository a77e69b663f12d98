package session

import (
	"strconv"
	"strings"
	"time"

	"ostraka/pgfront/stmtstats"
	"ostraka/planner"
)

// counting is the statement that runs, for pg_stat_statements.
type counting struct {
	p    *prepared // nil: nothing that is counted here (it was forwarded, or failed)
	rows int64
}

// Statements are the counters of all sessions of this node.
func (s *Session) Statements() *stmtstats.Table { return s.deps.Registry.Statements }

// ran notes that a statement of this node ran to its end.
func (s *Session) ran(p *prepared, rows int64) { s.counting = counting{p, rows} }

// countRan counts what ran notes. more: it goes on with a portal that was counted before.
func (s *Session) countRan(began time.Time, more bool) {
	p, rows := s.counting.p, s.counting.rows
	s.counting = counting{}
	if p == nil || p.stmt == nil {
		return
	}
	e := p.stats
	if e == nil || e.Gone() || e.User != s.role.OID {
		e = s.deps.Registry.Statements.Find(s.role.OID, s.client.Database, statementText(p.stmt), p.stmt.Planned)
		p.stats = e
	}
	e.Add(s.now().Sub(began), rows, more)
}

// statementText is what a statement is known by: passwords are left out.
func statementText(st *planner.Statement) string {
	if strings.HasSuffix(st.Tag, " ROLE") {
		if i := strings.Index(strings.ToLower(st.Text), "password"); i >= 0 {
			return st.Text[:i] + "PASSWORD <removed>"
		}
	}
	return st.Text
}

// tagRows is the number at the end of a command tag.
func tagRows(tag string) int64 {
	n, _ := strconv.ParseInt(tag[strings.LastIndexByte(tag, ' ')+1:], 10, 64)
	return n
}
