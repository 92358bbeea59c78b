//go:build unix

package filefence_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/filefence"
)

// child writes numbered contents under one token, one after the other, prints
// each number once it is safe, and kills itself before the named step of the
// nth replacement.
func child(args string) error {
	var path, dieAt string
	var token, count int64
	fields := strings.Split(args, "|")
	path, dieAt = fields[0], fields[3]
	token, _ = strconv.ParseInt(fields[1], 10, 64)
	count, _ = strconv.ParseInt(fields[2], 10, 64)
	f, err := filefence.New(path)
	if err != nil {
		return err
	}
	for seq := int64(1); ; seq++ {
		filefence.OnStep(func(step string) {
			if seq == count && step == dieAt {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		})
		err := f.Update(context.Background(), fence.Stamp{Token: fence.Token(token), Seq: seq}, func([]byte) ([]byte, error) {
			return contents(fence.Token(token), seq), nil
		})
		if err != nil {
			return err
		}
		fmt.Println(seq)
	}
}

// contents are long enough that a part of them would be noticed.
func contents(token fence.Token, seq int64) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("%d/%d\n", token, seq)), 2000)
}

func startChild(t *testing.T, path string, token fence.Token, count int64, dieAt string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("FILEFENCE_CHILD=%s|%d|%d|%s", path, token, count, dieAt))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// killed waits for the child's end by SIGKILL and returns the last number that
// it called safe.
func killed(t *testing.T, cmd *exec.Cmd, out *bufio.Scanner) (acknowledged int64) {
	t.Helper()
	for out.Scan() {
		n, err := strconv.ParseInt(out.Text(), 10, 64)
		require.NoError(t, err)
		acknowledged = n
	}
	err := cmd.Wait()
	require.ErrorContains(t, err, "signal: killed")
	return acknowledged
}

// requireWhole checks that the file holds one write as a whole, which is the
// last acknowledged one or the one after it.
func requireWhole(t *testing.T, f *filefence.File, token fence.Token, acknowledged int64) fence.Stamp {
	t.Helper()
	data, stamp, err := f.Contents()
	require.NoError(t, err)
	require.Equal(t, token, stamp.Token, "a fence was lost")
	require.GreaterOrEqual(t, stamp.Seq, acknowledged, "an acknowledged write was lost")
	require.LessOrEqual(t, stamp.Seq, acknowledged+1)
	if stamp.Seq > 0 {
		require.Equal(t, string(contents(token, stamp.Seq)), string(data), "half an effect")
	}
	return stamp
}

func TestKillAtEachStepLeavesStampAndContentsTogether(t *testing.T) {
	for i, at := range []string{"write", "flush", "rename", "flush folder", "done"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "report")
			f, err := filefence.New(path)
			require.NoError(t, err)
			require.NoError(t, f.Install(t.Context(), 34))

			cmd, out := startChild(t, path, 34, 3, at)
			acknowledged := killed(t, cmd, out)
			require.Equal(t, int64(2), acknowledged)
			stamp := requireWhole(t, f, 34, acknowledged)
			require.Equal(t, i >= 3, stamp.Seq == 3, "the rename is the step that decides")

			ctx := t.Context()
			require.ErrorIs(t, f.Install(ctx, 33), fence.ErrStale)
			again := f.Update(ctx, fence.Stamp{Token: 34, Seq: 3}, func([]byte) ([]byte, error) { return contents(34, 3), nil })
			if stamp.Seq == 3 {
				require.ErrorIs(t, again, fence.ErrStale)
			} else {
				require.NoError(t, again, "the lock of the killed process is free")
			}
			requireWhole(t, f, 34, 3)
		})
	}
}

func TestKillAtAnyPointLosesNoAcknowledgedWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	f, err := filefence.New(path)
	require.NoError(t, err)
	for token := fence.Token(1); token <= 20; token++ {
		require.NoError(t, f.Install(t.Context(), token))
		cmd, out := startChild(t, path, token, 0, "")
		var acknowledged int64
		for range rand.IntN(20) {
			require.True(t, out.Scan())
			acknowledged++
		}
		// Where this meets the child is left to chance.
		require.NoError(t, cmd.Process.Kill())
		acknowledged = max(acknowledged, killed(t, cmd, out))
		requireWhole(t, f, token, acknowledged)
	}
}

func TestLeftoverOfAKilledWriterIsNoObstacle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	f, err := filefence.New(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".next", []byte("half a docu"), 0o600))
	require.NoError(t, f.Install(t.Context(), 34))
	_, stamp, err := f.Contents()
	require.NoError(t, err)
	require.Equal(t, fence.Stamp{Token: 34}, stamp)
}
