package proxy_test

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

const (
	patience = 10 * time.Second
	// aMoment is how long a test looks whether something that must not happen
	// does. A slow machine makes the look useless, never wrong.
	aMoment = 50 * time.Millisecond
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// peer is a server whose connections a test plays by hand.
type peer struct {
	lis   net.Listener
	conns chan *net.TCPConn
}

func listen(t *testing.T) *peer {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &peer{lis: lis, conns: make(chan *net.TCPConn, 100)}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			p.conns <- c.(*net.TCPConn)
		}
	})
	t.Cleanup(func() {
		_ = lis.Close()
		wg.Wait()
		close(p.conns)
		for c := range p.conns {
			_ = c.Close()
		}
	})
	return p
}

// pipe is a client and a server's end with a proxy between.
type pipe struct {
	proxy          *proxy.Proxy
	client, server *net.TCPConn
}

func connect(t *testing.T, opts ...proxy.Option) pipe {
	t.Helper()
	target := listen(t)
	p, err := proxy.Listen(target.lis.Addr().String(), opts...)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	client, server := dial(t, p, target)
	return pipe{p, client, server}
}

func dial(t *testing.T, p *proxy.Proxy, target *peer) (client, server *net.TCPConn) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	client, server = c.(*net.TCPConn), <-target.conns
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	require.NoError(t, client.SetDeadline(time.Now().Add(patience)))
	require.NoError(t, server.SetDeadline(time.Now().Add(patience)))
	return client, server
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
}

func expect(t *testing.T, c net.Conn, text string) {
	t.Helper()
	buf := make([]byte, len(text))
	_, err := io.ReadFull(c, buf)
	require.NoError(t, err)
	require.Equal(t, text, string(buf))
}

// expectSilence looks for a moment whether something arrives, an end included.
func expectSilence(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(aMoment)))
	n, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "%d bytes arrived", n)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
}
