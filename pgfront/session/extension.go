package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/sqltypes/pgerror"
)

// createExtension knows the one extension that every database of PostgreSQL has from
// the start, which schema dumps create if it is not there; others are refused by name.
func (s *Session) createExtension(n *pg.CreateExtensionStmt) error {
	if n.Extname == "timescaledb" && n.IfNotExists { // migrations begin with it
		s.NoticeError(&pgerror.Error{Severity: "NOTICE", Code: pgerror.SuccessfulCompletion, Message: "time series need no extension: what there is of \"timescaledb\" is built in, skipping"})
		return nil
	}
	if n.Extname != "plpgsql" {
		return pgerror.NotSupported("extension %q", n.Extname)
	}
	e := pgerror.New(pgerror.DuplicateObject, "extension %q already exists", n.Extname)
	if !n.IfNotExists {
		return e
	}
	e.Message += ", skipping"
	e.Severity = "NOTICE"
	s.NoticeError(e)
	return nil
}
