package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatWasNotSearchedIsNoticed(t *testing.T) {
	const head = "State-vector 108 byte, depth reached 89, errors: 0\n   702895 states, stored\n"
	v, err := parse(head + "unreached in proctype Servers\n" +
		"\t/models/lock.pml:176, state 29, \"late[i] = 0\"\n\t/models/lock.pml:178, state 33, \"-end-\"\n")
	require.NoError(t, err)
	require.Equal(t, verdict{states: 702895, complete: true, unused: []string{`/models/lock.pml:176, state 29, "late[i] = 0"`}}, v)

	v, err = parse("error: max search depth too small\n" + head)
	require.NoError(t, err)
	require.False(t, v.complete)
	v, err = parse("Warning: Search not completed\n" + head)
	require.NoError(t, err)
	require.False(t, v.complete)

	_, err = parse("pan: out of memory\n")
	require.Error(t, err)
}
