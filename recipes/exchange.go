package recipes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Exchange is a change of contenders of one session in one transaction: some
// go, others come, and none of it happens if a check fails.
type Exchange struct {
	Give   []*Owned
	Take   []Protected
	Checks []Op // or other operations that are to succeed along with it

	// Prepaid is how many bytes of ephemeral paths SessionFor has set aside for
	// it. They are used up, or given back.
	Prepaid int

	_ struct{}
}

// CheckError is a check of an exchange that failed.
type CheckError struct{ *OpError }

// Unwrap returns the failed check's error.
func (e *CheckError) Unwrap() error { return e.OpError }

type exchanged struct {
	nodes []*Created
	err   error
}

// Exchange makes an exchange, and returns the znodes that came. Directories that
// are missing are made.
//
// With an error nothing has come: ErrNoNode where a contender to give is gone
// already, a *CheckError where a check failed, ErrSessionFull where the session
// has no room. If ctx ends first, what comes late is deleted in the background,
// and whether the contenders to give are gone is open.
func (s *Session) Exchange(ctx context.Context, x Exchange) ([]*Created, error) {
	cost, err := s.prepay(x)
	if err != nil {
		return nil, err
	}
	done := make(chan exchanged)
	abandoned := make(chan struct{})
	started := s.spawn(func() {
		nodes, err := s.exchange(x)
		if err != nil {
			s.Unreserve(cost)
		}
		if err != nil && s.ctx.Err() != nil {
			// The session's own context is no business of the caller's.
			err = &OpError{Op: "exchange", Path: x.path(), Session: s.ID(), Err: s.Err()}
		}
		select {
		case done <- exchanged{nodes, err}:
		case <-abandoned:
			for _, n := range nodes {
				n.Discard()
			}
		}
	})
	if !started {
		s.Unreserve(cost)
		return nil, &OpError{Op: "exchange", Path: x.path(), Session: s.ID(), Err: s.endErr()}
	}
	select {
	case r := <-done:
		return r.nodes, r.err
	case <-ctx.Done():
		close(abandoned)
		return nil, s.opErr("exchange", x.path(), ctx.Err())
	}
}

// path names an exchange in an error.
func (x Exchange) path() string {
	if len(x.Take) > 0 {
		return x.Take[0].Dir
	}
	return x.Give[0].path
}

// prepay sets aside what is to come, out of what the contenders to give had
// spare.
func (s *Session) prepay(x Exchange) (cost int, err error) {
	for _, p := range x.Take {
		cost += s.client.ProtectedCost(p.Dir, p.Name)
	}
	need := cost
	for _, o := range x.Give {
		need -= o.takeSpare()
	}
	need -= x.Prepaid
	if need < 0 {
		s.Unreserve(-need)
	} else if !s.reserve(need) {
		s.Unreserve(cost - need)
		return 0, &OpError{Op: "exchange", Path: x.path(), Session: s.ID(), Err: ErrSessionFull}
	}
	return cost, nil
}

// attempt is one exchange on its way: its requests, in the order of checks,
// what goes, and what comes.
type attempt struct {
	x     Exchange
	uuids []string
	reqs  []any
	made  []int // index of each creation among the requests
}

func (s *Session) newAttempt(x Exchange) *attempt {
	a := &attempt{x: x}
	for _, c := range x.Checks {
		a.reqs = append(a.reqs, c.zk(s))
	}
	for _, o := range x.Give {
		a.reqs = append(a.reqs, &zk.DeleteRequest{Path: s.abs(o.path), Version: -1})
	}
	for _, p := range x.Take {
		uuid := NewUUID()
		a.uuids = append(a.uuids, uuid)
		a.made = append(a.made, len(a.reqs))
		a.reqs = append(a.reqs, s.createRequest(p, uuid))
		if p.TouchDir {
			a.reqs = append(a.reqs, &zk.SetDataRequest{Path: s.abs(p.Dir), Version: -1})
		}
	}
	return a
}

// exchange repeats the transaction until its outcome is known.
func (s *Session) exchange(x Exchange) ([]*Created, error) {
	x.Take = slices.Clone(x.Take)
	denied := make([]bool, len(x.Take))
	for {
		a := s.newAttempt(x)
		res, sent, err := s.send(a)
		if isUnknown(err) {
			nodes, found, err := s.foundAfterAll(a)
			if err != nil {
				for i, p := range x.Take {
					s.giveUp(p.Dir, a.uuids[i], 0)
				}
				return nil, err
			}
			if found {
				return withDenied(nodes, denied), nil
			}
			continue
		}
		if err == nil {
			nodes, err := s.settled(a, s.created(a, res, sent))
			return withDenied(nodes, denied), err
		}
		if i := a.touchDenied(res); i >= 0 {
			x.Take[i].TouchDir, denied[i] = false, true
			continue
		}
		again, err := s.exchangeFailed(a, res, err)
		if !again {
			return nil, err
		}
	}
}

