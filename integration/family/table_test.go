package family_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// kind is an implementation and how it is set up, a row and a column of a table.
type kind struct {
	name  string
	start starter
}

func oursAsKazoo(t testing.TB, connect string) *peers.Peer {
	return peers.Library(t, connect, timeout, "kazoo")
}

// tables are those of the manual.
var tables = []struct {
	name  string
	kinds []kind
	// All of these have to exclude the other one: what is held, and what is tried
	// meanwhile.
	probes [][2]string
}{
	{
		"mutexes",
		[]kind{
			{"zkrecipes", ours},
			{"zkrecipes, `WithKazooNames`", oursAsKazoo},
			{"Curator", curator},
			{"go-zookeeper", goZooKeeper},
			{"kazoo", kazoo()},
			{"kazoo, `[\"lock-\"]`", kazoo("lock-")},
		},
		[][2]string{{"lock", "lock"}},
	},
	{
		"readers and writers",
		[]kind{
			{"zkrecipes", ours},
			{"zkrecipes, `WithKazooNames`", oursAsKazoo},
			{"Curator", curator},
			{"kazoo", kazoo()},
			{"kazoo, `[\"__WRIT__\", \"__READ__\"]`", kazoo("__WRIT__", "__READ__")},
		},
		[][2]string{{"wlock", "wlock"}, {"wlock", "rlock"}, {"rlock", "wlock"}},
	},
}

// The manual says who waits for whom, and it is so.
func TestWhoExcludesWhomIsAsTheManualSays(t *testing.T) {
	manual, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, table := range tables {
		t.Run(table.name, func(t *testing.T) {
			t.Parallel()
			want := draw(t, table.kinds, table.probes)
			require.True(t, strings.Contains(string(manual), want), "README.md does not have this table:\n%s", want)
		})
	}
}

// draw finds the table out.
func draw(t *testing.T, kinds []kind, probes [][2]string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	connect := zkserver.Shared(t).Connect()
	root := zkserver.Path(t)
	started := make([]*peers.Peer, len(kinds))
	for i, k := range kinds {
		started[i] = k.start(t, connect)
	}
	// A probe is one of a cell, at a path and with participants of its own.
	eachProbe := func(do func(holder, contender *peers.Peer, name, hold, try string)) {
		for h := range kinds {
			for c := range kinds {
				for i, p := range probes {
					name := fmt.Sprintf("%d-%d-%d", h, c, i)
					path := root + "-" + name
					do(started[h], started[c], name, p[0]+" h"+name+" "+path, "try"+p[1]+" c"+name+" "+path+" 1500")
				}
			}
		}
	}
	eachProbe(func(holder, _ *peers.Peer, name, hold, _ string) {
		require.Equal(t, "held", holder.Do(ctx, hold).Event)
	})
	eachProbe(func(_, contender *peers.Peer, name, _, try string) { contender.Tell(try) })
	waits := make(map[string]bool)
	eachProbe(func(_, contender *peers.Peer, name, _, _ string) {
		cell := name[:strings.LastIndex(name, "-")]
		busy := contender.Await(ctx, "c"+name).Event == "busy"
		if was, known := waits[cell]; known && was != busy {
			t.Errorf("%s: some wait, and some do not", name)
		}
		waits[cell] = busy
	})
	return format(kinds, waits)
}

func format(kinds []kind, waits map[string]bool) string {
	var b strings.Builder
	b.WriteString("| holder ↓ contender → |")
	for _, k := range kinds {
		b.WriteString(" " + k.name + " |")
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", len(kinds)+1) + "\n")
	for h, k := range kinds {
		b.WriteString("| " + k.name + " |")
		for c := range kinds {
			if waits[fmt.Sprintf("%d-%d", h, c)] {
				b.WriteString(" waits |")
			} else {
				b.WriteString(" **both hold** |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
