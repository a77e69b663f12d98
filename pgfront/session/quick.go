package session

// quick tries the simple protocol's plan cache.
func (s *Session) quick(string) (done bool, err error) { return false, nil }
