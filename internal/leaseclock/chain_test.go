package leaseclock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leaseclock"
)

const (
	timeout = 10 * second
	tick    = 2 * second
	drift   = timeout / 100
)

// write makes a write that is sent and confirmed.
func write(l *leaseclock.Link, sent, answered instant) {
	l.Answered(l.Send(sent, true), answered, true)
}

func TestNothingIsProvenBeforeTheFirstHandshake(t *testing.T) {
	c := leaseclock.NewChain(tick)
	_, ok := c.Proven(0, 0)
	require.False(t, ok)
	require.Negative(t, c.Deadline())
}

func TestHandshakeOfANewSessionIsAProof(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(second, 2*second, timeout, true)
	require.Equal(t, second+timeout-drift, c.Deadline())
}

func TestHandshakeOfAResumedSessionNeedsOneWrite(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(0, 0, timeout, true)
	l := c.Connect(4*second, 5*second, timeout, false)
	require.Equal(t, timeout-drift, c.Deadline())
	read := l.Send(5*second, false)
	l.Answered(read, 6*second, true)
	refused := l.Send(5*second, true)
	l.Answered(refused, 6*second, false)
	require.Equal(t, timeout-drift, c.Deadline(), "neither a read nor a refused write proves anything")
	write(l, 6*second, 7*second)
	require.Equal(t, 4*second+timeout-drift, c.Deadline())
}

func TestWritesUnderWayTogetherProveNothing(t *testing.T) {
	c := leaseclock.NewChain(tick)
	l := c.Connect(0, 0, timeout, true)
	l.Answered(l.Send(3*second, false), 3*second, false)
	a, b := l.Send(6*second, true), l.Send(6*second, true)
	l.Answered(a, 7*second, true)
	l.Answered(b, 7*second, true)
	require.Equal(t, timeout-drift, c.Deadline())
	write(l, 7*second, 8*second)
	require.Equal(t, 3*second+timeout-drift, c.Deadline())
}

func TestFrameCountsAGapAfterItsAnswer(t *testing.T) {
	const gap = tick/2 + tick/4
	for _, late := range []instant{0, 1} {
		c := leaseclock.NewChain(tick)
		l := c.Connect(0, 0, timeout, true)
		l.Answered(l.Send(2*second, false), 3*second+late, false)
		write(l, 3*second+gap, 5*second)
		write(l, 5*second, 6*second)
		if late == 0 {
			require.Equal(t, 2*second+timeout-drift, c.Deadline())
		} else {
			require.Equal(t, timeout-drift, c.Deadline())
		}
	}
}

func TestProofDoesNotReachOverAReconnect(t *testing.T) {
	c := leaseclock.NewChain(tick)
	l := c.Connect(0, 0, timeout, true)
	l.Answered(l.Send(2*second, false), 2*second, false)
	write(l, 5*second, 6*second)
	n := l.Send(6*second, true)
	c.Connect(6*second, 6*second, timeout, false)
	next := c.Connect(7*second, 7*second, timeout, false)
	l.Answered(n, 7*second, true) // of the old connection, and all of it there
	require.Equal(t, 2*second+timeout-drift, c.Deadline())
	write(next, 8*second, 8*second)
	require.Equal(t, 7*second+timeout-drift, c.Deadline())
}

func TestSmallerTimeoutCountsAtOnce(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(0, 0, timeout, true)
	g, ok := c.Proven(0, 0)
	require.True(t, ok)
	c.Connect(second, second, timeout/2, false)
	until, ok := c.Until(g, second)
	require.True(t, ok)
	require.Equal(t, timeout/2-drift/2, until)
	c.Connect(2*second, 2*second, timeout, false)
	require.Equal(t, timeout/2, c.Timeout())
}

