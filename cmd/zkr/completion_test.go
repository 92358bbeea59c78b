//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompletionKnowsEveryCommandAndFlag(t *testing.T) {
	for shell := range completions {
		code, script, errs := runHere(t, "completion", shell)
		require.Equal(t, 0, code, errs)
		for _, c := range completable() {
			require.Contains(t, script, c.name)
			for _, f := range c.flags {
				require.Contains(t, script, f.name)
			}
		}
		require.NotContains(t, script, "worker", "that is for zkr itself")
	}
	code, _, errs := runHere(t, "completion", "tcsh")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "want zkr completion bash, zsh or fish")
}

func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	_, script, _ := runHere(t, "completion", "bash")
	for line, want := range map[string]string{
		"zkr le":                     "leader",
		"zkr queue --lim":            "--limit",
		"zkr break /x --cont":        "--contender",
		"zkr fence ra":               "raise",
		"zkr help wat":               "watch",
		"zkr ls --connect qu":        "",
		"zkr ls --auth-file /dev/nu": "/dev/null",
	} {
		words := strings.Fields(line)
		cmd := exec.Command(bash, "-c", script+`COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _zkr; echo "${COMPREPLY[*]}"`, "bash")
		cmd.Args = append(cmd.Args, words...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, want, strings.TrimSpace(string(out)), line)
	}
}
