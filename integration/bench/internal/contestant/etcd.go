package main

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// etcd is etcd's own recipes, on an etcd server.
type etcd struct {
	c *clientv3.Client
	s *concurrency.Session
}

func openEtcd(ctx context.Context, addr string) (session, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: timeout, Context: ctx})
	if err != nil {
		return nil, err
	}
	s, err := concurrency.NewSession(c, concurrency.WithTTL(int(timeout.Seconds())))
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return &etcd{c, s}, nil
}

func (s *etcd) close() {
	_ = s.s.Close()
	_ = s.c.Close()
}

func (s *etcd) locker(kind, path string, _ int) (locker, error) {
	switch kind {
	case "mutex":
		return etcdLock{concurrency.NewMutex(s.s, path)}, nil
	case "election":
		return etcdElection{concurrency.NewElection(s.s, path)}, nil
	}
	return nil, errNone
}

type etcdLock struct{ *concurrency.Mutex }

func (l etcdLock) acquire(ctx context.Context) error { return l.Lock(ctx) }
func (l etcdLock) release(ctx context.Context) error { return l.Unlock(ctx) }

func (l etcdLock) try(ctx context.Context) (bool, error) {
	err := l.TryLock(ctx)
	if errors.Is(err, concurrency.ErrLocked) {
		return false, nil
	}
	return true, err
}

type etcdElection struct{ *concurrency.Election }

func (e etcdElection) acquire(ctx context.Context) error { return e.Campaign(ctx, "me") }
func (e etcdElection) release(ctx context.Context) error { return e.Resign(ctx) }
