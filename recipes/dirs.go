package recipes

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// makeDir makes a directory and what is missing above it: first the last one,
// and only where that fails the one above.
func (s *Session) makeDir(ctx context.Context, dir string) error {
	err := s.makeOne(ctx, dir)
	if errors.Is(err, ErrNoNode) {
		if err := s.makeDir(ctx, parent(dir)); err != nil {
			return err
		}
		err = s.makeOne(ctx, dir)
	}
	if errors.Is(err, ErrNoNode) {
		return nil // reaped in between; the caller comes back
	}
	return err
}

// MakePersistent makes a znode that stays, and what is missing above it. Where
// it exists it returns ErrNodeExists.
func (s *Session) MakePersistent(ctx context.Context, path string, data []byte) error {
	for {
		_, err := s.Create(ctx, path, data, Persistent, s.cfg.parentACL)
		if !errors.Is(err, ErrNoNode) {
			return err
		}
		if err := s.makeDir(ctx, parent(path)); err != nil {
			return err
		}
	}
}

// makeOne makes one directory: a container, which the server deletes some time
// after its last child, unless the server has none or the user wants none.
func (s *Session) makeOne(ctx context.Context, dir string) error {
	if dir == "/" {
		return s.makeChroot(ctx)
	}
	mode := Container
	if s.cfg.persistent || s.client.noContainers.Load() {
		mode = Persistent
	}
	_, err := s.Create(ctx, dir, nil, mode, s.cfg.parentACL)
	if mode == Container && isUnimplemented(err) {
		s.client.noContainers.Store(true)
		_, err = s.Create(ctx, dir, nil, Persistent, s.cfg.parentACL)
	}
	if errors.Is(err, ErrNodeExists) || errors.Is(err, ErrOutcomeUnknown) {
		return nil // where it is unknown the caller's next attempt tells
	}
	return err
}

// makeChroot makes the chroot, which is to stay.
func (s *Session) makeChroot(ctx context.Context) error {
	elems := strings.Split(s.cfg.chroot, "/")
	for i := 2; i <= len(elems); i++ {
		path := strings.Join(elems[:i], "/")
		_, err := write(ctx, s, nil, func(z *zk.Conn) (string, error) {
			return z.Create(path, nil, 0, toZK(s.cfg.parentACL))
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) && !isUnknown(err) {
			return &OpError{Op: "create chroot", Path: path, Session: s.ID(), Err: translate(err)}
		}
	}
	return nil
}

// isUnimplemented recognises the server's code -6, which the client library
// has no name for.
func isUnimplemented(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unknown error: -6")
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}
