package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

const program = "github.com/zkrecipes/zkrecipes/integration/chaos/internal/worker"

// seat is a place for one worker process after another, behind proxies of its
// own.
type seat struct {
	t        *testing.T
	number   int
	args     []string
	proxies  []*proxy.Proxy
	recorder *record.Recorder

	fault sync.Mutex // held while a fault is on it

	// What follows belongs to the holder of fault.
	name string
	life int // how many processes were here before
	*worker.Worker
	heard chan struct{} // closed when all that the process printed was read
	ready chan struct{}
	done  chan struct{}

	mu     sync.Mutex // guards killed
	killed bool
}

// newSeat makes a place for workers that may use the given servers, the first
// one at first.
func newSeat(t *testing.T, number int, recorder *record.Recorder, servers []*zkserver.Server, args ...string) *seat {
	t.Helper()
	s := &seat{t: t, number: number, recorder: recorder}
	var addrs []string
	for _, server := range servers {
		p, err := server.NewProxy()
		require.NoError(t, err)
		s.proxies = append(s.proxies, p)
		addrs = append(addrs, p.Addr())
	}
	s.args = append(args, "-connect", strings.Join(addrs, ","))
	return s
}

func (s *seat) String() string { return fmt.Sprint("worker ", s.number) }

// start starts the next process.
func (s *seat) start(seed uint64) {
	s.name = fmt.Sprintf("w%d.%d", s.number, s.life)
	s.life++
	args := append([]string{"-name", s.name, "-seed", fmt.Sprint(seed + uint64(s.life))}, s.args...)
	s.setKilled(false)
	s.Worker = worker.Start(s.t, exec.Command(worker.Build(s.t, program), args...))
	s.heard, s.ready, s.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	go s.listen(s.Worker, s.name, s.ready, s.done, s.heard)
}

func (s *seat) setKilled(killed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = killed
}

// wasKilled is true at the end of the test, too, which kills all that is left.
func (s *seat) wasKilled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed || s.t.Context().Err() != nil
}

// listen reads what one process prints; kill joins it. Only a process that was
// killed may end.
func (s *seat) listen(w *worker.Worker, name string, ready, done, heard chan struct{}) {
	defer close(heard)
	for {
		text, err := w.Receive(context.Background())
		if err != nil { // the end
			if !s.wasKilled() {
				s.t.Errorf("%s ended by itself: %v\n%s", name, w.Wait(context.Background()), w.Stderr())
			}
			return
		}
		l, err := s.recorder.Read(name, text)
		switch {
		case err != nil && !s.wasKilled():
			s.t.Errorf("%v", err)
		case l.Event == record.Ready:
			close(ready)
		case l.Event == record.Done:
			close(done)
		}
	}
}

// kill ends the process, which is believed to live until just before.
func (s *seat) kill() {
	s.setKilled(true)
	at := belief.Now()
	s.Kill()
	<-s.heard
	s.recorder.Killed(s.name, at)
}

func (s *seat) each(do func(*proxy.Proxy)) {
	for _, p := range s.proxies {
		do(p)
	}
}

// await waits for one of a process's marks.
func await(ctx context.Context, what fmt.Stringer, mark <-chan struct{}) error {
	select {
	case <-mark:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%v: %w", what, context.Cause(ctx))
	}
}

var errLate = errors.New("not in time")

func bounded(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, errLate)
	t.Cleanup(cancel)
	return ctx
}
