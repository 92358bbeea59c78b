package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// maxRequest is what a server takes by default (jute.maxbuffer), less the room
// for headers and ACLs.
const maxRequest = 1<<20 - 4<<10

// abs adds the chroot.
func (s *Session) abs(path string) string {
	if path == "/" && s.cfg.chroot != "" {
		return s.cfg.chroot
	}
	return s.cfg.chroot + path
}

// rel takes the chroot off again.
func (s *Session) rel(path string) string {
	if rel := path[min(len(s.cfg.chroot), len(path)):]; rel != "" {
		return rel
	}
	return "/"
}

// checkRequest refuses what would end the connection for everybody on it.
func checkRequest(path string, data []byte) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	if n := len(path) + len(data); n > maxRequest {
		return fmt.Errorf("%w: %d bytes of path and data, servers take %d", ErrTooLarge, n, maxRequest)
	}
	return nil
}

// opErr puts an error of zkconn into this package's form.
func (s *Session) opErr(op, path string, err error) error {
	if err == nil {
		return nil
	}
	out := translate(err)
	if isContextErr(out) && s.conn.Reason() == nil && !s.conn.Connected() {
		s.client.mu.Lock()
		defer s.client.mu.Unlock()
		out = s.client.notConnected(out)
	}
	return &OpError{Op: op, Path: path, Session: s.ID(), Err: out}
}

func isContextErr(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// unanswered reports whether a request got no answer. That its session or its
// context is over counts only where err says so: if they have ended since, the
// next attempt will say it, and the caller gets the reason rather than what it
// has led to.
func unanswered(err error) bool {
	return (errors.Is(err, zkconn.ErrNotSent) || errors.Is(err, zkconn.ErrUnknown)) &&
		!errors.Is(err, zkconn.ErrOver) && !isContextErr(err)
}

// again reports whether a request that failed with err can be made once more
// without asking what became of it.
func again(err error) bool { return unanswered(err) && errors.Is(err, zkconn.ErrNotSent) }

// read makes a request until it is answered.
func read[T any](ctx context.Context, s *Session, op, path string, call func(*zk.Conn) (T, error)) (T, error) {
	for {
		v, err := zkconn.Call(ctx, s.conn, zkconn.Read, nil, call)
		if err == nil || !again(err) {
			return v, s.opErr(op, path, err)
		}
	}
}

// write makes a request until it was sent. late is called with what becomes of
// it if ctx ends first.
func write[T any](ctx context.Context, s *Session, late func(T, error), call func(*zk.Conn) (T, error)) (T, error) {
	for {
		v, err := zkconn.Call(ctx, s.conn, zkconn.Write, late, call)
		if err == nil || !again(err) {
			return v, err
		}
	}
}

type dataStat struct {
	data []byte
	stat *zk.Stat
}

// Get reads a znode.
func (s *Session) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	if err := checkRequest(path, nil); err != nil {
		return nil, Stat{}, err
	}
	r, err := read(ctx, s, "get", path, func(z *zk.Conn) (dataStat, error) {
		data, stat, err := z.Get(s.abs(path))
		return dataStat{data, stat}, err
	})
	return r.data, newStat(r.stat), err
}

// Exists reads a znode's Stat; ok is false where there is no such znode.
func (s *Session) Exists(ctx context.Context, path string) (stat Stat, ok bool, err error) {
	if err := checkRequest(path, nil); err != nil {
		return Stat{}, false, err
	}
	r, err := read(ctx, s, "exists", path, func(z *zk.Conn) (*zk.Stat, error) {
		found, stat, err := z.Exists(s.abs(path))
		if !found {
			stat = nil
		}
		return stat, err
	})
	return newStat(r), r != nil && err == nil, err
}

type childrenStat struct {
	names []string
	stat  *zk.Stat
}

// Children lists a znode's children, in no particular order, and its own Stat.
func (s *Session) Children(ctx context.Context, path string) ([]string, Stat, error) {
	names, stat, err := s.list(ctx, path)
	if err == nil {
		s.sweep(path, names)
	}
	return names, stat, err
}

func (s *Session) list(ctx context.Context, path string) ([]string, Stat, error) {
	if err := checkRequest(path, nil); err != nil {
		return nil, Stat{}, err
	}
	r, err := read(ctx, s, "list", path, func(z *zk.Conn) (childrenStat, error) {
		names, stat, err := z.Children(s.abs(path))
		return childrenStat{names, stat}, err
	})
	return r.names, newStat(r.stat), err
}

// Create makes a znode and returns its path, which differs from the one asked
// for where it is sequential. An ephemeral znode whose creation got no answer in
// time is deleted in the background; any other may be left, and the error is
// ErrOutcomeUnknown.
//
// For a contender's znode use CreateProtected, which finds it again.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode Mode, acl []ACL) (string, error) {
	if err := checkRequest(path, data); err != nil {
		return "", err
	}
	if err := mode.check(path); err != nil {
		return "", err
	}
	if acl == nil {
		acl = s.cfg.acl
	}
	if mode.ephemeral() {
		return s.createEphemeral(ctx, path, data, mode, acl)
	}
	created, err := s.create(ctx, nil, path, data, mode, acl)
	if err != nil {
		return "", s.opErr("create", path, err)
	}
	return s.rel(created), nil
}

