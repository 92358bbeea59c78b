package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
)

// nodeName is as long as those of the recipes.
const nodeName = "_c_00000000-0000-0000-0000-000000000000-lock-"

var anyone = zk.WorldACL(zk.PermAll)

func connect(addr string) (*zk.Conn, error) {
	c, events, err := zk.Connect([]string{addr}, timeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	for ev := range events {
		if ev.State == zk.StateHasSession {
			return c, nil
		}
	}
	return nil, errors.New("no session")
}

// goZooKeeper is the client library with its own lock.
type goZooKeeper struct{ c *zk.Conn }

func openGoZooKeeper(_ context.Context, addr string) (session, error) {
	c, err := connect(addr)
	return &goZooKeeper{c}, err
}

func (s *goZooKeeper) close() { s.c.Close() }

type goLock struct{ l *zk.Lock }

func (s *goZooKeeper) locker(kind, path string, _ int) (locker, error) {
	if kind != "mutex" {
		return nil, errNone
	}
	return goLock{zk.NewLock(s.c, path, anyone)}, nil
}

func (l goLock) acquire(context.Context) error { return l.l.Lock() }
func (l goLock) release(context.Context) error { return l.l.Unlock() }

// floor is what any recipe has to do: create and delete, and where somebody is
// before it a watch on that one, the event, and one read. Who is before it is
// told from process memory, without a listing.
type floor struct{ c *zk.Conn }

func openFloor(_ context.Context, addr string) (session, error) {
	c, err := connect(addr)
	return &floor{c}, err
}

func (s *floor) close() { s.c.Close() }

// line is the queue at one path, as this process knows it.
type line struct {
	mu    sync.Mutex
	last  string
	alive map[string]bool
}

var lines struct {
	sync.Mutex
	at map[string]*line
}

func lineAt(path string) *line {
	lines.Lock()
	defer lines.Unlock()
	if lines.at == nil {
		lines.at = make(map[string]*line)
	}
	if lines.at[path] == nil {
		lines.at[path] = &line{alive: make(map[string]bool)}
	}
	return lines.at[path]
}

type floorNode struct {
	c         *zk.Conn
	dir, path string
	line      *line
}

func (s *floor) locker(kind, path string, _ int) (locker, error) {
	if kind != "mutex" {
		return nil, errNone
	}
	_, err := s.c.Create(path, nil, 0, anyone)
	if errors.Is(err, zk.ErrNoNode) { // one of many, below a directory
		return nil, fmt.Errorf("%s: %w", path, errNone)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return nil, err
	}
	return &floorNode{c: s.c, dir: path, line: lineAt(path)}, nil
}

func (n *floorNode) acquire(context.Context) error {
	before, err := n.enqueue()
	if err != nil || before == "" {
		return err
	}
	_, _, gone, err := n.c.GetW(before)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	if ev := <-gone; ev.Err != nil {
		return ev.Err
	}
	_, _, err = n.c.Get(n.path)
	return err
}

// enqueue returns who is before it.
func (n *floorNode) enqueue() (before string, err error) {
	n.line.mu.Lock()
	defer n.line.mu.Unlock()
	if n.path, err = n.c.Create(n.dir+"/"+nodeName, nil, zk.FlagEphemeral|zk.FlagSequence, anyone); err != nil {
		return "", err
	}
	if n.line.alive[n.line.last] {
		before = n.line.last
	}
	n.line.last = n.path
	n.line.alive[n.path] = true
	return before, nil
}

func (n *floorNode) release(context.Context) error {
	err := n.c.Delete(n.path, -1)
	n.line.mu.Lock()
	defer n.line.mu.Unlock()
	delete(n.line.alive, n.path)
	return err
}

// try is the least that can tell: one read.
func (n *floorNode) try(context.Context) (bool, error) {
	names, _, err := n.c.Children(n.dir)
	return len(names) == 0, err
}
