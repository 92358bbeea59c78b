package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Grant makes a lease on contenders of this session that stand first in their
// queues. That they do is for the caller to know; once seen it stays true, since
// nothing can be put before them. What Grant adds is the proof that the session
// still lives at the leader, which no listing shows: by the session's running
// chain of committed writes, or else by one such write.
//
// It returns ErrNoNode where a contender is gone, and the context's error if
// that ends first; there is no lease then, and the contenders are as they were.
func (s *Session) Grant(ctx context.Context, path string, nodes ...*Owned) (*Lease, error) {
	for _, n := range nodes {
		if n.s != s {
			panic("recipes: Grant of a znode of another session")
		}
		if n.token != 0 {
			continue
		}
		if err := n.Load(ctx); err != nil {
			return nil, err
		}
	}
	for {
		l, err := s.grant(ctx, path, nodes)
		if err != nil || !s.cfg.strictGrant {
			return l, err
		}
		if s.awaitProof(ctx, l) {
			return l, nil
		}
		l.finish(errUnproven)
		if err := ctx.Err(); err != nil {
			return nil, s.opErr("grant", path, err)
		}
	}
}

var errUnproven = errors.New("recipes: lease not proven in time")

func (s *Session) grant(ctx context.Context, path string, nodes []*Owned) (*Lease, error) {
	now := s.now()
	if err := s.Err(); err != nil {
		return nil, s.opErr("grant", path, errors.Join(zkconn.ErrOver, s.conn.Reason()))
	}
	chain := s.conn.Chain()
	g, ok := chain.Proven(now, s.Timeout()/16)
	if ok {
		return s.newLease(path, nodes, g, now)
	}
	sent := latestWrite(nodes)
	if now >= sent+s.Timeout()/16 {
		var err error
		if sent, err = s.provenWrite(ctx, path, nodes); err != nil {
			return nil, err
		}
		now = s.now()
		if g, ok = chain.Proven(now, s.Timeout()/16); ok {
			return s.newLease(path, nodes, g, now)
		}
	}
	return s.newLease(path, nodes, chain.Unproven(sent), now)
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
		err := s.confirm(ctx, paths...)
		switch {
		case err == nil:
			return sent, nil
		case errors.Is(err, zk.ErrNoNode), ctx.Err() != nil, s.conn.Reason() != nil:
			return 0, s.opErr("grant", path, err)
		case !errors.Is(err, zkconn.ErrUnknown) && !errors.Is(err, zkconn.ErrNotSent):
			return 0, s.opErr("grant", path, err)
		}
	}
}

func (s *Session) newLease(path string, nodes []*Owned, g leaseclock.Grant, now time.Duration) (*Lease, error) {
	l := &Lease{s: s, path: path, nodes: nodes, grant: g, since: now}
	if !l.takeWatches() {
		return nil, &OpError{Op: "grant", Path: path, Session: s.ID(), Err: ErrNoNode}
	}
	s.admit(l)
	if fn := s.cfg.trace.Granted; fn != nil {
		fn(l.event(nil))
	}
	s.cfg.logger.Debug("lease granted", "path", path, "token", l.Token(), "session", s.ID())
	return l, nil
}

// awaitProof waits until the lease rests on the chain; false means that it is
// over, or ctx.
func (s *Session) awaitProof(ctx context.Context, l *Lease) bool {
	s.pokeRenewer()
	for {
		proofs := s.proofs()
		if s.conn.Chain().IsProven(l.grant, s.now()) {
			return true
		}
		select {
		case <-proofs:
		case <-l.Done():
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// HoldProof keeps the session proven while a contender is next in line, so that
// its grant needs no write of its own. The function that it returns ends that.
func (s *Session) HoldProof() (release func()) {
	s.mu.Lock()
	s.addDemand()
	s.nextInRow++
	s.mu.Unlock()
	s.pokeRenewer()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.nextInRow--
	}
}
