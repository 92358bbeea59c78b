package recipes

// Reserved returns how many bytes of the session's budget are set aside.
func (s *Session) Reserved() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserved
}

// KnownBases returns of how many paths the session has noted the base.
func (s *Session) KnownBases() int {
	s.bases.mu.Lock()
	defer s.bases.mu.Unlock()
	return len(s.bases.young) + len(s.bases.old)
}

// ParseConnect is what Dial makes of a connect string.
var ParseConnect = parseConnect
