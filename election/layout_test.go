package election_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What candidates look like, and what they make of those of peers.

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`

func TestCandidatesAreNamedAsPeersNameThem(t *testing.T) {
	for name, fact := range map[string]struct {
		opts []election.Option
		want string
		peer string // a candidate of the peer, to come after
	}{
		"by default":     {nil, `^_c_` + uuid + `-latch-0000000000$`, "_c_5e0a8bd8-4d45-4bd2-8c3a-1a2b3c4d5e6f-latch-0000000001"},
		"LeaderLatch":    {[]election.Option{election.WithLayout(election.LeaderLatch)}, `^_c_` + uuid + `-latch-0000000000$`, "_c_5e0a8bd8-4d45-4bd2-8c3a-1a2b3c4d5e6f-latch-0000000001"},
		"LeaderSelector": {[]election.Option{election.WithLayout(election.LeaderSelector)}, `^_c_` + uuid + `-lock-0000000000$`, "_c_5e0a8bd8-4d45-4bd2-8c3a-1a2b3c4d5e6f-lock-0000000001"},
		"kazoo":          {[]election.Option{election.WithLayout(election.Kazoo)}, `^_c_` + uuid + `-__lock__0000000000$`, "0a8f0d4a6a0f4c1e9d3a5b7c9d1e2f30__lock__0000000001"},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv, "host-1", fact.opts...)
				b := join(t, srv, "host-2", fact.opts...)
				term := a.lead()
				z, ok := srv.Get(term.Lease().Node())
				require.True(t, ok)
				require.Equal(t, "host-1", string(z.Data))
				require.Regexp(t, fact.want, candidates(srv)[0])

				require.NoError(t, srv.Create(path+"/"+fact.peer, []byte("host-jvm")))
				require.NoError(t, srv.SetCreateCounter(path, 2))
				next := b.wait()
				list, err := b.Candidates(t.Context())
				require.NoError(t, err)
				require.Len(t, list, 3)
				require.Equal(t, "host-jvm", list[1].Identity)

				resign(t, term)
				time.Sleep(3 * T)
				zkrtest.Pending(t, next)
				leader, err := a.Leader(t.Context())
				require.NoError(t, err)
				require.Equal(t, "host-jvm", leader.Identity)
				require.NoError(t, srv.Delete(path+"/"+fact.peer))
				resign(t, elected(t, next, 0))
			})
		})
	}
}

// Candidates of LeaderSelector and Kazoo on one path count each other.
func TestLayoutsThatCountEachOther(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := join(t, srv, "a", election.WithLayout(election.LeaderSelector))
		b := join(t, srv, "b", election.WithLayout(election.Kazoo))
		for range 2 {
			term := a.lead()
			next := b.wait()
			resign(t, term)
			term = elected(t, next, 0)
			next = a.wait()
			resign(t, term)
			resign(t, elected(t, next, 0))
		}
	})
}

// The identity of the client is the default id, and an empty one is as Curator's.
func TestIDOfACandidate(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a := joinAs(t, srv, []recipes.Option{recipes.WithIdentity("web-3/4711")})
		require.Equal(t, "web-3/4711", a.ID())
		require.Equal(t, path, a.Path())
		b := join(t, srv, "")
		require.Empty(t, b.ID())
		term := b.lead()
		z, _ := srv.Get(term.Lease().Node())
		require.Empty(t, z.Data)
	})
}

// Whoever may create a znode may store anything; Curator can be told to compress.
func TestIDsOfStrangersAreShownSafely(t *testing.T) {
	zipped := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return b.Bytes()
	}
	const bad = "\uFFFD"
	for name, fact := range map[string]struct {
		data []byte
		want string
	}{
		"plain":               {[]byte("host-1"), "host-1"},
		"of any language":     {[]byte("Знайти-主机-é"), "Знайти-主机-é"},
		"compressed":          {zipped("host-1"), "host-1"},
		"compressed, hostile": {zipped("\x1b[2Jhost"), bad + "[2Jhost"},
		"terminal controls":   {[]byte("\x1b]0;x\x07host\r\n"), bad + "]0;x" + bad + "host" + bad + bad},
		"bidi controls":       {[]byte("a\u202eb"), "a" + bad + "b"},
		"not UTF-8":           {[]byte("a\xff\xfeb"), "a" + bad + "b"},
		"half a gzip":         {zipped("host-1")[:15], strings.Repeat(bad, 2)},
		"a bomb":              {zipped(strings.Repeat("x", 10<<20)), strings.Repeat("x", 4096) + "…"},
		"long":                {bytes.Repeat([]byte("é"), 10000), strings.Repeat("é", 2048) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				a := join(t, srv, "a")
				require.NoError(t, srv.Create("/election", nil))
				require.NoError(t, srv.Create(path, nil))
				require.NoError(t, srv.Create(path+"/_c_5e0a8bd8-4d45-4bd2-8c3a-1a2b3c4d5e6f-latch-0000000000", fact.data))
				leader, err := a.Leader(t.Context())
				require.NoError(t, err)
				if name == "half a gzip" {
					require.Contains(t, leader.Identity, bad)
					return
				}
				require.Equal(t, fact.want, leader.Identity)
			})
		})
	}
}

// A stranger that would make Curator wait is reported, by the tag of the layout.
func TestStrangersThatBlockPeersAreReported(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		strangers := make(chan string, 10)
		a := joinAs(t, srv, []recipes.Option{recipes.WithTrace(recipes.Trace{
			Stranger: func(ev recipes.StrangerEvent) { strangers <- ev.Name },
		})})
		term := a.lead()
		for _, name := range []string{"0", "config", "_c_x-latch-", "zebra"} {
			require.NoError(t, srv.Create(path+"/"+name, nil))
		}
		_, err := a.Candidates(t.Context())
		require.NoError(t, err)
		require.NoError(t, term.Err())
		synctest.Wait()
		require.Len(t, strangers, 2)
		require.ElementsMatch(t, []string{"0", "_c_x-latch-"}, []string{<-strangers, <-strangers})
	})
}

func TestElectionThatCannotBeIsRefused(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		for _, bad := range []string{"", "/", "a/b", "/a/", "/a//b", "/a\x00"} { // CURATOR-136, kazoo#261
			_, err := election.New(c, bad)
			var pe *recipes.PathError
			require.ErrorAs(t, err, &pe, "%q", bad)
		}
		for rule, opt := range map[string]election.Option{
			"nil option":     nil,
			"at most 4096":   election.WithID(strings.Repeat("x", 4097)),
			"not UTF-8":      election.WithID("\xff"),
			"give its place": election.WithID("__REVOKE__"),
			"unknown layout": election.WithLayout(7),
			"more than 0":    election.WithOverrunAfter(0),
		} {
			_, err := election.New(c, path, opt)
			require.ErrorContains(t, err, rule)
		}
		_, err := election.New(nil, path)
		require.ErrorContains(t, err, "nil client")
	})
}
