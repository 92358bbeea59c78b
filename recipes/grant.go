package recipes

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Claim is what a lease is to be given for.
type Claim struct {
	Path    string   // of the lock or election
	Kind    Kind     // to show; may be empty
	Nodes   []*Owned // contenders, all of one session
	Shared  bool     // others may hold at the same time; the token must not be installed at a resource
	Permits bool     // tokens tell holders apart, and fence nothing

	Guards []fence.Installer // where Lease.Do installs the token, unless the lease is shared

	_ struct{}
}

// Grant makes a lease on contenders of this session that have nobody in their
// way. That they do is for the caller to know; once seen it stays true, since
// nothing can be put before them. What Grant adds is the proof that the session
// still lives at the leader, which no listing shows: by the session's running
// chain of committed writes, or else by one such write. It is also the one place
// that makes tokens.
//
// It returns ErrNoNode where a contender is gone, and the context's error if
// that ends first; there is no lease then, and the contenders are as they were.
func (s *Session) Grant(ctx context.Context, c Claim) (*Lease, error) {
	if len(c.Nodes) == 0 {
		panic("recipes: Grant of nothing")
	}
	for _, n := range c.Nodes {
		if n.s != s {
			panic("recipes: Grant of a znode of another session")
		}
		if n.czxid != 0 {
			continue
		}
		if err := n.Load(ctx); err != nil {
			return nil, err
		}
	}
	if !c.Permits {
		if err := s.addBases(ctx, c); err != nil {
			return nil, err
		}
	}
	if s.cfg.strictGrant {
		return s.grantProven(ctx, c)
	}
	return s.grant(ctx, c)
}

// grantProven waits until the chain proves that the session lives.
func (s *Session) grantProven(ctx context.Context, c Claim) (*Lease, error) {
	release := s.HoldProof()
	defer release()
	for {
		proofs := s.proofs()
		now := s.now()
		if g, ok := s.conn.Chain().Proven(now, s.Timeout()/16); ok {
			return s.newLease(c, g, now)
		}
		select {
		case <-proofs:
		case <-s.Done():
			return nil, s.opErr("grant", c.Path, errors.Join(zkconn.ErrOver, s.conn.Reason()))
		case <-ctx.Done():
			return nil, s.opErr("grant", c.Path, ctx.Err())
		}
	}
}

func (s *Session) grant(ctx context.Context, c Claim) (*Lease, error) {
	now := s.now()
	if err := s.Err(); err != nil {
		return nil, s.opErr("grant", c.Path, errors.Join(zkconn.ErrOver, s.conn.Reason()))
	}
	chain := s.conn.Chain()
	g, ok := chain.Proven(now, s.Timeout()/16)
	if ok {
		return s.newLease(c, g, now)
	}
	sent := latestWrite(c.Nodes)
	if now >= sent+s.Timeout()/16 {
		var err error
		if sent, err = s.provenWrite(ctx, c.Path, c.Nodes); err != nil {
			return nil, err
		}
		now = s.now()
		if g, ok = chain.Proven(now, s.Timeout()/16); ok {
			return s.newLease(c, g, now)
		}
	}
	return s.newLease(c, chain.Unproven(sent), now)
}

func latestWrite(nodes []*Owned) time.Duration {
	latest := nodes[0].sent
	for _, n := range nodes[1:] {
		latest = max(latest, n.sent)
	}
	return latest
}

// provenWrite commits a check of the contenders and returns when it was sent.
func (s *Session) provenWrite(ctx context.Context, path string, nodes []*Owned) (time.Duration, error) {
	paths := make([]string, len(nodes))
	for i, n := range nodes {
		paths[i] = n.path
	}
	for {
		// Waiting for a connection is not to count.
		if err := s.conn.Await(ctx); err != nil {
			return 0, s.opErr("grant", path, err)
		}
		sent := s.now()
		if err := s.confirm(ctx, paths...); !unanswered(err) {
			return sent, s.opErr("grant", path, err)
		}
	}
}

func (s *Session) newLease(c Claim, g leaseclock.Grant, now time.Duration) (*Lease, error) {
	l := &Lease{s: s, path: c.Path, kind: c.Kind, token: c.Nodes[0].Token(), nodes: c.Nodes, shared: c.Shared, guards: c.Guards, grant: g, since: now}
	s.admit(l) // first, so that whatever ends it from here on also takes it out again
	if !l.takeWatches() {
		l.finish(errNodeGone)
		return nil, &OpError{Op: "grant", Path: c.Path, Session: s.ID(), Err: ErrNoNode}
	}
	if s.conn.Reason() != nil {
		l.until(s.now()) // the keeper has gone home, and ends no lease any more
	}
	if fn := s.cfg.trace.Granted; fn != nil {
		fn(l.event(nil))
	}
	l.log(slog.LevelDebug, "lease granted")
	return l, nil
}

// HoldProof keeps the session proven while a contender is next in line, so that
// its grant needs no write of its own. The function that it returns ends that.
func (s *Session) HoldProof() (release func()) {
	s.mu.Lock()
	s.addDemand()
	s.nextInRow++
	s.mu.Unlock()
	s.pokeRenewer()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.nextInRow--
	})
}
