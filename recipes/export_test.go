package recipes

// Reserved returns how many bytes of the session's budget are set aside.
func (s *Session) Reserved() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reserved
}
