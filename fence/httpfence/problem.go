package httpfence

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"

	"github.com/zkrecipes/zkrecipes/fence"
)

const (
	mediaType = "application/problem+json"
	// staleType names the problem of a stale stamp, and leads to its description.
	staleType = "https://pkg.go.dev/github.com/zkrecipes/zkrecipes/fence#ErrStale"
)

type problem struct {
	Type     string `json:"type,omitempty"` // none means that the status says it all
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Offered  *stamp `json:"offered,omitempty"`
	Standing *stamp `json:"standing,omitempty"`
}

type stamp struct {
	Token fence.Token `json:"token,string"`
	Seq   int64       `json:"seq,string,omitempty"`
}

func newProblem(status int, detail string) problem {
	return problem{Title: http.StatusText(status), Status: status, Detail: detail}
}

// staleProblem leaves out the resource's name: it may be a path of the server's.
func staleProblem(e *fence.StaleError) problem {
	p := newProblem(http.StatusPreconditionFailed, "a later write under a fencing token has overtaken this one; nothing was changed")
	p.Type, p.Title = staleType, "stale fencing token"
	p.Offered, p.Standing = (*stamp)(&e.Offered), (*stamp)(&e.Standing)
	return p
}

func (p problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client has gone
}

// maxProblem bounds what is read of an answer that may be a problem of ours.
const maxProblem = 16 << 10

// CheckResponse returns the *fence.StaleError, an ErrStale, that the answer of a
// Middleware tells, nil for any other answer. It leaves the body to be read.
func CheckResponse(resp *http.Response) error {
	if resp.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || media != mediaType {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	resp.Body = &unread{Reader: io.MultiReader(bytes.NewReader(raw), resp.Body), Closer: resp.Body}
	if err != nil {
		return nil
	}
	var p problem
	if json.Unmarshal(raw, &p) != nil || p.Type != staleType || p.Offered == nil || p.Standing == nil {
		return nil
	}
	stale := &fence.StaleError{Offered: fence.Stamp(*p.Offered), Standing: fence.Stamp(*p.Standing)}
	if resp.Request != nil {
		stale.Resource = resp.Request.URL.Path
	}
	return stale
}

// unread is a body of which a part was read and put back.
type unread struct {
	io.Reader
	io.Closer
}
