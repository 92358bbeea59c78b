package httpfence

import (
	"bytes"
	"maps"
	"net/http"
)

// answer keeps what a handler answers until it may be sent.
type answer struct {
	header http.Header
	sent   http.Header // as it was when the status was written, which is what counts
	status int         // 0 until it is written
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: make(http.Header)} }

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK { // below are mere announcements
		a.status, a.sent = status, a.header.Clone()
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func (a *answer) send(w http.ResponseWriter) {
	a.WriteHeader(http.StatusOK)
	maps.Copy(w.Header(), a.sent)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client has gone
}
