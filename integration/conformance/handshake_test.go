package conformance_test

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestTimeoutsAreBroughtIntoTheServersRange(t *testing.T) {
	onAll(t, func(s *script) {
		for _, c := range []struct{ asked, got time.Duration }{
			{0, minTimeout}, {time.Millisecond, minTimeout}, {7 * time.Second, 7 * time.Second}, {time.Hour, maxTimeout},
		} {
			a := s.openFor("a", c.asked)
			require.EqualValues(s.t, c.got/time.Millisecond, a.Session.TimeoutMillis)
		}
	})
}

// Whoever reads a session id in a Stat can compute the password.
func TestPasswordIsComputedFromTheSessionIDAlone(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		require.Equal(s.t, zktest.SessionPassword(a.id), a.password)
	})
}

func TestSessionIsResumedWithItsPassword(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		before := a.make("/x", jute.ModeEphemeral).ok().zxid
		b := a.resume()
		require.Equal(s.t, a.id, b.Session.SessionID)
		a.cutOff()
		b.exists("/x").ok()
		require.Equal(s.t, before, b.ping().zxid, "no transaction")
	})
}

func TestResumptionTakesTheTimeoutItAsksFor(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		req := resumption(a.id, a.password, 0)
		req.TimeoutMillis = 4321
		require.EqualValues(s.t, 4321, a.resumeWith(req).Session.TimeoutMillis)
	})
}

func TestWrongPasswordIsAnsweredAsExpiryAndEndsTheOldConnectionOnly(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModeEphemeral).ok()
		b := a.resumeWith(resumption(a.id, make([]byte, 16), 0))
		require.Zero(s.t, b.Session.SessionID)
		b.cutOff()
		a.cutOff()
		c := a.resume()
		require.Equal(s.t, a.id, c.Session.SessionID)
		c.exists("/x").ok()
	})
}

func TestUnknownSessionIsAnsweredAsExpiry(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		before := a.ping().zxid
		const stranger = 0x1234
		b := a.resumeWith(resumption(stranger, zktest.SessionPassword(stranger), 0))
		require.Zero(s.t, b.Session.SessionID)
		b.cutOff()
		require.Equal(s.t, before, a.ping().zxid, "no transaction")
	})
}

func TestClosedSessionCannotBeResumed(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.close().ok()
		a.cutOff()
		b := a.resume()
		require.Zero(s.t, b.Session.SessionID)
		b.cutOff()
	})
}

func TestClientThatHasSeenMoreThanTheServerIsTurnedAway(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		require.Nil(s.t, a.resumeWith(resumption(a.id, a.password, a.ping().zxid+1000)))
		require.Nil(s.t, a.resumeWith(resumption(0, make([]byte, 16), a.ping().zxid+1000)))
		a.ping().ok()
	})
}

func TestClientThatSaysNothingOfReadOnlyServersIsToldNothingOfThem(t *testing.T) {
	onAll(t, func(s *script) {
		for _, flag := range [][]byte{nil, {0}, {1}} {
			c, err := bareclient.Dial(s.addrs[0])
			require.NoError(s.t, err)
			req := jute.Marshal(&jute.ConnectRequest{TimeoutMillis: 10_000, Password: make([]byte, 16)})
			require.NoError(s.t, c.SendRaw(frame(append(req, flag...))))
			b, err := c.ReceiveRaw()
			require.NoError(s.t, err)
			var answer jute.ConnectResponse
			rest, err := jute.Unmarshal(b, &answer)
			require.NoError(s.t, err)
			s.note("asked with %x, answered with %x", flag, rest)
			a := &session{Client: c, s: s, name: "a", id: answer.SessionID, password: answer.Password}
			s.cast = append(s.cast, a)
			a.close().ok()
			a.cutOff()
			s.note("expired, asked with %x: %x", flag, s.refusal(flag))
		}
	})
}

// refusal is how a request for a session that never was is answered, with or
// without a flag at its end.
func (s *script) refusal(flag []byte) []byte {
	s.t.Helper()
	const stranger = 0x1234
	c, err := bareclient.Dial(s.addrs[0])
	require.NoError(s.t, err)
	defer c.Hangup()
	req := resumption(stranger, zktest.SessionPassword(stranger), 0)
	require.NoError(s.t, c.SendRaw(frame(append(jute.Marshal(&req), flag...))))
	b, err := c.ReceiveRaw()
	require.NoError(s.t, err)
	return b
}

func TestRequestBeyondJuteMaxbufferEndsTheConnection(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		const overhead = 4 + 4 // xid and operation, which count too
		fits := len(jute.Marshal(s.setting("", "", -1))) + overhead
		a.set("", strings.Repeat("x", jute.MaxBuffer-fits), -1).ok()
		s.notes = append(s.notes[:len(s.notes)-2], "the greatest request succeeds")
		before := a.ping().zxid
		// The server may hang up before all is sent.
		_, _ = a.Send(request(jute.OpSetData, s.setting("", strings.Repeat("x", jute.MaxBuffer-fits+1), -1)))
		a.cutOff()
		b := a.resume()
		require.Equal(s.t, a.id, b.Session.SessionID, "the session goes on")
		require.Equal(s.t, before, b.ping().zxid)
	})
}

