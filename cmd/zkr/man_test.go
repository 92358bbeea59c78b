//go:build unix

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func manPages(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	code, _, stderr := runHere(t, "man", folder)
	require.Zero(t, code, stderr)
	return folder
}

func TestEachCommandHasAManualPageWithAllItsFlags(t *testing.T) {
	folder := manPages(t)
	for _, name := range names() {
		if name == "help" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, "zkr-"+name+".1"))
		require.NoError(t, err)
		c, _ := find(name)
		fs := newFlags(c, env{})
		c.setup(fs)
		fs.VisitAll(func(f *flag.Flag) {
			require.Contains(t, string(text), `\fB`+escaped("--"+f.Name)+`\fR`, name)
		})
	}
	text, err := os.ReadFile(filepath.Join(folder, "zkr.1"))
	require.NoError(t, err)
	for _, row := range exitCodes {
		require.Contains(t, string(text), `\fB`+escaped(row.code)+`\fR`)
	}
}

func TestManualPagesAreReadAsTheyAreMeant(t *testing.T) {
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("no mandoc")
	}
	pages, err := filepath.Glob(filepath.Join(manPages(t), "*.1"))
	require.NoError(t, err)
	out, _ := exec.CommandContext(t.Context(), "mandoc", append([]string{"-T", "lint", "-W", "warning"}, pages...)...).Output()
	for line := range strings.Lines(string(out)) {
		// A day of the commit is not known to tests.
		require.Contains(t, line, "missing date", line)
	}
	out, err = exec.CommandContext(t.Context(), "mandoc", "-T", "utf8", filepath.Join(filepath.Dir(pages[0]), "zkr-lock.1")).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "ZKR_FENCING_TOKEN  a number greater than that of every earlier holder")
}
