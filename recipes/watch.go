package recipes

import (
	"context"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Watch tells that it is time to look again: the znode may have changed, the
// connection is another one, or the session is over. It is a hint. Nothing is
// lost by it, since every reconnect wakes it, but it may wake for nothing. It is
// armed by each read of the znode while it lasts: after it has woken, read again.
//
// A Watch that is not stopped is kept until its session ends.
type Watch struct {
	// C receives once for any number of reasons since it last did.
	C <-chan struct{}

	created, deleted atomic.Bool
	watching         *zkconn.Watching
}

// Created reports whether the znode was created since the watch began, as far
// as it has seen.
func (w *Watch) Created() bool { return w.created.Load() }

// Deleted reports whether the watch has seen its znode deleted.
func (w *Watch) Deleted() bool { return w.deleted.Load() }

// Stop ends the watch.
func (w *Watch) Stop() { w.watching.Stop() }

func (s *Session) listen(path string) *Watch {
	c := make(chan struct{}, 1)
	w := &Watch{C: c}
	w.watching = s.conn.Watch(s.abs(path), func(ev zkconn.Event) {
		switch ev {
		case zkconn.Created:
			w.created.Store(true)
		case zkconn.Deleted:
			w.deleted.Store(true)
		}
		select {
		case c <- struct{}{}:
		default:
		}
	})
	return w
}

// GetWatch is Get with a watch for the znode's data and its deletion. There is
// no watch where there is an error.
func (s *Session) GetWatch(ctx context.Context, path string) ([]byte, Stat, *Watch, error) {
	if err := checkRequest(path, nil); err != nil {
		return nil, Stat{}, nil, err
	}
	w := s.listen(path)
	r, err := read(ctx, s, "watch", path, func(z *zk.Conn) (dataStat, error) {
		data, stat, err := z.Get(s.abs(path))
		return dataStat{data, stat}, err
	})
	if err != nil {
		w.Stop()
		return nil, Stat{}, nil, err
	}
	return r.data, newStat(r.stat), w, nil
}

// ExistsWatch is Exists with a watch for the znode's creation, data and
// deletion. There is no watch where there is an error.
func (s *Session) ExistsWatch(ctx context.Context, path string) (stat Stat, ok bool, w *Watch, err error) {
	if err := checkRequest(path, nil); err != nil {
		return Stat{}, false, nil, err
	}
	w = s.listen(path)
	r, err := read(ctx, s, "watch", path, func(z *zk.Conn) (*zk.Stat, error) {
		found, stat, err := z.Exists(s.abs(path))
		if !found {
			stat = nil
		}
		return stat, err
	})
	if err != nil {
		w.Stop()
		return Stat{}, false, nil, err
	}
	return newStat(r), r != nil, w, nil
}

// ChildrenWatch is Children with a watch for the znode's children and its
// deletion. There is no watch where there is an error.
func (s *Session) ChildrenWatch(ctx context.Context, path string) ([]string, Stat, *Watch, error) {
	if err := checkRequest(path, nil); err != nil {
		return nil, Stat{}, nil, err
	}
	w := s.listen(path)
	r, err := read(ctx, s, "watch children of", path, func(z *zk.Conn) (childrenStat, error) {
		names, stat, err := z.Children(s.abs(path))
		return childrenStat{names, stat}, err
	})
	if err != nil {
		w.Stop()
		return nil, Stat{}, nil, err
	}
	s.sweep(path, r.names)
	return r.names, newStat(r.stat), w, nil
}
