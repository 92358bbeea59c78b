package chaos_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
	"github.com/zkrecipes/zkrecipes/integration/fence/database"
	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/history"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	// T is the session timeout, of eight ticks.
	T    = 2 * time.Second
	tick = 250 * time.Millisecond
	// serve bounds a wait once there are no faults: what is left of sessions that
	// died in the storm, and the turns of all who came before.
	serve = 8 * T

	startTimeout = 2 * time.Minute
	firstSeed    = 1
)

// storm is one run.
type storm struct {
	nemesis
	t        *testing.T
	seed     uint64
	root     string
	ens      *zkserver.Ensemble
	db       *database.Database
	client   *recipes.Client // which no fault touches but those of all servers
	recorder *record.Recorder
	seats    []*seat
	log      *registerLog

	begin, quiet, end time.Duration
	cleared           time.Duration // how long the directories took to be empty
	left              []history.Leftover
	broken            map[string]int // violations, by rule
}

func TestStormBreaksNoPromise(t *testing.T) {
	t.Parallel() // with the headline case, on an ensemble of its own
	if seed := os.Getenv("CHAOS_SEED"); seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		require.NoError(t, err)
		runStorm(t, n, cmp.Or(os.Getenv("ZK_VERSION"), zkserver.DefaultVersion), length(t, 1))
		return
	}
	fresh := rand.Uint64()
	t.Run("the first seed", func(t *testing.T) { runStorm(t, firstSeed, "3.8", length(t, 2)) })
	t.Run("a fresh seed", func(t *testing.T) { runStorm(t, fresh, "3.9", length(t, 2)) })
}

// length is how long one of n storms lasts: SOAK is that of all together.
func length(t *testing.T, n int) time.Duration {
	all := proof.Size(40*time.Second, 15*time.Minute)
	if soak := os.Getenv("SOAK"); soak != "" {
		d, err := time.ParseDuration(soak)
		require.NoError(t, err, "SOAK")
		require.LessOrEqual(t, d, 24*time.Hour, "SOAK: who reads a longer report?")
		all = d
	}
	return all / time.Duration(n)
}

func runStorm(t *testing.T, seed uint64, version string, lasts time.Duration) {
	s := startStorm(t, seed, version)
	report := proof.New(t, "soak-"+version, "A storm on ZooKeeper "+version)
	report.Printf("T = %v, a tick is %v, %d workers, faults for %v. The same seed again: `CHAOS_SEED=%d ZK_VERSION=%s SOAK=%v make soak`.",
		T, tick, len(s.seats), lasts, seed, version, lasts)

	s.begin = belief.Now()
	s.rage(lasts)
	s.calm()
	s.stop()

	h := s.recorder.History()
	h.Left = s.left
	s.judge(h)
	s.tell(report, h)
}

func startStorm(t *testing.T, seed uint64, version string) *storm {
	t.Logf("seed %d", seed)
	s := &storm{t: t, seed: seed, root: zkserver.Path(t), recorder: &record.Recorder{Linger: 4 * T}}
	s.db = database.OpenAlone(t, sqlfence.PostgreSQL)
	// Who is stopped within a transaction must not keep the row for ever.
	s.db.Source += fmt.Sprintf(" idle_in_transaction_session_timeout=%d", T.Milliseconds())
	s.ens = zkserver.Start(t, zkserver.Config{
		Servers: 3, Version: version, Tick: tick,
		// A follower that is cut off goes on answering for longer than a session lives.
		Settings: map[string]string{"syncLimit": "12"},
	})
	var direct []string
	for _, server := range s.ens.Servers {
		direct = append(direct, server.DirectAddr())
	}
	var err error
	s.client, err = recipes.Dial(bounded(t, startTimeout), strings.Join(direct, ","), recipes.WithSessionTimeout(30*time.Second))
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	s.prepareRegisters()
	s.takeSeats()
	return s
}

