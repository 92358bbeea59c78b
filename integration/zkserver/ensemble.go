package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/internal/ports"
)

// Ensemble is one server or several that form a quorum. All methods may be
// called from any goroutine.
type Ensemble struct {
	Servers []*Server

	launcher launcher // nil where the servers are those of ZK_SERVERS
	dir      string

	mu       sync.Mutex // guards channels
	channels map[pair]channel

	closeOnce sync.Once
}

// Launch starts what cfg says and waits until every server serves. The caller
// must Close the ensemble. Tests use [Start].
func Launch(ctx context.Context, cfg Config) (*Ensemble, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if _, ok := external(cfg.Provider); ok {
		return nil, ErrNoControl
	}
	r, err := newLauncher(cfg.Provider, cfg.Version)
	if err != nil {
		return nil, err
	}
	note("provider: " + r.String())
	e := &Ensemble{launcher: r, channels: make(map[pair]channel)}
	if err := e.start(ctx, cfg); err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

// attach returns the servers that run already, each behind a proxy.
func attach(connect string) (*Ensemble, error) {
	e := &Ensemble{}
	for i, addr := range strings.Split(connect, ",") {
		s := &Server{ID: i + 1, ens: e, direct: strings.TrimSpace(addr)}
		e.Servers = append(e.Servers, s)
		if err := e.front(s); err != nil {
			_ = e.Close()
			return nil, err
		}
	}
	note("provider: the servers of ZK_SERVERS")
	return e, nil
}

func (e *Ensemble) start(ctx context.Context, cfg Config) error {
	removeOrphanedDirs()
	var err error
	if e.dir, err = newDataDir(storageDir(cfg.Storage)); err != nil {
		return fmt.Errorf("zkserver: %w", err)
	}
	for id := 1; id <= cfg.Servers; id++ {
		if err := e.addServer(id, cfg); err != nil {
			return err
		}
	}
	for _, from := range e.Servers {
		for _, to := range e.Servers {
			if from == to {
				continue
			}
			if err := e.listenChannel(from, to); err != nil {
				return err
			}
		}
	}
	if err := e.each(func(s *Server) error { return s.Launch(ctx) }); err != nil {
		return err
	}
	return e.AwaitServing(ctx)
}

func (e *Ensemble) addServer(id int, cfg Config) error {
	s := &Server{ID: id, ens: e, cfg: cfg, dir: filepath.Join(e.dir, fmt.Sprint(id))}
	e.Servers = append(e.Servers, s)
	for _, port := range []**ports.Port{&s.client, &s.quorum, &s.election} {
		var err error
		if *port, err = ports.Reserve(); err != nil {
			return err
		}
	}
	s.direct = s.client.Addr()
	return e.front(s)
}

// front puts the server's own proxy before it.
func (e *Ensemble) front(s *Server) (err error) {
	s.proxy, err = s.NewProxy()
	return err
}

func (e *Ensemble) external() bool { return e.launcher == nil }

// Provider says, for people, what runs.
func (e *Ensemble) Provider() string {
	if e.external() {
		return "the servers of ZK_SERVERS"
	}
	return e.launcher.String()
}

// Addrs are the client ports behind the servers' own proxies.
func (e *Ensemble) Addrs() []string {
	var addrs []string
	for _, s := range e.Servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Connect is Addrs as a connect string.
func (e *Ensemble) Connect() string { return strings.Join(e.Addrs(), ",") }

// AwaitServing waits until every server serves.
func (e *Ensemble) AwaitServing(ctx context.Context) error {
	for _, s := range e.Servers {
		if err := s.AwaitServing(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Leader waits until exactly one server says that it leads. A deposed leader
// says so too until it notices.
func (e *Ensemble) Leader(ctx context.Context) (*Server, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if leaders := e.inMode(ctx, Leader); len(leaders) == 1 {
			return leaders[0], nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("zkserver: no single leader: %w", ctx.Err())
		}
	}
}

// Followers returns the servers that say that they follow, by id.
func (e *Ensemble) Followers(ctx context.Context) []*Server { return e.inMode(ctx, Follower) }

// inMode asks all servers at once, so that frozen ones cost one timeout.
func (e *Ensemble) inMode(ctx context.Context, mode Mode) []*Server {
	modes := make([]Mode, len(e.Servers))
	var wg sync.WaitGroup
	for i, s := range e.Servers {
		wg.Go(func() { modes[i], _ = s.Mode(ctx) })
	}
	wg.Wait()
	var found []*Server
	for i, s := range e.Servers {
		if modes[i] == mode {
			found = append(found, s)
		}
	}
	return found
}

// Restart kills all servers, starts them on their data with what Configure
// changed, and waits until they serve.
func (e *Ensemble) Restart(ctx context.Context) error {
	return e.restart(ctx, (*Server).Kill)
}

// Wipe is Restart with all data deleted.
func (e *Ensemble) Wipe(ctx context.Context) error {
	return e.restart(ctx, (*Server).Wipe)
}

func (e *Ensemble) restart(ctx context.Context, end func(*Server) error) error {
	if err := e.each(end); err != nil {
		return err
	}
	if err := e.each(func(s *Server) error { return s.Launch(ctx) }); err != nil {
		return err
	}
	return e.AwaitServing(ctx)
}

// each does something with all servers at once: with a container it takes a
// second or more.
func (e *Ensemble) each(do func(*Server) error) error {
	errs := make([]error, len(e.Servers))
	var wg sync.WaitGroup
	for i, s := range e.Servers {
		wg.Go(func() { errs[i] = do(s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Close kills the servers, closes the proxies and deletes the data. It returns
// when every process and goroutine has ended; a second call does nothing.
func (e *Ensemble) Close() (err error) {
	e.closeOnce.Do(func() {
		errs := []error{e.each((*Server).close)}
		if e.dir != "" {
			errs = append(errs, os.RemoveAll(e.dir))
		}
		err = errors.Join(errs...)
	})
	return err
}
