package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/internal/ports"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
)

// ErrNoControl is returned where servers that run already, those of ZK_SERVERS,
// are to be killed, frozen, restarted or wiped.
var ErrNoControl = errors.New("zkserver: no control over servers of ZK_SERVERS")

// pollInterval is how often a server is asked whether it serves: it tells
// nobody by itself.
const pollInterval = 20 * time.Millisecond

// Server is one server of an ensemble. All methods may be called from any
// goroutine.
type Server struct {
	ID int // 1, 2, …: its myid

	ens    *Ensemble
	direct string // the client port itself
	proxy  *proxy.Proxy

	// What follows is unset for an external server.
	client, quorum, election *ports.Port
	secure                   *ports.Port // unset until ServeTLS
	dir                      string

	mu     sync.Mutex // guards what follows
	cfg    Config
	proc   process // the newest one launched; nil before the first
	before []*proxy.Proxy
}

func (s *Server) String() string { return fmt.Sprintf("server %d", s.ID) }

// Addr is the client port behind the server's own proxy.
func (s *Server) Addr() string { return s.proxy.Addr() }

// DirectAddr is the client port itself, for measurements and for looking on
// while the proxy does harm.
func (s *Server) DirectAddr() string { return s.direct }

// Proxy is the proxy before the client port. All clients of [Server.Addr] go
// through it.
func (s *Server) Proxy() *proxy.Proxy { return s.proxy }

// NewProxy puts a further proxy before the client port, for one client's
// connections alone. It is closed with the ensemble.
func (s *Server) NewProxy() (*proxy.Proxy, error) {
	return s.listen(s.direct, proxy.ZooKeeper())
}

// listen puts a proxy before one of the server's ports, closed with it.
func (s *Server) listen(target string, opts ...proxy.Option) (*proxy.Proxy, error) {
	p, err := proxy.Listen(target, opts...)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = append(s.before, p)
	return p, nil
}

// proxies returns all proxies before the server's ports: for its clients and
// for its peers.
func (s *Server) proxies() []*proxy.Proxy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.before)
}

// targetDown tells the proxies whether the server listens. s.mu is held.
func (s *Server) targetDown(down bool) error {
	var errs []error
	for _, p := range s.before {
		errs = append(errs, p.TargetDown(down))
	}
	return errors.Join(errs...)
}

// DataDir is the server's dataDir; its version-2 folder holds snapshots and
// logs.
func (s *Server) DataDir() string { return filepath.Join(s.dir, "data") }

// Configure changes the server's settings for its next start.
func (s *Server) Configure(change func(*Config)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg = s.cfg.withDefaults() // maps of its own, not to change other servers'
	if s.cfg.Settings == nil {
		s.cfg.Settings = make(map[string]string)
	}
	change(&s.cfg)
}

// Launch starts the server if it does not run and returns without waiting for
// it to serve: one of an ensemble serves only when a majority runs.
func (s *Server) Launch(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ens.external() {
		return ErrNoControl
	}
	if s.proc != nil {
		if s.proc.running() {
			return nil
		}
		if err := s.proc.kill(); err != nil { // it may have ended by itself
			return err
		}
	}
	if err := s.write(); err != nil {
		return fmt.Errorf("zkserver: %s: %w", s, err)
	}
	// Configure may have made it another version than that of the others.
	launcher, err := newLauncher(s.cfg.Provider, s.cfg.Version)
	if err != nil {
		return err
	}
	proc, err := launcher.launch(ctx, spec{
		name: s.String(), dir: s.dir, config: s.configFile(), log: s.logFile(), jvm: s.cfg.flags(),
	})
	if err != nil {
		return err
	}
	s.proc = proc
	return s.targetDown(false)
}

// Kill ends the server by SIGKILL, also a frozen one, and returns when it is
// gone. Its data stays.
func (s *Server) Kill() error {
	return s.control(func(p process) error {
		return errors.Join(p.kill(), s.targetDown(true))
	})
}

// Freeze stops the server as SIGSTOP does: its connections stay open and
// nothing answers.
func (s *Server) Freeze() error { return s.control(process.freeze) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error { return s.control(process.thaw) }

// Restart kills the server, starts it on the same data with what Configure
// changed, and waits until it serves.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Kill(); err != nil {
		return err
	}
	if err := s.Launch(ctx); err != nil {
		return err
	}
	return s.AwaitServing(ctx)
}

// Wipe kills the server and deletes its data. Launch starts it empty. In an
// ensemble whose majority has the data, it gets them back from there.
func (s *Server) Wipe() error {
	if err := s.Kill(); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(s.DataDir(), "version-2"))
}

// Running tells whether the server's process has not ended; a frozen one runs.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ens.external() || s.proc != nil && s.proc.running()
}

// AwaitServing waits until the server answers clients. It returns early, with
// the end of its log, if the server has ended.
func (s *Server) AwaitServing(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		_, err := s.Mode(ctx)
		if err == nil {
			return nil
		}
		if !s.Running() {
			return fmt.Errorf("zkserver: %s does not run; the end of its log:\n%s", s, s.LogTail(logLines))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("zkserver: %s does not serve: %w (%w); the end of its log:\n%s", s, ctx.Err(), err, s.LogTail(logLines))
		}
	}
}

// LogTail returns the last lines that the server logged.
func (s *Server) LogTail(lines int) string {
	data, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (s *Server) control(do func(process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ens.external():
		return ErrNoControl
	case s.proc == nil:
		return fmt.Errorf("zkserver: %s was never started", s)
	}
	if err := do(s.proc); err != nil {
		return fmt.Errorf("zkserver: %s: %w", s, err)
	}
	return nil
}

const logLines = 40

func (s *Server) configFile() string { return filepath.Join(s.dir, "zoo.cfg") }
func (s *Server) logFile() string    { return filepath.Join(s.dir, "server.log") }

// write lays down what the process reads.
func (s *Server) write() error {
	if err := os.MkdirAll(s.DataDir(), 0o700); err != nil {
		return err
	}
	fixed := map[string]string{
		"dataDir":           s.DataDir(),
		"clientPort":        fmt.Sprint(s.client.Number),
		"clientPortAddress": "127.0.0.1",
	}
	for _, peer := range s.ens.peers(s) {
		fixed[fmt.Sprintf("server.%d", peer.id)] = peer.line
	}
	myid := filepath.Join(s.DataDir(), "myid")
	return errors.Join(
		os.WriteFile(myid, fmt.Appendln(nil, s.ID), 0o600),
		os.WriteFile(s.configFile(), []byte(s.cfg.render(fixed)), 0o600),
	)
}

// close ends whatever there is of the server.
func (s *Server) close() error {
	s.mu.Lock()
	proc, proxies := s.proc, s.before
	s.mu.Unlock()
	var err error
	if proc != nil {
		err = proc.kill()
	}
	for _, p := range proxies {
		p.Close()
	}
	for _, port := range []*ports.Port{s.client, s.quorum, s.election, s.secure} {
		if port != nil {
			port.Release()
		}
	}
	return err
}
