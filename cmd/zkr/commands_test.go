//go:build unix

package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runHere runs zkr in this process, for what needs no process.
func runHere(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runWith(t, nil, args...)
}

func runWith(t *testing.T, vars []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	files := make([]*os.File, 3)
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		defer f.Close()
		files[i] = f
	}
	code = run(t.Context(), args, env{stdin: files[0], stdout: files[1], stderr: files[2], vars: vars})
	return code, content(t, files[1]), content(t, files[2])
}

func content(t *testing.T, f *os.File) string {
	t.Helper()
	_, err := f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(b)
}

func TestHelpIsOnStdout(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}} {
		code, out, errs := runHere(t, args...)
		require.Equal(t, 0, code)
		require.Empty(t, errs)
		require.Contains(t, out, "Usage: zkr COMMAND")
	}
}

func TestHelpListsEveryCommandAndEveryExitCode(t *testing.T) {
	_, out, _ := runHere(t, "help")
	for _, c := range commands() {
		require.Equal(t, !c.hidden, strings.Contains(out, "\n  "+c.name+" "), c.name)
	}
	for _, code := range []int{exitUsage, exitNoServer, exitFailed, exitNotAcquired, exitNoLeader, exitLost, exitNotRunnable, exitNotFound} {
		require.Contains(t, out, "\n  "+strconv.Itoa(code)+" ")
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range commands() {
		code, asked, errs := runHere(t, "help", c.name)
		require.Equal(t, 0, code)
		require.Empty(t, errs)
		require.Contains(t, asked, "Usage: zkr "+c.name)
		code, flagged, _ := runHere(t, c.name, "--help")
		require.Equal(t, 0, code)
		require.Equal(t, asked, flagged)
	}
}

func TestHelpSaysWhatAStoppedZkrCannotDo(t *testing.T) {
	_, out, _ := runHere(t, "help", "lock")
	require.Contains(t, out, "while zkr itself is stopped")
	require.Contains(t, out, "only the token\nprotects the data")
}

func TestMistakesAreToldInOneSentence(t *testing.T) {
	for want, args := range map[string][]string{
		`zkr: unknown command "lok": want lock, `:                            {"lok"},
		`zkr: no help on "lok": want lock, `:                                 {"help", "lok"},
		`zkr: version takes no arguments, but got "1"; see zkr help version`: {"version", "1"},
		`zkr: unknown flag --x; see zkr help version`:                        {"version", "--x"},
		`zkr: guard is for zkr itself`:                                       {"guard"},
		`zkr: --session-timeout 1ms: want at least 100ms`:                    {"demo", "--session-timeout", "1ms"},
	} {
		code, out, errs := runHere(t, args...)
		require.Equal(t, exitUsage, code)
		require.Empty(t, out)
		require.True(t, strings.HasPrefix(errs, want), errs)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

func TestNoCommandIsAMistakeThatShowsTheHelp(t *testing.T) {
	code, out, errs := runHere(t)
	require.Equal(t, exitUsage, code)
	require.Empty(t, out)
	require.Contains(t, errs, "Usage: zkr COMMAND")
}

func TestVersionNamesTheToolchain(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		code, out, _ := runHere(t, arg)
		require.Equal(t, 0, code)
		require.Regexp(t, `^zkr \S.* go1\.\S+ \w+/\w+\n$`, out)
	}
}

func TestServersComeFromTheEnvironmentUnlessAFlagNamesThem(t *testing.T) {
	vars := []string{"ZKR_CONNECT=127.0.0.1:1", "ZKR_CONNECT=127.0.0.1:2"} // the last one counts
	lock := func(more ...string) []string {
		return append(append([]string{"lock", "--connect-timeout", "1ms"}, more...), path, "--", "true")
	}
	_, _, errs := runWith(t, vars, lock()...)
	require.Contains(t, errs, "127.0.0.1:2")
	_, _, errs = runWith(t, vars, lock("--connect", "127.0.0.1:3")...)
	require.Contains(t, errs, "127.0.0.1:3")
}
