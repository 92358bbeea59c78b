package zkrtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Victim is a client that a Misfortune strikes at one of its requests.
type Victim struct {
	T      testing.TB
	Srv    *zktest.Server
	Cable  *zktest.Cable // the client's own
	Client *recipes.Client
	ID     int64  // of its session when the misfortune is armed
	Cancel func() // ends the context of the call under test
	Dir    string // what an operator deletes: a directory above all that the call makes
}

// Misfortune says what happens at a request, and what may come of it.
type Misfortune struct {
	Name   string
	Strike func(v *Victim, h *zktest.Hook)

	Gives  error // what the call may return in place of a success
	Loses  bool  // a session or a znode may be lost by it
	Steals bool  // a stranger ends the session or deletes the znode of somebody who counts on it
	Closes bool  // the client is closed
}

// ErrAny stands for any error of the server's in Misfortune.Gives.
var ErrAny = errors.New("any error of the server's")

// late is how long the misfortunes keep what they keep.
const late = 100 * time.Millisecond

// Misfortunes are all that may happen at a request.
var Misfortunes = []Misfortune{
	{Name: "request lost", Strike: func(_ *Victim, h *zktest.Hook) { h.DropBeforeCommit() }},
	{Name: "reply lost", Strike: func(_ *Victim, h *zktest.Hook) { h.DropReply() }},
	{Name: "late", Strike: func(_ *Victim, h *zktest.Hook) { h.Delay(late) }},
	{Name: "answered late", Strike: func(_ *Victim, h *zktest.Hook) { h.DelayReply(late) }},
	{Name: "throttled", Gives: ErrAny, Loses: true, Strike: func(_ *Victim, h *zktest.Hook) { h.Error(zktest.Throttled) }},
	{Name: "session moved", Loses: true, Strike: func(_ *Victim, h *zktest.Hook) { h.Error(zktest.SessionMoved) }},
	{Name: "session expired", Loses: true, Steals: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) { v.Srv.ExpireSession(v.ID) })
	}},
	{Name: "reply lost and session expired", Loses: true, Steals: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.DropReply()
		v.Srv.On(zktest.Match{Op: zktest.OpCreateSession, Session: v.ID}).Optional().Call(func(zktest.Request) { v.Srv.ExpireSession(v.ID) })
	}},
	{Name: "another session without a word", Loses: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.DropReply()
		v.Srv.On(zktest.Match{Session: v.ID}).Optional().NewSession()
	}},
	{Name: "servers restarted", Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) {
			if err := v.Srv.Restart(); err != nil {
				v.T.Errorf("restart: %v", err)
			}
		})
	}},
	{Name: "servers frozen", Strike: func(v *Victim, h *zktest.Hook) {
		h.DelayReply(0)
		v.on(h, func() {
			v.Srv.Freeze()
			time.AfterFunc(Timeout/8, v.Srv.Thaw)
		})
	}},
	{Name: "cut off for a while", Strike: func(v *Victim, h *zktest.Hook) {
		h.DropReply()
		v.on(h, func() { v.cutOff(Timeout / 8) })
	}},
	{Name: "cut off for long", Loses: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.DropReply()
		v.on(h, func() { v.cutOff(2 * Timeout) })
	}},
	// A lease that is not proven yet lasts no longer.
	{Name: "silent for a while", Loses: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) { v.silent(Timeout / 8) })
	}},
	{Name: "silent for long", Loses: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) { v.silent(2 * Timeout) })
	}},
	{Name: "cancelled", Gives: context.Canceled, Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) { v.Cancel() })
	}},
	{Name: "cancelled and late", Gives: context.Canceled, Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) { v.Cancel(); time.Sleep(late) })
	}},
	{Name: "cancelled and answered late", Gives: context.Canceled, Strike: func(v *Victim, h *zktest.Hook) {
		h.DelayReply(late)
		v.on(h, v.Cancel)
	}},
	{Name: "cancelled and reply lost", Gives: context.Canceled, Strike: func(v *Victim, h *zktest.Hook) {
		h.DropReply()
		v.on(h, v.Cancel)
	}},
	{Name: "closed", Gives: recipes.ErrClosed, Loses: true, Closes: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) { go v.Client.Close() })
	}},
	{Name: "closed and reply lost", Gives: recipes.ErrClosed, Loses: true, Closes: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.DropReply()
		v.on(h, v.Client.Close)
	}},
	{Name: "znode deleted", Loses: true, Steals: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) { v.deleteOwn() })
	}},
	{Name: "directory deleted", Loses: true, Steals: true, Strike: func(v *Victim, h *zktest.Hook) {
		h.Call(func(zktest.Request) { _ = v.Srv.DeleteAll(v.Dir) })
	}},
}

// on runs fn when the hook is hit, unless the test ends before.
func (v *Victim) on(h *zktest.Hook, fn func()) {
	done := v.T.Context().Done()
	go func() {
		select {
		case <-h.Hit():
			fn()
		case <-done:
		}
	}()
}

// cutOff has the client's connection cut, and refused for some time.
func (v *Victim) cutOff(d time.Duration) {
	v.Cable.Refuse(true)
	v.Cable.Cut()
	time.AfterFunc(d, func() { v.Cable.Refuse(false) })
}

// silent loses what comes and goes for some time.
func (v *Victim) silent(d time.Duration) {
	v.Cable.Blackhole(zktest.BothWays)
	time.AfterFunc(d, v.Cable.Restore)
}

func (v *Victim) deleteOwn() {
	for _, z := range v.Srv.Tree() {
		if z.Stat.EphemeralOwner == v.ID {
			_ = v.Srv.Delete(z.Path)
		}
	}
}

// Befalls goes through every request of a life with every misfortune: life makes
// a victim, arms the hook by what it is given, and returns how many requests the
// hook has seen. At most so many requests are struck.
func Befalls(t *testing.T, name string, most int, life func(t *testing.T, srv *zktest.Server, m Misfortune, request int) (requests int), opts ...zktest.Option) {
	t.Helper()
	requests := 0
	Bubble(t, func(t *testing.T, srv *zktest.Server) {
		requests = life(t, srv, Misfortune{Name: "none", Strike: func(_ *Victim, h *zktest.Hook) { h.Always().Observe() }}, 0)
	}, opts...)
	t.Logf("%s: %d requests", name, requests)
	for _, m := range Misfortunes {
		t.Run(name+", "+m.Name, func(t *testing.T) {
			t.Parallel()
			for n := range min(requests, most) {
				Bubble(t, func(t *testing.T, srv *zktest.Server) { life(t, srv, m, n) }, opts...)
				if t.Failed() {
					t.Fatalf("at request %d", n)
				}
			}
		})
	}
}