// takeSeats starts three workers that may use any server, and one at each server
// that may use no other.
func (s *storm) takeSeats() {
	args := []string{"-root", s.root, "-source", s.db.Source, "-timeout", T.String(), "-tick", tick.String()}
	for i := range 2 * len(s.ens.Servers) {
		servers := s.ens.Servers
		if i >= len(servers) {
			servers = servers[i-len(servers):][:1]
		}
		s.seats = append(s.seats, newSeat(s.t, i, s.recorder, servers, args...))
	}
	for i, seat := range s.seats {
		seat.start(s.seed ^ uint64(i)<<32)
	}
	for _, seat := range s.seats {
		require.NoError(s.t, await(bounded(s.t, startTimeout), seat, seat.ready))
	}
}

// rage lets all lanes strike for a while. They mend what they struck last.
func (s *storm) rage(lasts time.Duration) {
	lanes := []*lane{serverFaults(s), workerFaults(s, 1), workerFaults(s, 2), operator(s)}
	ctx, cancel := context.WithTimeout(s.t.Context(), lasts)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(lanes))
	for i, l := range lanes {
		l.r = rand.New(rand.NewPCG(s.seed, uint64(i)))
		wg.Go(func() {
			if errs[i] = l.run(ctx); errs[i] != nil {
				cancel() // a storm without a lane shows less than it says
			}
		})
	}
	wg.Go(func() { s.log.follow(ctx) })
	wg.Wait()
	require.NoError(s.t, errors.Join(errs...))
}

// calm lets the workers go on without faults until all who waited are served, and
// a little longer.
func (s *storm) calm() {
	s.quiet = belief.Now()
	for _, seat := range s.seats {
		require.NoError(s.t, seat.Send("calm"))
	}
	for belief.Now() < s.quiet+serve && s.recorder.Waiting(s.quiet) > 0 {
		sleep(s.t.Context(), tick)
	}
	sleep(s.t.Context(), T)
	s.end = belief.Now()
}

// stop ends half of the workers in order, with their sessions left open, and
// kills the others. It watches the directories get empty, which must not take
// longer than 2 T.
func (s *storm) stop() {
	for i, seat := range s.seats {
		if i%2 == 0 {
			require.NoError(s.t, seat.Send("stop"))
		} else {
			seat.kill()
		}
	}
	stopped := belief.Now()
	for i, seat := range s.seats {
		if i%2 == 0 {
			require.NoError(s.t, await(bounded(s.t, startTimeout), seat, seat.done))
		}
	}
	for {
		s.left = s.leftovers()
		s.cleared = belief.Now() - stopped
		if len(s.left) == 0 || s.cleared > 2*T {
			break
		}
		sleep(s.t.Context(), tick/10)
	}
	s.log.read(bounded(s.t, startTimeout))
	s.readSQL()
}

// leftovers are the directories that are not empty.
func (s *storm) leftovers() (left []history.Leftover) {
	ctx := bounded(s.t, startTimeout)
	session, err := s.client.Session(ctx)
	require.NoError(s.t, err)
	for _, dir := range append([]string{"/semaphore/leases", "/barrier"}, tampered...) {
		names, _, err := session.Children(ctx, s.root+dir)
		if !errors.Is(err, recipes.ErrNoNode) {
			require.NoError(s.t, err)
		}
		// One that is left alone in a barrier means nothing: who comes next takes it
		// away. Its maker may have died.
		names = slices.DeleteFunc(names, func(name string) bool { return dir == "/barrier" && name == "ready" })
		if len(names) > 0 {
			left = append(left, history.Leftover{Path: dir, Names: names})
		}
	}
	return left
}

// judge fails the test for everything that must not have happened, and keeps
// what is needed to find out why.
func (s *storm) judge(h history.History) {
	found := history.Check(h, history.Limits{Quiet: s.quiet, End: s.end, Serve: serve})
	found = append(found, s.judgeRegisters(h)...)
	s.broken = count(found, func(v history.Violation) string { return v.Rule })
	for _, v := range found {
		s.t.Errorf("%v", v)
	}
	if s.t.Failed() {
		s.t.Logf("the record is in %s", s.keep(h))
	}
}

func recipesKnown(err error) bool {
	return err != nil && !errors.Is(err, recipes.ErrOutcomeUnknown) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, recipes.ErrSessionExpired)
}

// believedFor is the time of all holds together, for people.
func believedFor(holds []history.Hold) (all time.Duration) {
	for _, h := range holds {
		all += h.Believed() - h.From
	}
	return all.Round(time.Second)
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
