package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A server of 3.8 works out the operations of a multi one by one and notes what
// each will change, for the requests behind it to go by. Where an operation
// fails, the notes are taken back. Where it cannot even be read, which is so
// for a create that has the flags of a time to live and none to go with them,
// the server stumbles, answers the multi with a marshalling error, and leaves
// the notes until that answer has gone through its log: what comes right behind
// sees changes that never happen, or not, as timing has it. From 3.9 on such a
// multi is refused before any of it is worked out, and nothing of it is ever to
// be seen; so it is with zktest.

// leavesTraces tells whether a request is such a multi. In random histories
// nothing is sent behind one before it is answered.
func leavesTraces(r bareclient.Request) bool {
	multi, ok := r.Body.(*jute.MultiRequest)
	return ok && slices.ContainsFunc(multi.Ops, withoutItsTTL)
}

func withoutItsTTL(o jute.MultiOp) bool {
	c, ok := o.Body.(*jute.CreateRequest)
	return ok && (c.Flags == jute.ModeTTL || c.Flags == jute.ModeSequentialTTL)
}

// A trace is one change that such a multi begins with, and a request that tells
// whether it is seen: what it says if so, and if not.
type trace struct {
	name       string
	change     jute.MultiOp
	tell       bareclient.Request
	seen, gone string
}

func (s *script) traces() []trace {
	check := func(path string, version int32) bareclient.Request {
		return request(jute.OpMulti, &jute.MultiRequest{Ops: []jute.MultiOp{op(jute.OpCheck, s.version(path, version))}})
	}
	return []trace{
		{"delete", op(jute.OpDelete, s.version("/d/x", -1)), check("/d/x", 7), "no node", "bad version"},
		{"setData", op(jute.OpSetData, s.setting("/d/x", "", -1)), check("/d/x", 1), "check zookeeper: ok", "bad version"},
		{"create", op(jute.OpCreate, s.creation("/d/y", "", jute.ModePersistent)),
			request(jute.OpCreate, s.creation("/d/y", "", jute.ModePersistent)), "node exists", "ok at"},
		{"sequential create", op(jute.OpCreate, s.creation("/d/s-", "", jute.ModeSequential)),
			request(jute.OpCreate, s.creation("/d/s-", "", jute.ModeSequential)), "/d/s-0000000002", "/d/s-0000000001"},
	}
}

func TestAnsweredMultiThatCannotBeReadHasLeftNoTrace(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, tr := range s.traces() {
			a.make("/d", jute.ModePersistent).ok()
			a.make("/d/x", jute.ModePersistent).ok()
			a.stumble(tr.change).is(jute.MarshallingError)
			a.do(tr.tell.Op, tr.tell.Body)
			require.Contains(s.t, a.last(), tr.gone)
			s.clear(a, "/d")
		}
	})
}

func TestWhatIsSentRightBehindAMultiThatCannotBeReadSeesItsTracesOn38Only(t *testing.T) {
	report := proof.New(t, "conformance-traces", "What the request right behind a multi that cannot be read sees of it")
	rounds := proof.Size(20, 300)
	onAll(t, func(s *script) {
		a := s.open("a")
		seen := map[string]int{}
		for _, tr := range s.traces() {
			seen[tr.name] = 0
			for range rounds {
				a.make("/d", jute.ModePersistent).ok()
				a.make("/d/x", jute.ModePersistent).ok()
				a.doAll(request(jute.OpMulti, stumbling(s, tr.change)), tr.tell)
				switch told := a.last(); {
				case strings.Contains(told, tr.gone):
				case s.kind.name == kinds[0].name && strings.Contains(told, tr.seen):
					seen[tr.name]++
				default:
					require.Fail(s.t, "neither the one nor the other", "%s", s.tail())
				}
				s.clear(a, "/d")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(seen)) {
			report.Printf("- %s, %s: seen %d times of %d", s.kind.name, name, seen[name], rounds)
		}
		s.notes, s.ops = nil, 0 // timing has it: there is nothing to compare
	})
}

// stumbling is a multi that begins with a change and cannot be read to its end.
func stumbling(s *script, change jute.MultiOp) *jute.MultiRequest {
	return &jute.MultiRequest{Ops: []jute.MultiOp{change, op(jute.OpCreate2, s.creation("/d/ttl", "", jute.ModeTTL))}}
}

func (a *session) stumble(change jute.MultiOp) *reply {
	a.s.t.Helper()
	return a.do(jute.OpMulti, stumbling(a.s, change))
}

// last is what was written down last.
func (a *session) last() string { return a.s.notes[len(a.s.notes)-1] }

// clear deletes a znode and all below it behind the scene.
func (s *script) clear(a *session, path string) {
	s.t.Helper()
	s.remove(a.Client, s.at(path))
	require.Equal(s.t, jute.NoNode, s.ask(a.Client, jute.OpExists, s.reading(path, false)).Err, fmt.Sprint(path, " is left"))
}
