package database

import (
	"bytes"
	"sync"
)

// watch keeps what a server prints and tells when it has printed a text.
type watch struct {
	text string
	seen chan struct{} // closed once the text was printed

	mu    sync.Mutex // guards what follows
	found bool
	out   bytes.Buffer
}

func newWatch(text string) *watch { return &watch{text: text, seen: make(chan struct{})} }

func (w *watch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Write(p)
	if !w.found && bytes.Contains(w.out.Bytes(), []byte(w.text)) {
		w.found = true
		close(w.seen)
	}
	return len(p), nil
}

func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}
