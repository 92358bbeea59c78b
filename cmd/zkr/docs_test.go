//go:build unix

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/docpages"
	"github.com/zkrecipes/zkrecipes/lock"
)

// calls returns what the pages say to type: the arguments of zkr, also where it
// is run by the go command.
func calls(t *testing.T) []docpages.Command {
	t.Helper()
	var all []docpages.Command
	for _, p := range docpages.Read(t, "../..") {
		for _, c := range p.Commands("zkr", "go") {
			if c.Words[0] == "go" {
				if len(c.Words) < 3 || c.Words[1] != "run" || c.Words[2] != "./cmd/zkr" {
					continue
				}
				c.Words = c.Words[2:]
			}
			c.Words = c.Words[1:]
			for i, w := range c.Words { // what stands for a token of the reader's
				if w == "N" && strings.HasPrefix(c.Words[max(0, i-1)], "--") {
					c.Words[i] = "7"
				}
			}
			if len(c.Words) > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}

func TestCommandsOfThePagesAreCommandsOfZkr(t *testing.T) {
	all := calls(t)
	for _, call := range all {
		c, ok := find(call.Words[0])
		require.True(t, ok, "%s: zkr %q", call.Page, call.Words)
		fs := newFlags(c, env{})
		c.setup(fs)
		_, err := fs.parse(call.Words[1:])
		require.NoError(t, err, "%s: zkr %q", call.Page, call.Words)
	}
	require.Greater(t, len(all), 40)
	for _, name := range []string{"ls", "queue", "watch", "revoke", "break", "doctor", "bench", "completion"} {
		require.True(t, slices.ContainsFunc(all, func(c docpages.Command) bool {
			return c.Words[0] == name && c.Page == "docs/zkr.md"
		}), name)
	}
}

// What the pages show in blocks is done, on a server with a lock that is held and
// a leader, and is never a mistake in the command line. Those that run something
// else, or until they are stopped, have tests of their own.
func TestCommandsOfThePagesDoSomething(t *testing.T) {
	srv := serve(t)
	holder := dial(t, srv)
	for _, path := range []string{"/locks/report", "/locks/nightly", "/election/controller", "/election/ctl"} {
		mu, err := lock.NewMutex(holder, path)
		require.NoError(t, err)
		_, err = mu.Lock(t.Context())
		require.NoError(t, err)
	}
	done := 0
	for _, call := range calls(t) {
		args := call.Words
		if !call.Block || slices.Contains([]string{"lock", "elect", "watch", "demo", "testserver"}, args[0]) {
			continue
		}
		if i := slices.Index(args, "--connect"); i > 0 {
			args[i+1] = srv.ConnectString()
		}
		code, _, stderr := runWith(t, []string{"ZKR_CONNECT=" + srv.ConnectString()}, args...)
		require.NotContains(t, []int{exitUsage, exitNoServer}, code, "%s: zkr %q: %s", call.Page, args, stderr)
		done++
	}
	require.Greater(t, done, 10)
}