// send sends an attempt once, and returns when: waiting for a connection is not to
// count.
func (s *Session) send(a *attempt) (res []zk.MultiResponse, sent time.Duration, err error) {
	type answer struct {
		res  []zk.MultiResponse
		sent time.Duration
	}
	ans, err := write(s.ctx, s, nil, func(z *zk.Conn) (answer, error) {
		sent := s.now()
		res, err := transact(z, a.reqs...)
		return answer{res, sent}, err
	})
	return ans.res, ans.sent, err
}

// touchDenied returns which of those to come failed because its directory's data
// may not be written, -1 if none did.
func (a *attempt) touchDenied(res []zk.MultiResponse) int {
	return slices.IndexFunc(a.made, func(at int) bool {
		touch := at + 1
		return touch < len(res) && errors.Is(res[touch].Error, zk.ErrNoAuth) && isSet(a.reqs[touch])
	})
}

func isSet(req any) bool {
	_, ok := req.(*zk.SetDataRequest)
	return ok
}

func withDenied(nodes []*Created, denied []bool) []*Created {
	for i, n := range nodes {
		n.DirDenied = denied[i]
	}
	return nodes
}

// created reads what came off the transaction's answer.
func (s *Session) created(a *attempt, res []zk.MultiResponse, sent time.Duration) []*Created {
	nodes := make([]*Created, len(a.made))
	for i, at := range a.made {
		nodes[i] = &Created{Owned: &Owned{s: s, path: s.rel(res[at].String), sent: sent, dated: true}}
		if a.x.Take[i].TouchDir {
			dir := res[at+1].Stat
			s.client.toldTime(newStat(dir).Modified, sent)
			nodes[i].czxid, nodes[i].Children = fence.Token(dir.Mzxid), int(dir.NumChildren)
		}
	}
	return nodes
}

// foundAfterAll finds out, behind a barrier, whether an attempt whose answer was
// lost has succeeded.
func (s *Session) foundAfterAll(a *attempt) (nodes []*Created, found bool, err error) {
	if len(a.x.Take) == 0 {
		return s.goneAfterAll(a)
	}
	for i, p := range a.x.Take {
		o, err := s.find(s.ctx, p.Dir, a.uuids[i])
		if err != nil {
			return nil, false, err
		}
		if o != nil {
			nodes = append(nodes, &Created{Owned: o})
		}
	}
	if len(nodes) == 0 {
		return nil, false, nil
	}
	if len(nodes) < len(a.x.Take) {
		for _, n := range nodes { // all or none: an operator was here
			n.Discard()
		}
		return nil, false, &OpError{Op: "exchange", Path: a.x.path(), Session: s.ID(), Err: ErrNoNode}
	}
	nodes, err = s.settled(a, nodes)
	return nodes, err == nil, err
}

// goneAfterAll is foundAfterAll for an exchange to which nothing comes: what
// went tells.
func (s *Session) goneAfterAll(a *attempt) (nodes []*Created, found bool, err error) {
	if err := s.Barrier(s.ctx); err != nil {
		return nil, false, err
	}
	for _, o := range a.x.Give {
		_, there, err := s.Exists(s.ctx, o.path)
		if err != nil || there {
			return nil, false, err
		}
	}
	nodes, err = s.settled(a, nil)
	return nodes, true, err
}

// exchangeFailed tells what a committed failure means, and whether it is worth
// another attempt.
func (s *Session) exchangeFailed(a *attempt, res []zk.MultiResponse, err error) (again bool, _ error) {
	at := len(res)
	for i, r := range res {
		if r.Error != nil {
			at = i
			break
		}
	}
	checks, gives := len(a.x.Checks), len(a.x.Give)
	switch {
	case at == len(res):
		return false, s.opErr("exchange", a.x.path(), err)
	case at < checks:
		c := a.x.Checks[at]
		return false, &CheckError{&OpError{Op: c.name, Path: c.path, Session: s.ID(), Err: translate(res[at].Error)}}
	case at < checks+gives:
		return false, s.opErr("delete", a.x.Give[at-checks].path, res[at].Error)
	case errors.Is(res[at].Error, zk.ErrNoNode):
		for _, p := range a.x.Take {
			if err := s.makeDir(s.ctx, p.Dir); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	return false, s.opErr("create", a.x.path(), res[at].Error)
}

// settled accounts for an exchange that has happened, and reads the token where
// the answer did not tell it. One transaction made all of them, so they have it
// in common.
func (s *Session) settled(a *attempt, nodes []*Created) ([]*Created, error) {
	for _, o := range a.x.Give {
		o.unwatch()
		s.Unreserve(o.takeReserved())
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	var err error
	if nodes[0].czxid == 0 {
		err = nodes[0].Load(s.ctx)
	}
	for _, n := range nodes {
		n.czxid = nodes[0].czxid
	}
	if err != nil {
		for _, n := range nodes {
			n.Discard()
		}
		return nil, err
	}
	for i, n := range nodes {
		n.reserved = s.client.ProtectedCost(a.x.Take[i].Dir, a.x.Take[i].Name)
	}
	return nodes, nil
}
