// Command worker uses every recipe at once, in a process of its own that a storm
// can kill and stop, and prints what it does and believes as lines of package
// record. It obeys lines on its standard input:
//
//	calm      short holds and patient waits from now on
//	jump D    its clock jumps ahead by so many nanoseconds, as after the machine's sleep
//	stop      give up everything; done is printed when that has happened
//
// It ends with its input.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func main() {
	var cfg config
	flag.StringVar(&cfg.name, "name", "", "of this process, unlike that of any other")
	flag.StringVar(&cfg.connect, "connect", "", "servers")
	flag.StringVar(&cfg.root, "root", "", "path of everything")
	flag.StringVar(&cfg.source, "source", "", "of the PostgreSQL database")
	flag.DurationVar(&cfg.timeout, "timeout", 2*time.Second, "session timeout")
	flag.DurationVar(&cfg.tick, "tick", 250*time.Millisecond, "the servers' tick")
	flag.Uint64Var(&cfg.seed, "seed", 0, "of what it chooses")
	flag.BoolVar(&cfg.verbose, "verbose", false, "log what the library does")
	flag.Parse()
	if err := start(cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type config struct {
	name, connect, root, source string
	timeout, tick               time.Duration
	seed                        uint64
	verbose                     bool
}

func start(cfg config) error {
	w := &worker{config: cfg, granted: make(map[fence.Token]time.Duration), waiting: make(map[string]string)}
	level := slog.LevelWarn
	if cfg.verbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	var err error
	w.client, err = recipes.Dial(context.Background(), cfg.connect,
		recipes.WithSessionTimeout(cfg.timeout), recipes.WithTickTime(cfg.tick),
		recipes.WithClock(w.clock()), recipes.WithTrace(w.trace()), recipes.WithLogger(logger),
		recipes.WithPersistentParents(), recipes.WithIdentity(cfg.name))
	if err != nil {
		return err
	}
	defer w.client.Close()
	roles, err := w.roles()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var wg sync.WaitGroup
	for i, role := range roles {
		r := rand.New(rand.NewPCG(cfg.seed, uint64(i)))
		wg.Go(func() {
			for ctx.Err() == nil {
				role(ctx, r)
			}
		})
	}
	w.print(record.Line{Event: record.Ready})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch command, rest, _ := strings.Cut(lines.Text(), " "); command {
		case "calm":
			w.calm.Store(true)
		case "jump":
			d, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				return err
			}
			w.ahead.Add(d)
		case "stop":
			stop()
			wg.Wait()
			w.print(record.Line{Event: record.Done})
		}
	}
	return nil
}

type worker struct {
	config
	client *recipes.Client
	calm   atomic.Bool
	ahead  atomic.Int64 // how far the clock has jumped
	ids    atomic.Int64

	mu      sync.Mutex // guards what follows, and the output
	granted map[fence.Token]time.Duration
	waiting map[string]string // the attempt whose contender stands in a directory
}

// print sets the time of a line that has none.
func (w *worker) print(l record.Line) {
	if l.At == 0 {
		l.At = belief.Now()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Println(l)
}

// id is unlike any other of the storm.
func (w *worker) id() string { return fmt.Sprintf("%s-%d", w.name, w.ids.Add(1)) }

// clock jumps ahead as one does that counts the time in which the machine was
// suspended. It is the process's only time source that can be set.
func (w *worker) clock() recipes.Clock {
	system := recipes.SystemClock()
	return func() time.Duration { return system() + time.Duration(w.ahead.Load()) }
}

func (w *worker) trace() recipes.Trace {
	return recipes.Trace{
		SessionState: func(ev recipes.SessionEvent) {
			if ev.State == recipes.Lost {
				w.print(record.Line{Event: record.Over, Session: ev.Session})
			}
		},
		Enqueued: func(ev recipes.ContenderEvent) {
			dir := ev.Path[:strings.LastIndex(ev.Path, "/")]
			w.mu.Lock()
			id := w.waiting[dir]
			w.mu.Unlock()
			if id != "" {
				w.print(record.Line{Event: record.Queued, ID: id, Path: strings.TrimSuffix(dir, "/locks"), Session: ev.Session})
			}
		},
		Granted: func(ev recipes.LeaseEvent) {
			now := belief.Now()
			w.mu.Lock()
			defer w.mu.Unlock()
			w.granted[ev.Token] = now
		},
	}
}

// grantedAt takes out when a lease was given.
func (w *worker) grantedAt(token fence.Token) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer delete(w.granted, token)
	return w.granted[token]
}

// expect says which attempt's contenders stand in the directories from now on:
// a worker has one contender in each.
func (w *worker) expect(id string, dirs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, dir := range dirs {
		w.waiting[dir] = id
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
