package session

// dropSessionState frees what belongs to the session and not to a transaction.
func (s *Session) dropSessionState() {
	s.unlockAllAdvisory()
	if err := s.dropTemp(); err != nil {
		s.deps.Logger.Warn("drop_temp_failed", "pid", s.pid, "error", err)
	}
}

// dropTemp drops the session's temporary tables.
func (s *Session) dropTemp() error {
	if s.tempOID == 0 || s.deps.DropTemp == nil {
		return nil
	}
	err := s.deps.DropTemp(s)
	if err == nil {
		s.SetTempSchema(0)
	}
	return err
}
