package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/sqltypes/pgerror"
)

func (s *Session) copyStmt(p *prepared, n *pg.CopyStmt) (*outcome, error) {
	return nil, pgerror.NotSupported("COPY")
}

func (s *Session) startCopy(t CopyTarget) (CopySink, error) { return nil, pgerror.NotSupported("COPY") }
