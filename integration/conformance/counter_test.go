package conformance_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Directories whose counters are where no client brings them. They lie outside
// the folders of the scripts, on servers of their own.
const (
	atTheEnd = "/at-the-end" // a few numbers are left
	negative = "/negative"   // where only an operator's hand brings one
)

var counters = map[string]int32{atTheEnd: math.MaxInt32 - 2, negative: -3}

// onAllCounted is onAll on servers that have these directories.
func onAllCounted(t *testing.T, play func(*script)) {
	t.Helper()
	compare(t, func(t *testing.T, k kind) []string { return []string{k.counted(t)} }, play, nil)
}

func realCounted(version string) func(*testing.T) string {
	return func(t *testing.T) string {
		server := zkserver.Start(t, zkserver.Config{Version: version, Tick: tick}).Servers[0]
		c, err := bareclient.New(server.DirectAddr(), maxTimeout)
		require.NoError(t, err)
		defer c.Hangup()
		for path := range counters {
			_, err := c.Send(request(jute.OpCreate, &jute.CreateRequest{Path: path, ACL: jute.OpenACL()}))
			require.NoError(t, err)
			f, err := c.Receive()
			require.NoError(t, err)
			require.Equal(t, jute.OK, f.Err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, server.SetCreateCounters(ctx, counters))
		return server.DirectAddr()
	}
}

func inProcessCounted(t *testing.T) string {
	s := zktest.Start(t, zktest.WithTick(tick), zktest.WithSessionTimeouts(minTimeout, maxTimeout))
	for path, n := range counters {
		require.NoError(t, s.Create(path, nil))
		require.NoError(t, s.SetCreateCounter(path, n))
	}
	return s.Addrs()[0]
}

// numbered asks for a sequential znode in a directory outside the folder.
func numbered(dir, prefix string) *jute.CreateRequest {
	return &jute.CreateRequest{Path: dir + "/" + prefix, ACL: jute.OpenACL(), Flags: jute.ModeSequential}
}

func TestSequentialNamesGoOnToTheEndOfTheirRangeAndStick(t *testing.T) {
	onAllCounted(t, func(s *script) {
		a := s.open("a")
		show := func() *reply { return a.do(jute.OpGetChildren2, &jute.PathWatchRequest{Path: atTheEnd}).ok() }
		show()
		for i, number := range []string{"2147483645", "2147483646", "2147483647", "2147483647", "2147483647"} {
			prefix := fmt.Sprint(i, "-")
			r := a.do(jute.OpCreate2, numbered(atTheEnd, prefix)).ok()
			require.Equal(s.t, atTheEnd+"/"+prefix+number, r.body.(*jute.CreateReply).Path)
			show()
		}
		a.do(jute.OpCreate2, numbered(atTheEnd, "4-")).is(jute.NodeExists)
		a.do(jute.OpDelete, &jute.PathVersionRequest{Path: atTheEnd + "/4-2147483647", Version: -1}).ok()
		show()
		a.do(jute.OpCreate2, numbered(atTheEnd, "4-")).ok()
		a.do(jute.OpCreate, &jute.CreateRequest{Path: atTheEnd + "/plain", ACL: jute.OpenACL()}).ok()
		show()
		// In a multi each operation goes by what the ones before it have counted.
		var ops []jute.MultiOp
		for i := range 3 {
			ops = append(ops, op(jute.OpCreate, numbered(atTheEnd, fmt.Sprint("m", i, "-"))))
		}
		a.multi(append(ops, op(jute.OpSetData, &jute.SetDataRequest{Path: atTheEnd, Version: -1}))...).ok()
		for _, name := range []string{"m0-2147483647", "m1--2147483648", "m2--2147483647"} {
			a.do(jute.OpExists, &jute.PathWatchRequest{Path: atTheEnd + "/" + name}).ok()
		}
		a.do(jute.OpCreate2, numbered(atTheEnd, "after-")).ok()
		show()
	})
}

func TestSequentialNamesOfANegativeCounterGoOnUpwards(t *testing.T) {
	onAllCounted(t, func(s *script) {
		a := s.open("a")
		for _, name := range []string{"-000000003", "-000000002", "-000000001", "0000000000", "0000000001"} {
			r := a.do(jute.OpCreate2, numbered(negative, "x")).ok()
			require.Equal(s.t, negative+"/x"+name, r.body.(*jute.CreateReply).Path)
			a.do(jute.OpExists, &jute.PathWatchRequest{Path: negative}).ok()
		}
	})
}

// Creates that overlap beyond the end count on until the server has applied the
// one before them, which timing has. The server in the process applies each at
// once: its names are those of creates one after the other.
func TestOverlappingCreatesBeyondTheEndStickOrTurnNegative(t *testing.T) {
	report := proof.New(t, "conformance-counter", "The names of sequential znodes that are made at once where the numbers end")
	const sessions, each = 4, 50
	onAllCounted(t, func(s *script) {
		names := make(chan []string, sessions)
		var all sync.WaitGroup
		for i := range sessions {
			c := s.hand()
			defer c.Hangup()
			all.Go(func() { names <- s.overlapping(c, i, each) })
		}
		all.Wait()
		close(names)
		count := map[string]int{}
		made := 0
		for some := range names {
			made += len(some)
			for _, name := range some {
				number := name[strings.IndexByte(name, '-')+1:]
				switch {
				case strings.HasPrefix(number, "-21474"):
					count["negative, from -2147483648 upwards"]++
				default:
					count[number]++
				}
			}
		}
		require.Equal(s.t, sessions*each, made)
		for _, number := range slices.Sorted(maps.Keys(count)) {
			report.Printf("- %s: %s: %d times of %d", s.kind.name, number, count[number], made)
			require.Contains(s.t, []string{"2147483645", "2147483646", "2147483647", "negative, from -2147483648 upwards"}, number)
		}
		require.Equal(s.t, 1, count["2147483645"])
		require.Equal(s.t, 1, count["2147483646"])
		if s.kind.name == "zktest" {
			require.Equal(s.t, made-2, count["2147483647"])
		}
		s.notes, s.ops = nil, 0
	})
}

// overlapping makes sequential znodes in one go and returns their names.
func (s *script) overlapping(c *bareclient.Client, session, n int) []string {
	var requests []bareclient.Request
	for i := range n {
		requests = append(requests, request(jute.OpCreate, numbered(atTheEnd, fmt.Sprintf("%d.%d-", session, i))))
	}
	if _, err := c.Send(requests...); err != nil {
		return nil
	}
	var names []string
	for range requests {
		f, err := c.Receive()
		var made jute.PathReply
		if err == nil {
			_, err = jute.Unmarshal(f.Body, &made)
		}
		if err != nil || f.Err != jute.OK {
			return names
		}
		names = append(names, strings.TrimPrefix(made.Path, atTheEnd+"/"))
	}
	return names
}
