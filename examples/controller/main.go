// Command controller keeps the znode /controller/status as /controller/spec says.
//
// Any number of replicas may run: one is active, the others stand by. When the
// active one dies, is stopped or loses its servers, the next one takes over. What
// an earlier one still has under way cannot do harm then: it writes under its
// lease, which the server checks in the same transaction.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/electionhttp"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	electionPath = "/controller/election"
	specPath     = "/controller/spec"
	statusPath   = "/controller/status"
)

// settings are the flags.
type settings struct {
	connect string
	id      string
	timeout time.Duration
	health  string
}

func main() {
	var s settings
	flag.StringVar(&s.connect, "connect", "localhost:2181", "the servers")
	flag.StringVar(&s.id, "id", fmt.Sprintf("controller-%d", os.Getpid()), "what to call this replica")
	flag.DurationVar(&s.timeout, "session-timeout", recipes.DefaultSessionTimeout, "how long the others wait for one that is silent")
	flag.StringVar(&s.health, "health", "", "where to serve /healthz, as :8080")
	flag.Parse()
	// A replica that is told to end gives its place up at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

// run is a replica, until ctx ends.
func run(ctx context.Context, s settings) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("replica", s.id)
	client, err := recipes.Dial(ctx, s.connect, recipes.WithSessionTimeout(s.timeout), recipes.WithLogger(log))
	if err != nil {
		return err
	}
	defer client.Close()
	e, err := election.New(client, electionPath, election.WithID(s.id))
	if err != nil {
		return err
	}
	if s.health != "" {
		stop, err := serveHealth(s.health, e)
		if err != nil {
			return err
		}
		defer stop()
	}
	log.Info("standing by")
	return e.Run(ctx, func(ctx context.Context, term *election.Term) error {
		log.Info("active", "token", term.Token())
		defer log.Info("standing by")
		return reconcile(ctx, term)
	})
}

// reconcile does the work of the active replica until its context ends, which it
// does in time for another one to begin.
func reconcile(ctx context.Context, term *election.Term) error {
	session := term.Lease().Session()
	for _, path := range []string{specPath, statusPath} {
		if err := session.MakePersistent(ctx, path, nil); err != nil && !errors.Is(err, recipes.ErrNodeExists) {
			return err
		}
	}
	for {
		spec, _, changed, err := session.GetWatch(ctx, specPath)
		if err != nil {
			return err
		}
		// One whose outcome is unknown is done again when the watch tells of the
		// connection's return.
		_, err = term.Lease().Txn(ctx, recipes.SetOp(statusPath, spec, -1))
		if err != nil && !errors.Is(err, recipes.ErrOutcomeUnknown) {
			changed.Stop()
			return err
		}
		select {
		case <-changed.C:
			changed.Stop()
		case <-ctx.Done():
			changed.Stop()
			return ctx.Err()
		}
	}
}

// serveHealth answers the probes of whoever starts replicas anew: one that acts
// as the active one long after it should have stopped is not in good health.
func serveHealth(addr string, e *election.Election) (stop func(), err error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/healthz", electionhttp.Handler(e, time.Second))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // until stop closes it
	}()
	return func() {
		_ = server.Close()
		<-ended
	}, nil
}
