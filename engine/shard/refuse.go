package shard

// Refuse makes every statement that writes, and every commit of changes, fail
// with err until it is called with nil. Reads go on, and so does what is applied
// of the log; nothing that was acknowledged is affected.
func (s *Shard) Refuse(err error) {
	if err == nil {
		s.refusal.Store(nil)
		return
	}
	s.refusal.Store(&err)
}

// Refused is the error given to Refuse, nil when writes are accepted.
func (s *Shard) Refused() error {
	if p := s.refusal.Load(); p != nil {
		return *p
	}
	return nil
}