// createEphemeral keeps the session within its budget, and takes care of a
// znode that nobody waits for any more.
func (s *Session) createEphemeral(ctx context.Context, path string, data []byte, mode Mode, acl []ACL) (string, error) {
	cost := pathCost(len(s.abs(path)), mode)
	if !s.reserve(cost) {
		return "", &OpError{Op: "create", Path: path, Session: s.ID(), Err: ErrSessionFull}
	}
	late := func(created string, err error) {
		switch {
		case err == nil:
			s.charge(s.rel(created), cost)
			s.Discard(s.rel(created))
		case isUnknown(err):
			s.doubt(path, mode, cost)
		default:
			s.Unreserve(cost)
		}
	}
	created, err := s.create(ctx, late, path, data, mode, acl)
	if err != nil {
		switch {
		case errors.Is(err, zkconn.ErrAbandoned): // late sees to it
		case isUnknown(err):
			s.doubt(path, mode, cost)
		default:
			s.Unreserve(cost)
		}
		return "", s.opErr("create", path, err)
	}
	s.charge(s.rel(created), cost)
	return s.rel(created), nil
}

func (s *Session) create(ctx context.Context, late func(string, error), path string, data []byte, mode Mode, acl []ACL) (string, error) {
	return write(ctx, s, late, func(z *zk.Conn) (string, error) {
		return createOne(z, &zk.CreateRequest{Path: s.abs(path), Data: data, Flags: mode.flags(), Acl: toZK(acl)})
	})
}

// Set writes a znode's data if it has the given version; -1 stands for any.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	if err := checkRequest(path, data); err != nil {
		return Stat{}, err
	}
	stat, err := write(ctx, s, nil, func(z *zk.Conn) (*zk.Stat, error) {
		sent := s.now()
		stat, err := z.Set(s.abs(path), data, version)
		if err == nil {
			s.client.toldTime(newStat(stat).Modified, sent)
		}
		return stat, err
	})
	if err != nil {
		return Stat{}, s.opErr("set", path, err)
	}
	return newStat(stat), nil
}

// Delete deletes a znode if it has the given version; -1 stands for any.
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	if err := checkRequest(path, nil); err != nil {
		return err
	}
	_, err := write(ctx, s, nil, func(z *zk.Conn) (struct{}, error) {
		return struct{}{}, z.Delete(s.abs(path), version)
	})
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		s.uncharge(path)
	}
	return s.opErr("delete", path, err)
}

// ACL reads a znode's ACL.
func (s *Session) ACL(ctx context.Context, path string) ([]ACL, error) {
	if err := checkRequest(path, nil); err != nil {
		return nil, err
	}
	acl, err := read(ctx, s, "get ACL of", path, func(z *zk.Conn) ([]zk.ACL, error) {
		acl, _, err := z.GetACL(s.abs(path))
		return acl, err
	})
	return fromZK(acl), err
}

// Sync makes the server in use catch up with the leader. It proves nothing: a
// leader that has been deposed without knowing answers it too. See Barrier.
func (s *Session) Sync(ctx context.Context, path string) error {
	if err := checkRequest(path, nil); err != nil {
		return err
	}
	_, err := read(ctx, s, "sync", path, func(z *zk.Conn) (string, error) { return z.Sync(s.abs(path)) })
	return err
}

// Barrier makes sure that what this session has asked for before is settled: an
// older write whose answer was lost is either visible to what this session reads
// from now on, or will never be executed. It commits a transaction that changes
// nothing.
func (s *Session) Barrier(ctx context.Context) error {
	for {
		if err := s.confirm(ctx); !unanswered(err) {
			return s.opErr("barrier", "", err)
		}
	}
}

// confirm commits one transaction that checks the given paths, or the root, and
// changes nothing. Whatever the server answers about the znodes, the answer
// proves that the ensemble has committed it. A znode that is missing comes back
// as zk.ErrNoNode.
func (s *Session) confirm(ctx context.Context, paths ...string) error {
	ops := []any{&zk.CheckVersionRequest{Path: "/", Version: -1}}
	if len(paths) > 0 {
		ops = ops[:0]
	}
	for _, p := range paths {
		ops = append(ops, &zk.CheckVersionRequest{Path: s.abs(p), Version: -1})
	}
	type answer struct {
		committed bool
		missing   bool
	}
	a, err := zkconn.Call(ctx, s.conn, zkconn.Write, nil, func(z *zk.Conn) (answer, error) {
		res, err := z.Multi(ops...)
		return answer{len(res) > 0, errors.Is(err, zk.ErrNoNode)}, err
	})
	if a.missing || !a.committed {
		return err
	}
	return nil
}
