package zktest

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A Server is a ZooKeeper ensemble of one or more servers in this process.
// All its methods may be called at any time from any goroutine, Close included.
type Server struct {
	cfg     config
	net     *memNet // nil on TCP
	gates   *gates
	running sync.WaitGroup // all goroutines but the clock's

	// mu guards all that follows and all state of the members. It is only
	// held for steps that do not wait for anything.
	mu       sync.Mutex
	clock    *clock
	members  []*Member
	leader   *Member
	sessions *sessions
	zxid     int64 // of the last transaction
	epoch    int64
	reaper   *job
	pinger   *job
	hooks    hooks
	cables   map[string]*Cable // by the client's address
	counts   map[countKey]int
	log      eventLog
	problems []error
	started  time.Time
	down     bool
	frozen   bool
	closed   bool
}

// T is the part of testing.TB that Start needs.
type T interface {
	Helper()
	Cleanup(func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
}

// Start starts a server that ends with the test. At its end the test fails for
// a hook that was never hit and for what no real ensemble would have survived;
// if it has failed, what the server has seen is logged.
func Start(t T, opts ...Option) *Server {
	t.Helper()
	s, err := New(opts...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Errorf("%v", err)
		}
		if t.Failed() {
			t.Logf("zktest: what the server saw:\n%s", s.Log())
		}
	})
	return s
}

// New starts a server. Close ends it.
func New(opts ...Option) (*Server, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, gates: newGates(), cables: map[string]*Cable{}, counts: map[countKey]int{}, started: time.Now()}
	s.hooks.srv = s
	s.clock = newClock(&s.mu)
	if cfg.inMemory {
		s.net = newMemNet()
	}
	s.mu.Lock()
	s.sessions = newSessions(cfg.tick, s.clock, func(e *session) { s.expireSession(e.id) })
	for i := range cfg.members {
		s.members = append(s.members, newMember(s, i, newTree()))
	}
	s.leader = s.members[0]
	s.newEpoch()
	err = s.listenAll()
	s.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newEpoch starts to count transactions anew, as each new leader does, and its
// followers with it. A server alone has no epochs.
func (s *Server) newEpoch() {
	if len(s.members) == 1 {
		return
	}
	s.epoch++
	s.zxid = s.epoch << 32
	for _, m := range s.members {
		if !m.deposed && !m.away {
			m.tree.zxid = s.zxid
		}
	}
}

func (s *Server) listenAll() error {
	var errs []error
	for _, m := range s.members {
		if m.addr == "" {
			m.addr = s.firstAddr(m.n)
		}
		errs = append(errs, m.listen())
	}
	return errors.Join(errs...)
}

// firstAddr is where a member listens to begin with.
func (s *Server) firstAddr(n int) string {
	switch {
	case s.net != nil:
		return memServerAddr(n)
	case n == 0:
		return s.cfg.listen
	}
	host, _, _ := net.SplitHostPort(s.cfg.listen)
	return net.JoinHostPort(host, "0")
}

func (s *Server) listen(addr string) (net.Listener, error) {
	if s.net != nil {
		return s.net.listen(addr)
	}
	return net.Listen("tcp", addr)
}

// Close ends the server and waits for all it has started. It returns what went
// wrong: hooks that were never hit, and what no real ensemble would have
// survived. Further calls return the same.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		for _, m := range s.members {
			m.refuse()
			m.hangUpAll()
		}
	}
	s.mu.Unlock()
	s.clock.stop()
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(append(s.hooks.missed(), s.problems...)...)
}

// fault notes something that fails the test.
func (s *Server) fault(format string, args ...any) {
	err := fmt.Errorf("zktest: "+format, args...)
	s.problems = append(s.problems, err)
	s.log.add(entry{kind: "FAULT", text: err.Error()})
}

// ConnectString returns the addresses of all servers as clients take them:
// host:port,host:port.
func (s *Server) ConnectString() string { return strings.Join(s.Addrs(), ",") }

// Addrs returns the addresses of all servers.
func (s *Server) Addrs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var addrs []string
	for _, m := range s.members {
		addrs = append(addrs, m.addr)
	}
	return addrs
}

// Member returns one of the servers. The first, which leads to begin with, has
// number 0.
func (s *Server) Member(i int) *Member { return s.members[i] }

// Addr returns the address at which the member listens.
func (m *Member) Addr() string {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	return m.addr
}

// count counts a request.
func (s *Server) count(op jute.Op, session int64) { s.counts[countKey{op, session}]++ }
