package metering

import (
	"strings"
	"sync"
)

// MaxLocks bounds how many values LabelLock takes. What comes later is Other.
const MaxLocks = 100

// Other is the value of LabelLock for what is one too many.
const Other = "other"

// locks makes values of LabelLock out of paths.
type locks struct {
	of func(path string) string // nil: there is no such label

	mu   sync.Mutex
	seen map[string]struct{}
}

// label returns the label of a path, "" where there is none.
func (l *locks) label(path string) string {
	if l.of == nil {
		return ""
	}
	label := strings.ToValidUTF8(l.of(path), "\uFFFD") // Prometheus panics on another one
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.seen[label]; ok {
		return label
	}
	if len(l.seen) >= MaxLocks {
		return Other
	}
	l.seen[label] = struct{}{}
	return label
}