func TestLeaseThatHasLapsedStaysSo(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(0, 0, timeout, true)
	g, _ := c.Proven(0, 0)
	l := c.Connect(9*second, 9*second, timeout, false)
	_, ok := c.Until(g, timeout-drift)
	require.False(t, ok)
	write(l, timeout, timeout)
	_, ok = c.Until(g, timeout)
	require.False(t, ok)
	later, ok := c.Proven(timeout, 0)
	require.True(t, ok)
	_, ok = c.Until(later, timeout)
	require.True(t, ok)
}

func TestUnprovenLeaseLastsAnEighthOrUntilItsProof(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(0, 0, timeout, true)
	const sent = 20 * second
	g := c.Unproven(sent)
	until, ok := c.Until(g, sent)
	require.True(t, ok)
	require.Equal(t, sent+timeout/8, until)
	require.False(t, c.IsProven(g, sent))

	l := c.Connect(sent, sent, timeout, false)
	write(l, sent+second, sent+second)
	require.True(t, c.IsProven(g, sent+second))
	until, ok = c.Until(g, sent+2*second)
	require.True(t, ok)
	require.Equal(t, sent+timeout-drift, until)
}

func TestProofThatComesTooLateCarriesNothing(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(0, 0, timeout, true)
	const sent = 20 * second
	g := c.Unproven(sent)
	l := c.Connect(sent, sent, timeout, false)
	write(l, sent+timeout/8, sent+timeout/8)
	_, ok := c.Until(g, sent+timeout/8)
	require.False(t, ok)
}

// A server that the session is shown to counts by its own timeout at once.
func TestShorterTimeoutShortensAnUnprovenLease(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(0, 0, timeout, true)
	const sent = 20 * second
	g := c.Unproven(sent)
	require.True(t, c.Shorten(timeout/2))
	until, ok := c.Until(g, sent)
	require.True(t, ok)
	require.Equal(t, sent+timeout/16, until)

	l := c.Connect(sent, sent, timeout/2, false)
	write(l, sent+timeout/16, sent+timeout/16)
	_, ok = c.Until(g, sent+timeout/16)
	require.False(t, ok, "it is over, and a proof does not bring it back")
}

func TestShorterTimeoutLeavesAProvenLeaseItsProof(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(0, 0, timeout, true)
	const sent = 20 * second
	g := c.Unproven(sent)
	l := c.Connect(sent, sent, timeout, false)
	write(l, sent+timeout/10, sent+timeout/10)
	require.True(t, c.Shorten(timeout/2))
	_, ok := c.Until(g, sent+timeout/4)
	require.True(t, ok)
}

func TestEndOfTheSessionIsTheEndOfEveryLease(t *testing.T) {
	c := leaseclock.NewChain(tick)
	c.Connect(0, 0, timeout, true)
	proven, _ := c.Proven(0, 0)
	unproven := c.Unproven(0)
	c.End()
	for _, g := range []leaseclock.Grant{proven, unproven} {
		_, ok := c.Until(g, 0)
		require.False(t, ok)
	}
	_, ok := c.Proven(0, 0)
	require.False(t, ok)
}

// However busy a connection is, and however long nobody writes on it.
func TestBusyConnectionKeepsFewMarks(t *testing.T) {
	c := leaseclock.NewChain(tick)
	l := c.Connect(0, 0, timeout, true)
	for now := instant(0); now < 3600*second; now += 20 * milli {
		l.Answered(l.Send(now, false), now, false)
	}
	require.Less(t, l.Marks(), 300)
	write(l, 3600*second, 3600*second)
	write(l, 3600*second, 3600*second)
	require.Greater(t, c.Deadline(), 3600*second+timeout-2*tick)
}

func TestRhythmLeavesMoreThanItsRenewalsNeed(t *testing.T) {
	for _, tick := range []instant{second / 2, second, 2 * second, 5 * second} {
		r := leaseclock.NewRhythm(timeout, tick)
		require.GreaterOrEqual(t, r.Floor(), timeout/4-timeout/50)
		require.LessOrEqual(t, r.Patience(), r.Floor()/2)
		require.Less(t, r.Proof(), timeout/16, "a lease that waits for its proof must still hold when it is due")
	}
}
