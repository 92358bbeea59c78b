package fence_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
)

func TestRuleOfAdmission(t *testing.T) {
	for name, c := range map[string]struct {
		standing, offered, then fence.Stamp
		admitted                bool
	}{
		"the first grant of all":                   {fence.Stamp{}, fence.Stamp{Token: 1}, fence.Stamp{Token: 1}, true},
		"a later grant":                            {fence.Stamp{Token: 33}, fence.Stamp{Token: 34}, fence.Stamp{Token: 34}, true},
		"an earlier grant":                         {fence.Stamp{Token: 34}, fence.Stamp{Token: 33}, fence.Stamp{Token: 34}, false},
		"an earlier grant, numbered higher":        {fence.Stamp{Token: 34, Seq: 1}, fence.Stamp{Token: 33, Seq: 9}, fence.Stamp{Token: 34, Seq: 1}, false},
		"a later grant begins to number anew":      {fence.Stamp{Token: 33, Seq: 9}, fence.Stamp{Token: 34, Seq: 1}, fence.Stamp{Token: 34, Seq: 1}, true},
		"the same grant again":                     {fence.Stamp{Token: 34}, fence.Stamp{Token: 34}, fence.Stamp{Token: 34}, true},
		"the next number":                          {fence.Stamp{Token: 34, Seq: 1}, fence.Stamp{Token: 34, Seq: 2}, fence.Stamp{Token: 34, Seq: 2}, true},
		"a number after a gap":                     {fence.Stamp{Token: 34, Seq: 1}, fence.Stamp{Token: 34, Seq: 5}, fence.Stamp{Token: 34, Seq: 5}, true},
		"the first number after the installation":  {fence.Stamp{Token: 34}, fence.Stamp{Token: 34, Seq: 1}, fence.Stamp{Token: 34, Seq: 1}, true},
		"the same number twice":                    {fence.Stamp{Token: 34, Seq: 2}, fence.Stamp{Token: 34, Seq: 2}, fence.Stamp{Token: 34, Seq: 2}, false},
		"a number that was overtaken":              {fence.Stamp{Token: 34, Seq: 2}, fence.Stamp{Token: 34, Seq: 1}, fence.Stamp{Token: 34, Seq: 2}, false},
		"without a number the numbers stand still": {fence.Stamp{Token: 34, Seq: 2}, fence.Stamp{Token: 34}, fence.Stamp{Token: 34, Seq: 2}, true},
		"the greatest token that there is":         {fence.Stamp{Token: math.MaxInt64 - 1}, fence.Stamp{Token: math.MaxInt64}, fence.Stamp{Token: math.MaxInt64}, true},
	} {
		t.Run(name, func(t *testing.T) {
			then, err := c.standing.Admit("report", c.offered)
			require.Equal(t, c.then, then)
			if c.admitted {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, fence.ErrStale)
			var stale *fence.StaleError
			require.ErrorAs(t, err, &stale)
			require.Equal(t, fence.StaleError{Resource: "report", Offered: c.offered, Standing: c.standing}, *stale)
		})
	}
}

func TestWhatNoHolderCanHaveIsNoStamp(t *testing.T) {
	for _, s := range []fence.Stamp{{}, {Token: -1}, {Seq: 1}, {Token: 1, Seq: -1}} {
		_, err := fence.Stamp{}.Admit("report", s)
		require.ErrorIs(t, err, fence.ErrNoToken, "%v", s)
		require.NotErrorIs(t, err, fence.ErrStale)
	}
	require.ErrorIs(t, fence.Stamp{}.AdmitRead("report", 0), fence.ErrNoToken)
}

func TestStaleErrorTellsTheReasonsApart(t *testing.T) {
	refused := func(standing, offered fence.Stamp) *fence.StaleError {
		_, err := standing.Admit("", offered)
		var stale *fence.StaleError
		require.True(t, errors.As(err, &stale))
		return stale
	}
	later := refused(fence.Stamp{Token: 34}, fence.Stamp{Token: 33})
	require.True(t, later.Superseded())
	require.False(t, later.Applied())
	require.EqualError(t, later, "fence: stale: offered 33, standing 34: a later grant stands")

	repeated := refused(fence.Stamp{Token: 34, Seq: 2}, fence.Stamp{Token: 34, Seq: 2})
	require.False(t, repeated.Superseded())
	require.True(t, repeated.Applied())

	late := refused(fence.Stamp{Token: 34, Seq: 2}, fence.Stamp{Token: 34, Seq: 1})
	require.False(t, late.Superseded())
	require.False(t, late.Applied(), "nobody knows whether it was applied in its turn")
	require.EqualError(t, late, "fence: stale: offered 34/1, standing 34/2: superseded or already applied")
}
