package lock_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/integration/proxy"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// closeSession ends somebody else's session at the server, as whoever can reach
// it may: the password follows from the id. The server hangs up on the owner
// first, who would come back at once and have the stranger hung up on; so the
// owner's way, p, is closed meanwhile.
func closeSession(t testing.TB, s *zkserver.Server, p *proxy.Proxy, id int64) {
	t.Helper()
	p.Refuse()
	defer func() { require.NoError(t, p.Accept()) }()
	eventually(t, "the session is closed", func() bool {
		c := hijack(t, s, id)
		defer c.Hangup()
		for range 20 {
			sessions, err := s.Word(within(t, patience), "dump")
			if err == nil && !strings.Contains(sessions, fmt.Sprintf("%#x", uint64(id))) {
				return true
			}
			time.Sleep(10 * time.Millisecond)
		}
		return false
	})
}

// hijack sends the handshake and the session's end in one go.
func hijack(t testing.TB, s *zkserver.Server, id int64) *bareclient.Client {
	t.Helper()
	c, err := bareclient.Dial(s.DirectAddr())
	require.NoError(t, err)
	readOnly := jute.ReadOnly(false)
	hello := jute.AppendFrame(nil, &jute.ConnectRequest{
		SessionID: id, Password: password(id), TimeoutMillis: int32(time.Minute / time.Millisecond),
	}, &readOnly)
	require.NoError(t, c.SendRaw(jute.AppendFrame(hello, &jute.RequestHeader{Xid: 1, Op: jute.OpCloseSession})))
	return c
}

// password is that of a session: 16 bytes of Java's random numbers, seeded with
// the id and a constant that every server has.
func password(session int64) []byte {
	const (
		constant   = 0xB3415C00
		multiplier = 0x5DEECE66D
		mask       = 1<<48 - 1
	)
	state := (uint64(session) ^ constant ^ multiplier) & mask
	out := make([]byte, 0, 16)
	for len(out) < 16 {
		state = (state*multiplier + 11) & mask
		word := bits.ReverseBytes32(uint32(state >> 16))
		out = append(out, byte(word>>24), byte(word>>16), byte(word>>8), byte(word))
	}
	return out
}
