package proxy_test

import (
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/proxy"
)

func TestBothDirectionsPassAndEndSeparately(t *testing.T) {
	c := connect(t)
	send(t, c.client, "ping")
	expect(t, c.server, "ping")
	require.NoError(t, c.client.CloseWrite())
	_, err := c.server.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	send(t, c.server, "pong")
	expect(t, c.client, "pong")
	require.NoError(t, c.server.Close())
	_, err = c.client.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.Eventually(t, func() bool { return c.proxy.Conns() == 0 }, patience, time.Millisecond)
}

func TestResetTravels(t *testing.T) {
	c := connect(t)
	send(t, c.client, "up")
	expect(t, c.server, "up")
	require.NoError(t, c.client.SetLinger(0))
	require.NoError(t, c.client.Close())
	_, err := c.server.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestStalledDirectionHoldsBackAndLosesNothing(t *testing.T) {
	c := connect(t)
	c.proxy.ToServer().Stall()
	send(t, c.client, "one ")
	send(t, c.client, "two")
	require.NoError(t, c.client.CloseWrite())
	expectSilence(t, c.server)
	send(t, c.server, "other way")
	expect(t, c.client, "other way")
	c.proxy.ToServer().Pass()
	expect(t, c.server, "one two")
	_, err := c.server.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the end was held back too")
}

func TestStallBlocksASenderWithoutEnd(t *testing.T) {
	c := connect(t)
	c.proxy.Stall()
	require.NoError(t, c.client.SetWriteDeadline(time.Now().Add(aMoment)))
	n, err := io.Copy(c.client, io.LimitReader(zeros{}, 1<<30))
	require.Error(t, err)
	require.NoError(t, c.client.CloseWrite())
	c.proxy.Pass()
	got, err := io.Copy(io.Discard, c.server)
	require.NoError(t, err)
	require.GreaterOrEqual(t, got, n)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestSwallowedBytesAreGoneAndTheirConnectionIsResetAfterwards(t *testing.T) {
	c := connect(t)
	c.proxy.ToServer().Blackhole()
	send(t, c.client, "lost")
	expectSilence(t, c.server)
	send(t, c.server, "other way")
	expect(t, c.client, "other way")
	c.proxy.ToServer().Pass()
	_, err := c.server.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = c.client.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestConnectionThatWasSilentInABlackholeGoesOn(t *testing.T) {
	c := connect(t)
	c.proxy.Blackhole()
	c.proxy.Pass()
	send(t, c.client, "still here")
	expect(t, c.server, "still here")
}

func TestBlackholeHidesThatTheOtherSideIsGone(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn) error{
		"closed": (*net.TCPConn).Close,
		"reset":  func(c *net.TCPConn) error { _ = c.SetLinger(0); return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			c.proxy.ToServer().Blackhole()
			require.NoError(t, end(c.client))
			expectSilence(t, c.server)
			c.proxy.Pass()
			_, err := c.server.Read(make([]byte, 1))
			require.Error(t, err, "told when the flow passes")
		})
	}
}

func TestWriteToADeadSideIsToldOnlyWhenTheWayBackPasses(t *testing.T) {
	c := connect(t)
	send(t, c.server, "up")
	expect(t, c.client, "up") // the proxy's own dial has succeeded
	c.proxy.ToClient().Blackhole()
	require.NoError(t, c.server.SetLinger(0))
	require.NoError(t, c.server.Close())
	for range 5 {
		send(t, c.client, "into the void")
	}
	expectSilence(t, c.client)
	c.proxy.Pass()
	_, err := c.client.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestDelayIsPerByteNotPerTurn(t *testing.T) {
	c := connect(t)
	const delay = 200 * time.Millisecond
	c.proxy.ToServer().Delay(delay)
	begin := time.Now()
	text := strings.Repeat("a", 10)
	for _, b := range text {
		send(t, c.client, string(b))
	}
	expect(t, c.server, text)
	took := time.Since(begin)
	require.GreaterOrEqual(t, took, delay)
	require.Less(t, took, 5*delay, "ten bytes in a row are delayed together")
	begin = time.Now()
	send(t, c.server, "back")
	expect(t, c.client, "back")
	require.Less(t, time.Since(begin), delay, "the other direction is not delayed")
}

func TestCutResetsBothSidesAndLetsNewOnesIn(t *testing.T) {
	target := listen(t)
	p, err := proxy.Listen(target.lis.Addr().String())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	client, server := dial(t, p, target)
	p.Stall()
	p.Cut()
	_, err = client.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET, "whatever the flows do")
	_, err = server.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	p.Pass()
	client, server = dial(t, p, target)
	send(t, client, "again")
	expect(t, server, "again")
}

func TestRefuseTurnsAwayNewConnectionsOnly(t *testing.T) {
	target := listen(t)
	p, err := proxy.Listen(target.lis.Addr().String())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	client, server := dial(t, p, target)
	p.Refuse()
	require.NoError(t, p.TargetDown(false), "does not end a refusal")
	_, err = net.Dial("tcp", p.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	send(t, client, "goes on")
	expect(t, server, "goes on")
	require.NoError(t, p.Accept())
	dial(t, p, target)
}

func TestConnectionToADeadTargetIsResetUnlessPatient(t *testing.T) {
	target := listen(t)
	require.NoError(t, target.lis.Close())
	impatient, err := proxy.Listen(target.lis.Addr().String())
	require.NoError(t, err)
	t.Cleanup(impatient.Close)
	c, err := net.Dial("tcp", impatient.Addr())
	if err == nil { // the reset can be faster than the dial
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	require.ErrorIs(t, err, syscall.ECONNRESET)

	patient, err := proxy.Listen(target.lis.Addr().String(), proxy.Patient(patience))
	require.NoError(t, err)
	t.Cleanup(patient.Close)
	c, err = net.Dial("tcp", patient.Addr())
	require.NoError(t, err)
	defer c.Close()
	send(t, c, "early")
	expectSilence(t, c)
	lis, err := net.Listen("tcp", target.lis.Addr().String())
	require.NoError(t, err)
	defer lis.Close()
	server, err := lis.Accept()
	require.NoError(t, err)
	defer server.Close()
	expect(t, server, "early")
}

func TestCloseIsIdempotentAndEndsConnections(t *testing.T) {
	c := connect(t)
	c.proxy.Stall()
	send(t, c.client, "held back")
	c.proxy.Close()
	c.proxy.Close()
	_, err := c.client.Read(make([]byte, 1))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	_, err = net.Dial("tcp", c.proxy.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestRewriteReplacesTheFirstMessageOnceItIsComplete(t *testing.T) {
	c := connect(t, proxy.RewriteFirst(func(seen []byte) []byte {
		line, rest, ok := strings.Cut(string(seen), "\n")
		if !ok {
			return nil
		}
		return []byte(strings.ToUpper(line) + "\n" + rest)
	}))
	send(t, c.client, "hel")
	expectSilence(t, c.server)
	send(t, c.client, "lo\nworld")
	expect(t, c.server, "HELLO\nworld")
	send(t, c.client, "\nagain\n")
	expect(t, c.server, "\nagain\n")
}