func TestUnknownOperationsAreRefusedAndEndTheConnection(t *testing.T) {
	onAll(t, func(s *script) {
		for _, o := range []jute.Op{-12, -2, -1, 0, 10, 23, 42, 99, 108, 1000} {
			a := s.open("a")
			_, err := a.Send(request(o, &jute.Empty{}))
			require.NoError(s.t, err)
			s.note("%d", o)
			a.cutOff()
		}
	})
}

func TestBodiesThatCannotBeDecodedGetTheSameCodes(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		before := a.ping().zxid
		for _, o := range []jute.Op{
			jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL, jute.OpDelete, jute.OpExists,
			jute.OpGetData, jute.OpSetData, jute.OpGetACL, jute.OpSetACL, jute.OpGetChildren, jute.OpGetChildren2,
			jute.OpSync, jute.OpMulti, jute.OpMultiRead, jute.OpCheckWatches, jute.OpRemoveWatches,
			jute.OpAddWatch, jute.OpSetWatches, jute.OpSetWatches2, jute.OpGetEphemerals, jute.OpGetAllChildrenNumber,
		} {
			a.do(o, &jute.Empty{})
		}
		a.exists("").ok()
		require.Equal(s.t, before+onNewer[int64](s, 8, 1), a.ping().zxid)
	}, "3.9 refuses a write that it cannot decode before it takes a transaction, a multi aside")
}

// A length of -1 stands for null. What is below it, and what is more than the
// frame holds, has to mean the same on all servers too.
func TestLengthsThatMakeNoSenseGetTheSameCodes(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		path := jute.Marshal(s.path("/x"))
		for _, n := range []int32{-1, -2, math.MinInt32, 1 << 30} {
			a.raw(jute.OpCreate, path, length(0), length(n), length(0)) // an ACL
			a.raw(jute.OpSetACL, path, length(n), length(-1))           // an ACL
			a.raw(jute.OpSetWatches, make([]byte, 8), length(0), length(0), length(n))
			a.raw(jute.OpSetData, jute.Marshal(s.path("")), length(n), length(-1)) // data
			for _, o := range []jute.Op{
				jute.OpExists, jute.OpGetData, jute.OpGetChildren2, jute.OpGetACL, jute.OpGetAllChildrenNumber, jute.OpDelete,
			} {
				a.raw(o, length(n), length(1)) // a path
			}
			a.raw(jute.OpReconfig, length(-1), length(-1), length(n), make([]byte, 8)) // which has strings that may be null
		}
	}, "3.9 refuses a write that it cannot decode before it takes a transaction")
}

func length(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// raw sends a request whose body need not be a record.
func (a *session) raw(o jute.Op, body ...[]byte) {
	a.s.t.Helper()
	a.LastXid++
	head := jute.Marshal(&jute.RequestHeader{Xid: a.LastXid, Op: o})
	require.NoError(a.s.t, a.SendRaw(frame(slices.Concat(append([][]byte{head}, body...)...))))
	a.s.note("%s: %v %x", a.name, o, body[len(body)-2:])
	a.decode(o, a.receive())
}

func TestFramesThatMakeNoSenseEndTheConnection(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		for _, nonsense := range [][]byte{
			[]byte("\xff\xff\xff\xfe"), // a negative length
			[]byte("GET / HTTP/1.1\r\n\r\n"),
			frame(nil),
			frame([]byte{0, 0, 0, 1}), // half a header
		} {
			b := a.resume()
			s.note("%q", nonsense)
			require.NoError(s.t, b.SendRaw(nonsense))
			b.cutOff()
		}
		require.Equal(s.t, a.id, a.resume().Session.SessionID)
	})
}

// frame puts a length before bytes that need not be a record.
func frame(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestOperationsThatAreNotForClients(t *testing.T) {
	onAll(t, func(s *script) {
		for _, r := range []bareclient.Request{
			request(jute.OpCreateSession, &jute.Empty{}),
			request(jute.OpReconfig, &jute.Empty{}),
			request(jute.OpSASL, &jute.PathRequest{Path: "token"}), // a path has the form of a token
		} {
			a := s.open("a")
			a.doAll(r)
			a.do(jute.OpExists, s.reading("", false)).ok()
		}
	})
}

func TestCheckOutsideAMulti(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		r := a.do(jute.OpCheck, s.version("/no", -1))
		r.is(onNewer(s, jute.NoNode, jute.Unimplemented))
		if s.kind.newer {
			a.cutOff()
			return
		}
		a.do(jute.OpCheck, s.version("", 7)).is(jute.BadVersion)
		_, err := a.Send(request(jute.OpCheck, s.version("", -1)), request(jute.OpPing, &jute.Empty{}))
		require.NoError(s.t, err)
		require.Equal(s.t, jute.XidPing, a.receive().Xid, "one that succeeds is never answered")
	}, "3.9 does not know it")
}
