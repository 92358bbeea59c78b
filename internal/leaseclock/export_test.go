package leaseclock

// Marks returns how many answered frames the link remembers.
func (l *Link) Marks() int {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return len(l.answered)
}
