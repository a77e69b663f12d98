package session

import (
	"ostraka/sqltypes/pgerror"
)

// dropSessionState frees what belongs to the session and not to a transaction.
func (s *Session) dropSessionState() {
	s.unlockAllAdvisory()
	if s.tempOID == 0 {
		return
	}
	s.begin("")
	defer s.end()
	if err := s.dropTemp(); err != nil {
		s.deps.Logger.Warn("drop_temp_failed", "pid", s.pid, "error", err)
	}
}

// dropTemp drops the session's temporary schema with everything in it, in the
// running transaction or one of its own.
func (s *Session) dropTemp() error {
	if s.tempOID == 0 || s.deps.Utility == nil {
		return nil
	}
	cat := s.catalog()
	if cat == nil || cat.Schema(s.tempOID) == nil {
		return nil
	}
	stmts, err := s.deps.Planner.Parse("DROP SCHEMA " + quoteIdent(cat.Schema(s.tempOID).Name) + " CASCADE")
	if err != nil {
		return err
	}
	min := s.conf.clientMin
	s.conf.clientMin = severityRank("warning") // no NOTICE of what goes with it
	defer func() { s.conf.clientMin = min }()
	own := s.tx.state == txNone
	s.startTransaction()
	if _, err = s.ddl(stmts[0]); err == nil && own {
		err = s.commitTransaction()
	}
	if err != nil {
		if own {
			s.rollbackTransaction()
		}
		return pgerror.Wrap(err, pgerror.CodeOf(err), "could not drop temporary tables")
	}
	s.SetTempSchema(0)
	return nil
}
