package zktest

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// hooks are all hooks of a server, guarded by its lock.
type hooks struct {
	srv      *Server
	requests []*Hook
	events   []*EventHook
}

// toTheEnd moves a hook behind all others, where it belongs once it is active.
func toTheEnd[H comparable](all []H, h H) []H {
	i := slices.Index(all, h)
	return append(slices.Delete(all, i, i+1), h)
}

// take finds the hook for a request and counts the hit.
func (hs *hooks) take(r *request, session int64) *Hook {
	if len(hs.requests) == 0 {
		return nil
	}
	for _, h := range hs.requests {
		if !h.active || h.times >= 0 && h.hits >= h.times || !h.matches(r, session) {
			continue
		}
		if h.skipped < h.match.Skip {
			h.skipped++
			continue
		}
		h.hits++
		if h.hits == 1 {
			close(h.hit)
		}
		hs.srv.log.add(entry{kind: "hook", session: session, op: r.op, path: r.path(), text: h.action.name})
		return h
	}
	return nil
}

func (h *Hook) matches(r *request, session int64) bool {
	m := h.match
	if m.Op != 0 && m.Op != r.op || m.Session != 0 && m.Session != session {
		return false
	}
	if h.action.newSession && !r.resumes {
		return false
	}
	if m.Path == "" {
		return true
	}
	for _, p := range r.paths() {
		if pathMatches(m.Path, p) {
			return true
		}
	}
	return false
}

// before does what is to be done before the server sees the request. It runs
// on the connection's reading goroutine, without the server's lock, and
// returns false if the request is lost.
func (h *Hook) before(r *request, session int64) bool {
	c := r.conn
	switch a := h.action; {
	case a.drop:
		c.finish() // what is already answered shall not be lost with it
		return false
	case a.delay > 0:
		t := time.NewTimer(a.delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.dead:
			return false
		}
	case a.hold:
		select {
		case <-h.release:
		case <-c.dead:
			return false
		}
	case a.call != nil:
		a.call(Request{Op: r.op, Path: r.path(), Session: session, Addr: c.member.Addr()})
	}
	return !c.over.Load()
}

// The methods below may be called on a nil Hook, which does nothing.

func (h *Hook) code() jute.Code {
	if h == nil {
		return jute.OK
	}
	return h.action.err
}

func (h *Hook) dropReply() bool  { return h != nil && h.action.dropReply }
func (h *Hook) swallow() bool    { return h != nil && h.action.swallow }
func (h *Hook) newSession() bool { return h != nil && h.action.newSession }

func (h *Hook) replyDelay() time.Duration {
	if h == nil {
		return 0
	}
	return h.action.lateReply
}

// missed lists the hooks that have not been hit as often as they should.
func (hs *hooks) missed() []error {
	var errs []error
	for _, h := range hs.requests {
		switch {
		case !h.active:
			errs = append(errs, fmt.Errorf("zktest: hook %v says not what to do", h.match))
		case !h.optional && h.hits < h.times:
			errs = append(errs, fmt.Errorf("zktest: hook %v (%s) was hit %d times of %d", h.match, h.action.name, h.hits, h.times))
		}
	}
	for _, h := range hs.events {
		switch {
		case !h.active:
			errs = append(errs, fmt.Errorf("zktest: event hook %v says not what to do", h.match))
		case !h.optional && h.hits == 0:
			errs = append(errs, fmt.Errorf("zktest: event hook %v was never hit", h.match))
		}
	}
	return errs
}

// path returns the first path of a request, for logs and hooks.
func (r *request) path() string {
	if p := r.paths(); len(p) > 0 {
		return p[0]
	}
	return ""
}

func (r *request) paths() []string {
	if m, ok := r.body.(*jute.MultiRequest); ok {
		var paths []string
		for _, o := range m.Ops {
			paths = append(paths, pathIn(o.Body))
		}
		return paths
	}
	if p := pathIn(r.body); p != "" {
		return []string{p}
	}
	return nil
}

func pathIn(body jute.Record) string {
	switch b := body.(type) {
	case *jute.PathRequest:
		return b.Path
	case *jute.PathWatchRequest:
		return b.Path
	case *jute.PathVersionRequest:
		return b.Path
	case *jute.CreateRequest:
		return b.Path
	case *jute.CreateTTLRequest:
		return b.Path
	case *jute.SetDataRequest:
		return b.Path
	case *jute.SetACLRequest:
		return b.Path
	case *jute.AddWatchRequest:
		return b.Path
	case *jute.WatchesRequest:
		return b.Path
	}
	return ""
}
