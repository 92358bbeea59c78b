//go:build unix

package main

import (
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePageNamesWhatThereIs(t *testing.T) {
	page, err := os.ReadFile("../../docs/zkr.md")
	require.NoError(t, err)
	flags := map[string]bool{}
	for _, c := range commands() {
		fs := newFlags(c, env{})
		c.setup(fs)
		fs.VisitAll(func(f *flag.Flag) { flags["--"+f.Name] = true })
	}
	named := 0
	for _, m := range regexp.MustCompile("(?:^|[`\\n(])zkr ([a-z]+)").FindAllSubmatch(page, -1) {
		_, ok := find(string(m[1]))
		require.True(t, ok, "zkr %s", m[1])
		named++
	}
	require.Greater(t, named, 10)
	for _, m := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAll(page, -1) {
		require.True(t, flags[string(m)], "%s", m)
	}
	for _, name := range []string{"ls", "queue", "watch", "revoke", "break", "doctor", "completion"} {
		require.Contains(t, string(page), "zkr "+name)
	}
}
