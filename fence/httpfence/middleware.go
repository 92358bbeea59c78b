package httpfence

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Middleware guards handlers. A zero field but Guard takes its default.
type Middleware struct {
	// Guard returns the guard of the resource that a request is about, nil if
	// there is no such resource: 404. It must be set.
	Guard func(*http.Request) fence.Guard

	// MaxBody bounds the bodies of requests, which are read into memory before
	// the guard is asked. The default is 1 MiB.
	MaxBody int64

	// Logger is told of guards that fail. The default is slog.Default.
	Logger *slog.Logger

	_ struct{}
}

// One returns a Guard for a Middleware of one resource.
func One(g fence.Guard) func(*http.Request) fence.Guard {
	return func(*http.Request) fence.Guard { return g }
}

// Write runs next as the effect of a write under the request's stamp. A status
// of 400 and above means that next has failed, and nothing takes effect. Its
// answer is kept in memory until the guard is done; it cannot flush or hijack.
//
// The guard's context, which tells where the work is to be done, is that of the
// request that next is given.
func (m *Middleware) Write(next http.Handler) http.Handler {
	return m.handler(func(r *http.Request, g fence.Guard, s fence.Stamp, w *answer) error {
		return g.Write(r.Context(), s, run(next, r, w))
	})
}

// Read runs next while no write can come in between, if the request's token was
// not overtaken. It is for holders of shared grants, whose tokens are not to
// stand. What needs no grant needs no Middleware.
func (m *Middleware) Read(next http.Handler) http.Handler {
	return m.handler(func(r *http.Request, g fence.Guard, s fence.Stamp, w *answer) error {
		return g.Read(r.Context(), s.Token, run(next, r, w))
	})
}

// Install makes the request's token stand and answers 204. It is what a [Remote]
// asks.
func (m *Middleware) Install() http.Handler {
	return m.handler(func(r *http.Request, g fence.Guard, s fence.Stamp, w *answer) error {
		w.WriteHeader(http.StatusNoContent)
		return g.Install(r.Context(), s.Token)
	})
}

// errFailed rolls back what a handler did that has answered with an error.
var errFailed = errors.New("httpfence: the handler failed")

func run(next http.Handler, r *http.Request, w *answer) func(context.Context) error {
	return func(ctx context.Context) error {
		next.ServeHTTP(w, r.WithContext(ctx))
		if w.status >= http.StatusBadRequest {
			return errFailed
		}
		return nil
	}
}

// handler does what all requests have in common: stamp, body, guard, and the
// answer once do has returned.
func (m *Middleware) handler(do func(*http.Request, fence.Guard, fence.Stamp, *answer) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := stampFrom(r.Header)
		if err != nil {
			refuse(w, err)
			return
		}
		g := m.Guard(r)
		if g == nil {
			newProblem(http.StatusNotFound, "").write(w)
			return
		}
		whole, err := m.readBody(w, r)
		if err != nil {
			refuse(w, err)
			return
		}
		kept := newAnswer()
		if err := do(whole, g, s, kept); err != nil && !errors.Is(err, errFailed) {
			m.fail(w, r, err)
			return
		}
		kept.send(w)
	})
}

// readBody returns the request with its body in memory.
func (m *Middleware) readBody(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	limit := m.MaxBody
	if limit == 0 {
		limit = 1 << 20
	}
	var body []byte
	if r.Body != nil { // as in requests that never were on a wire
		var err error
		if body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit)); err != nil {
			return nil, err
		}
	}
	whole := r.Clone(r.Context())
	whole.Body = io.NopCloser(bytes.NewReader(body))
	whole.ContentLength = int64(len(body))
	return whole, nil
}

// refuse answers a request with which the guard is not troubled.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	if errors.Is(err, errMissing) {
		status = http.StatusPreconditionRequired
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		status = http.StatusRequestEntityTooLarge
	}
	newProblem(status, err.Error()).write(w)
}

// fail answers a request that the guard did not let take effect. What a guard
// tells of its storage is for the log.
func (m *Middleware) fail(w http.ResponseWriter, r *http.Request, err error) {
	if stale := (*fence.StaleError)(nil); errors.As(err, &stale) {
		staleProblem(stale).write(w)
		return
	}
	status, detail := http.StatusServiceUnavailable, "the guard could not be asked; nothing was changed"
	if errors.Is(err, fence.ErrOutcomeUnknown) {
		status, detail = http.StatusInternalServerError, "it is not known whether the write took effect"
	}
	m.logger().ErrorContext(r.Context(), "guard failed", "method", r.Method, "path", r.URL.Path, "error", err)
	newProblem(status, detail).write(w)
}

func (m *Middleware) logger() *slog.Logger {
	if m.Logger == nil {
		return slog.Default()
	}
	return m.Logger
}
