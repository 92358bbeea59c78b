package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// Trade says what a contender's znode is to be traded for.
type Trade struct {
	For    *Owned // goes
	Dir    string // where the others come
	Name   string // as in Protected
	Data   []byte
	Count  int
	Checks []Op // must hold for it

	_ struct{}
}

type tradeResult struct {
	nodes []*Owned
	err   error
}

// Trade replaces a contender's znode by others, in one transaction. It must have
// been made with Spare for them.
//
// It returns the new znodes, or an error and none: ErrNoNode where the contender
// is gone, a *CheckError where a check failed and the contender is as it was.
// What ctx leaves behind is deleted in the background, and then the contender
// too.
func (s *Session) Trade(ctx context.Context, t Trade) ([]*Owned, error) {
	uuids := make([]string, t.Count)
	for i := range uuids {
		uuids[i] = NewUUID()
	}
	done := make(chan tradeResult)
	abandoned := make(chan struct{})
	started := s.spawn(func() {
		nodes, err := s.trade(t, uuids)
		select {
		case done <- tradeResult{nodes, err}:
		case <-abandoned:
			for _, n := range nodes {
				n.Discard()
			}
		}
	})
	if !started {
		return nil, &OpError{Op: "trade", Path: t.Dir, Session: s.ID(), Err: s.Err()}
	}
	select {
	case r := <-done:
		return r.nodes, r.err
	case <-ctx.Done():
		close(abandoned)
		return nil, s.opErr("trade", t.Dir, ctx.Err())
	}
}

// CheckError is a check of a transaction that failed.
type CheckError struct{ *OpError }

// Unwrap returns the failed check's error.
func (e *CheckError) Unwrap() error { return e.OpError }

// trade repeats the transaction until its outcome is known. That an earlier
// attempt has succeeded shows by the new znodes.
func (s *Session) trade(t Trade, uuids []string) ([]*Owned, error) {
	reqs, err := s.tradeRequests(t, uuids)
	if err != nil {
		return nil, err
	}
	unsure := false
	for {
		sent := s.now()
		res, err := write(s.ctx, s, nil, func(z *zk.Conn) ([]zk.MultiResponse, error) { return z.Multi(reqs...) })
		switch {
		case err == nil:
			nodes := make([]*Owned, t.Count)
			for i := range nodes {
				nodes[i] = &Owned{s: s, path: s.rel(res[len(res)-t.Count+i].String), sent: sent}
			}
			return s.traded(t, nodes)
		case isUnknown(err) && s.conn.Reason() == nil:
			unsure = true
		case errors.Is(err, zk.ErrNoNode) && len(res) == len(reqs) && failedAt(res) == len(t.Checks):
			if unsure {
				return s.tradedBefore(t, uuids, sent)
			}
			return nil, s.opErr("trade", t.For.path, err)
		case errors.Is(err, zk.ErrNoNode) && len(res) == len(reqs) && failedAt(res) > len(t.Checks):
			if err := s.makeDir(s.ctx, t.Dir); err != nil {
				return nil, err
			}
		case len(res) == len(reqs) && failedAt(res) < len(t.Checks):
			c := t.Checks[failedAt(res)]
			return nil, &CheckError{&OpError{Op: c.name, Path: c.path, Session: s.ID(), Err: translate(err)}}
		default:
			return nil, s.opErr("trade", t.Dir, err)
		}
	}
}

func (s *Session) tradeRequests(t Trade, uuids []string) ([]any, error) {
	ops := append([]Op(nil), t.Checks...)
	ops = append(ops, DeleteOp(t.For.path, -1))
	for _, uuid := range uuids {
		ops = append(ops, CreateOp(join(t.Dir, "_c_"+uuid+"-"+t.Name), t.Data, EphemeralSequential, nil))
	}
	return s.requests(ops)
}

// failedAt returns the index of the operation that made a transaction fail.
func failedAt(res []zk.MultiResponse) int {
	for i, r := range res {
		if r.Error != nil {
			return i
		}
	}
	return len(res)
}

// traded accounts for a trade, and reads the token of the new znodes, which they
// have in common.
func (s *Session) traded(t Trade, nodes []*Owned) ([]*Owned, error) {
	cost := s.client.ProtectedCost(t.Dir, t.Name)
	for _, n := range nodes {
		n.reserved = cost
	}
	t.For.unwatch()
	s.Unreserve(t.For.takeReserved() - t.Count*cost)
	if err := nodes[0].Load(s.ctx); err != nil {
		for _, n := range nodes {
			n.Discard()
		}
		return nil, err
	}
	for _, n := range nodes {
		n.token = nodes[0].token
	}
	return nodes, nil
}

// tradedBefore finds what an attempt whose answer was lost has made. The failed
// transaction after it has made sure that it is visible here.
func (s *Session) tradedBefore(t Trade, uuids []string, sent time.Duration) ([]*Owned, error) {
	names, _, err := s.list(s.ctx, t.Dir)
	if err != nil && !errors.Is(err, ErrNoNode) {
		return nil, err
	}
	byUUID := make(map[string]string, len(names))
	for _, name := range names {
		byUUID[uuidOf(name)] = name
	}
	var nodes []*Owned
	for _, uuid := range uuids {
		if name, ok := byUUID[uuid]; ok {
			nodes = append(nodes, &Owned{s: s, path: join(t.Dir, name), sent: sent})
		}
	}
	if len(nodes) < t.Count {
		for _, n := range nodes {
			n.Discard()
		}
		return nil, &OpError{Op: "trade", Path: t.For.path, Session: s.ID(), Err: ErrNoNode}
	}
	return s.traded(t, nodes)
}
