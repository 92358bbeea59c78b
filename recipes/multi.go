package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Op is one operation of a transaction; CreateOp, SetOp, DeleteOp and CheckOp
// make them.
type Op struct {
	name string
	path string
	data []byte
	mode Mode // of a create
	zk   func(s *Session) any
}

// CreateOp creates a znode. A nil ACL is the client's own. Containers cannot be
// made in a transaction.
func CreateOp(path string, data []byte, mode Mode, acl []ACL) Op {
	return Op{"create", path, data, mode, func(s *Session) any {
		if acl == nil {
			acl = s.cfg.acl
		}
		return &zk.CreateRequest{Path: s.abs(path), Data: data, Acl: toZK(acl), Flags: mode.flags()}
	}}
}

// SetOp writes a znode's data if it has the given version; -1 stands for any.
func SetOp(path string, data []byte, version int32) Op {
	return Op{"set", path, data, 0, func(s *Session) any {
		return &zk.SetDataRequest{Path: s.abs(path), Data: data, Version: version}
	}}
}

// DeleteOp deletes a znode if it has the given version; -1 stands for any.
func DeleteOp(path string, version int32) Op {
	return Op{"delete", path, nil, 0, func(s *Session) any {
		return &zk.DeleteRequest{Path: s.abs(path), Version: version}
	}}
}

// CheckOp demands that a znode exists and has the given version; -1 stands for
// any.
func CheckOp(path string, version int32) Op {
	return Op{"check", path, nil, 0, func(s *Session) any {
		return &zk.CheckVersionRequest{Path: s.abs(path), Version: version}
	}}
}

// Result is the outcome of one operation of a transaction.
type Result struct {
	Path string // of a create
	Stat Stat   // of a set
	Err  error
}

// Multi runs all operations in one transaction, or none of them. When one fails
// the error is an *OpError about that one, and the results say which.
func (s *Session) Multi(ctx context.Context, ops ...Op) ([]Result, error) {
	reqs, err := s.requests(ops)
	if err != nil {
		return nil, err
	}
	if !s.reserve(s.cost(ops...)) {
		return nil, &OpError{Op: "transaction", Session: s.ID(), Err: ErrSessionFull}
	}
	late := func(res []zk.MultiResponse, err error) { s.settle(ops, s.results(ops, res, err), err) }
	res, err := write(ctx, s, late, func(z *zk.Conn) ([]zk.MultiResponse, error) { return transact(z, reqs...) })
	results := s.results(ops, res, err)
	s.settle(ops, results, err)
	for i, r := range results {
		if r.Err != nil && !errors.Is(r.Err, ErrNotRun) {
			return results, &OpError{Op: ops[i].name, Path: ops[i].path, Session: s.ID(), Err: r.Err}
		}
	}
	return results, s.opErr("transaction", "", err)
}

// cost is what operations take of the budget of ephemeral paths.
func (s *Session) cost(ops ...Op) int {
	n := 0
	for _, op := range ops {
		if op.mode.ephemeral() {
			n += pathCost(len(s.abs(op.path)), op.mode)
		}
	}
	return n
}

// settle makes the budget follow a transaction's outcome.
func (s *Session) settle(ops []Op, results []Result, err error) {
	switch {
	case err == nil:
		for i, op := range ops {
			if op.mode.ephemeral() {
				s.charge(results[i].Path, s.cost(op))
			} else if op.name == "delete" {
				s.uncharge(op.path)
			}
		}
	case errors.Is(err, zkconn.ErrAbandoned):
		// It is on its way, and settled when it arrives.
	case isUnknown(err):
		for _, op := range ops {
			if op.mode.ephemeral() {
				s.doubt(op.path, op.mode, s.cost(op))
			}
		}
	default:
		s.Unreserve(s.cost(ops...))
	}
}

func (s *Session) requests(ops []Op) ([]any, error) {
	if len(ops) == 0 {
		return nil, errors.New("recipes: transaction without operations")
	}
	size := 0
	reqs := make([]any, len(ops))
	for i, op := range ops {
		if op.zk == nil {
			return nil, errors.New("recipes: zero Op: use CreateOp, SetOp, DeleteOp or CheckOp")
		}
		if err := checkRequest(op.path, op.data); err != nil {
			return nil, err
		}
		if err := op.mode.check(op.path); err != nil {
			return nil, err
		}
		size += len(s.cfg.chroot) + len(op.path) + len(op.data) + 64
		reqs[i] = op.zk(s)
		if r, ok := reqs[i].(*zk.CreateRequest); ok && r.Flags == zk.FlagContainer {
			return nil, fmt.Errorf("recipes: create %s: containers cannot be made in a transaction", op.path)
		}
	}
	if size > maxRequest {
		return nil, fmt.Errorf("%w: transaction of %d bytes, servers take %d", ErrTooLarge, size, maxRequest)
	}
	return reqs, nil
}

// results translates the outcome. Where the transaction failed nothing of it
// was applied, also what stands before the operation that failed.
func (s *Session) results(ops []Op, res []zk.MultiResponse, err error) []Result {
	if len(res) != len(ops) {
		return nil
	}
	out := make([]Result, len(res))
	blamed := false
	for i, r := range res {
		switch {
		case err == nil:
			out[i] = Result{Stat: newStat(r.Stat)}
			if r.String != "" {
				out[i].Path = s.rel(r.String)
			}
		case r.Error != nil && !blamed:
			out[i].Err = translate(r.Error)
			blamed = true
		default:
			out[i].Err = ErrNotRun
		}
	}
	return out
}
