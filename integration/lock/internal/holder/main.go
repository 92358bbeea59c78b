// Command holder takes locks in a process of its own, which a test can kill and
// freeze. It reads commands and prints what happens as lines of JSON.
//
//	lock NAME PATH        wait for a lock; prints granted, and over when a look finds it over
//	look NAME             what a look at the lease says
//	release NAME
//	txn NAME PATH DATA    set PATH through the lease
//	late NAME PATH DATA   the same past the lease's own look, as a request that was under way
//	loop PATH N           take turns, once each time a line "grants" is left: N contenders
//	many PREFIX N         take N locks and keep them
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func main() {
	connect := flag.String("connect", "", "servers")
	timeout := flag.Duration("timeout", 10*time.Second, "session timeout")
	tick := flag.Duration("tick", 500*time.Millisecond, "the servers' tick")
	budget := flag.Int("budget", 0, "bytes of ephemeral paths in one session")
	grants := flag.Int("grants", 0, "how many grants a loop takes in all")
	flag.Parse()
	opts := []recipes.Option{recipes.WithSessionTimeout(*timeout), recipes.WithTickTime(*tick)}
	if *budget > 0 {
		opts = append(opts, recipes.WithEphemeralBudget(*budget))
	}
	if err := run(*connect, *grants, opts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(connect string, grants int, opts []recipes.Option) error {
	c, err := recipes.Dial(context.Background(), connect, opts...)
	if err != nil {
		return err
	}
	defer c.Close()
	h := &holder{client: c, leases: make(map[string]*recipes.Lease)}
	h.grants.Store(int64(grants))
	h.print(belief.Line{Event: belief.Ready})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := h.do(strings.Fields(lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

type holder struct {
	client *recipes.Client
	grants atomic.Int64 // left for loop

	mu     sync.Mutex // guards leases and the output
	leases map[string]*recipes.Lease
}

func (h *holder) print(l belief.Line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Println(l)
}

// do carries out one command. What waits for others does so on its own: the
// process ends with its input, whatever still runs.
func (h *holder) do(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("holder: command %q: too short", args)
	}
	name, rest := args[1], args[2:]
	switch args[0] {
	case "lock":
		go h.lock(name, rest[0])
	case "look":
		h.answer(name, h.lease(name).Err())
	case "release":
		h.answer(name, h.lease(name).Release(context.Background()))
	case "txn":
		_, err := h.lease(name).Txn(context.Background(), recipes.SetOp(rest[0], []byte(rest[1]), -1))
		h.answer(name, err)
	case "late":
		l := h.lease(name)
		_, err := l.Session().Multi(context.Background(), recipes.CheckOp(l.Node(), -1), recipes.SetOp(rest[0], []byte(rest[1]), -1))
		h.answer(name, err)
	case "loop":
		n, err := strconv.Atoi(rest[0])
		if err != nil {
			return err
		}
		go h.loop(name, n)
	case "many":
		n, err := strconv.Atoi(rest[0])
		if err != nil {
			return err
		}
		go h.many(name, n)
	default:
		return fmt.Errorf("holder: unknown command %q", args)
	}
	return nil
}

func (h *holder) answer(name string, err error) {
	l := belief.Line{Event: belief.Answered, Name: name, At: belief.Now()}
	if err != nil {
		l.Err, l.Lost = err.Error(), errors.Is(err, recipes.ErrLost)
	}
	h.print(l)
}

func (h *holder) lease(name string) *recipes.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leases[name]
}

func (h *holder) lock(name, path string) {
	lease, err := h.acquire(path)
	if err != nil {
		h.answer(name, err)
		return
	}
	o := belief.Observe(lease, belief.Now())
	h.mu.Lock()
	h.leases[name] = lease
	h.mu.Unlock()
	iv := o.Interval()
	h.print(belief.Line{Event: belief.Granted, Name: name, Interval: &iv, Session: lease.Session().ID()})
	<-o.Done()
	iv = o.Interval()
	h.print(belief.Line{Event: belief.Over, Name: name, Interval: &iv})
}

func (h *holder) acquire(path string) (*recipes.Lease, error) {
	m, err := lock.NewMutex(h.client, path)
	if err != nil {
		return nil, err
	}
	return m.Lock(context.Background())
}

// loop has n contenders take turns at one lock until the process has had its
// share of grants, and prints them.
func (h *holder) loop(path string, n int) {
	m, err := lock.NewMutex(h.client, path)
	if err != nil {
		h.answer(path, err)
		return
	}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for h.grants.Add(-1) >= 0 {
				h.turn(m)
			}
		})
	}
	wg.Wait()
	h.print(belief.Line{Event: belief.Done, Name: path})
}

// turn is one grant. What a holder believes begins when Lock has returned and
// ends when it calls Release; Until is when that has returned.
func (h *holder) turn(m *lock.Mutex) {
	lease, err := m.Lock(context.Background())
	iv := belief.Interval{From: belief.Now()}
	if err != nil {
		h.answer(m.Path(), err)
		return
	}
	iv.Token, iv.Node = lease.Token(), lease.Node()
	lost := lease.Err()
	iv.To = belief.Now()
	err = errors.Join(lost, lease.Release(context.Background()))
	iv.Until = belief.Now()
	l := belief.Line{Event: belief.Granted, Name: m.Path(), Interval: &iv, Session: lease.Session().ID()}
	if err != nil {
		l.Err = err.Error()
	}
	h.print(l)
}

// many takes n locks and keeps them.
func (h *holder) many(prefix string, n int) {
	const workers = 64
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex // guards what follows
	sessions := make(map[int64]struct{})
	var failure error
	for range workers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				lease, err := h.acquire(fmt.Sprintf("%s/%05d", prefix, i))
				mu.Lock()
				if err != nil {
					failure = errors.Join(failure, err)
					mu.Unlock()
					return
				}
				sessions[lease.Session().ID()] = struct{}{}
				mu.Unlock()
				h.mu.Lock()
				h.leases[lease.Path()] = lease
				h.mu.Unlock()
			}
		})
	}
	wg.Wait()
	held := 0
	h.mu.Lock()
	for _, l := range h.leases {
		if l.Err() == nil {
			held++
		}
	}
	h.mu.Unlock()
	l := belief.Line{Event: belief.Done, Name: prefix, N: held, Session: int64(len(sessions)), At: belief.Now()}
	if failure != nil {
		l.Err = failure.Error()
	}
	h.print(l)
}
