package conformance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// A script is played on one server. It has a folder there of its own.
type script struct {
	t      tb
	kind   kind
	addrs  []string // of the servers, the leader first
	folder string
	base   int64 // the last transaction before the script
	notes  []string
	ops    int
	cast   []*session
	names  map[int64]string // of sessions, by id
}

// onAll plays a script on every kind of server. All clients must see the same,
// but for what differs from 3.8 in 3.9: the differences are named, and the
// script states them by onNewer.
func onAll(t *testing.T, play func(*script), differences ...string) {
	t.Helper()
	onAllAt(t, seldom, play, differences...)
}

// onAllAt is onAll on servers that look for containers at a certain pace.
func onAllAt(t *testing.T, reap pace, play func(*script), differences ...string) {
	t.Helper()
	compare(t, func(t *testing.T, k kind) []string { return []string{k.start(t, reap)} }, play, differences)
}

// onEnsembles is onAll on three servers of each kind.
func onEnsembles(t *testing.T, play func(*script), differences ...string) {
	t.Helper()
	compare(t, func(t *testing.T, k kind) []string { return k.ensemble(t) }, play, differences)
}

func compare(t *testing.T, start func(*testing.T, kind) []string, play func(*script), differences []string) {
	t.Helper()
	seen := make([][]string, len(kinds))
	t.Run("on", func(t *testing.T) {
		for i, k := range kinds {
			t.Run(k.name, func(t *testing.T) {
				addrs := start(t, k)
				t.Parallel()
				s := begin(t, k, addrs, "/"+strings.Split(t.Name(), "/")[0])
				defer s.end()
				play(s)
				seen[i] = append([]string{}, s.notes...) // not nil, though there be none
				if i == 0 {
					compared.scripted.Add(int64(s.ops))
				}
			})
		}
	})
	if t.Failed() {
		return
	}
	for i, k := range kinds[1:] {
		if seen[0] == nil || seen[i+1] == nil {
			t.Skipf("not compared: %s or %s is missing", kinds[0].name, k.name)
		}
		diff := firstDifference(kinds[0].name, seen[0], k.name, seen[i+1])
		if k.newer && len(differences) > 0 {
			require.NotEmpty(t, diff, "no difference any more: %v", differences)
			continue
		}
		require.Empty(t, diff)
	}
}

// tb is what a *testing.T and a *rapid.T have in common and a script needs.
type tb interface {
	require.TestingT
	Helper()
}

func begin(t tb, k kind, addrs []string, folder string) *script {
	t.Helper()
	s := &script{t: t, kind: k, addrs: addrs, folder: folder, names: map[int64]string{}}
	stage := s.hand()
	defer stage.Hangup()
	s.manage(stage, jute.OpCreate, &jute.CreateRequest{Path: folder, ACL: jute.OpenACL()}, jute.OK)
	s.base = s.manage(stage, jute.OpCloseSession, &jute.Empty{}, jute.OK)
	return s
}

// hand gives a client whose doings are not written down.
func (s *script) hand() *bareclient.Client {
	s.t.Helper()
	c, err := bareclient.New(s.addrs[0], maxTimeout)
	require.NoError(s.t, err)
	return c
}

// manage does one operation behind the scene and returns its zxid.
func (s *script) manage(c *bareclient.Client, op jute.Op, body jute.Record, accept ...jute.Code) int64 {
	s.t.Helper()
	f := s.ask(c, op, body)
	require.Contains(s.t, accept, f.Err, "%v %v", op, body)
	return f.Zxid
}

func (s *script) ask(c *bareclient.Client, op jute.Op, body jute.Record) bareclient.Frame {
	s.t.Helper()
	_, err := c.Send(bareclient.Request{Op: op, Body: body})
	require.NoError(s.t, err)
	f, err := c.Receive()
	require.NoError(s.t, err)
	return f
}

// end leaves neither sessions nor znodes, so that no transaction of this
// script falls into the next one.
func (s *script) end() {
	for _, a := range s.cast {
		a.Hangup()
	}
	for id := range s.names {
		c, err := bareclient.Connect(s.addrs[0], resumption(id, s.passwordOf(id), 0))
		if err != nil {
			continue
		}
		if c.Session.SessionID != 0 {
			s.ask(c, jute.OpCloseSession, &jute.Empty{})
		}
		c.Hangup()
	}
	c := s.hand()
	defer c.Hangup()
	s.manage(c, jute.OpAuth, &jute.AuthRequest{Scheme: "digest", Auth: []byte("own:er")}, jute.OK)
	s.remove(c, s.folder)
	require.Equal(s.t, jute.NoNode, s.ask(c, jute.OpExists, &jute.PathWatchRequest{Path: s.folder}).Err, "%s is left", s.folder)
	s.manage(c, jute.OpCloseSession, &jute.Empty{}, jute.OK)
}

func (s *script) passwordOf(id int64) []byte {
	for _, a := range s.cast {
		if a.id == id {
			return a.password
		}
	}
	return nil
}

func (s *script) remove(c *bareclient.Client, path string) {
	var names jute.ListReply
	if f := s.ask(c, jute.OpGetChildren, &jute.PathWatchRequest{Path: path}); f.Err == jute.OK {
		_, err := jute.Unmarshal(f.Body, &names)
		require.NoError(s.t, err)
	}
	for _, name := range names.Names {
		s.remove(c, path+"/"+name)
	}
	// Containers go by themselves, and what the script locked away stays.
	s.ask(c, jute.OpDelete, &jute.PathVersionRequest{Path: path, Version: -1})
}

func resumption(id int64, password []byte, zxid int64) jute.ConnectRequest {
	return jute.ConnectRequest{LastZxidSeen: zxid, TimeoutMillis: 10000, SessionID: id, Password: password}
}

// onNewer returns what holds for the server at hand: was up to 3.8, is from
// 3.9 on. zktest follows 3.8.
func onNewer[V any](s *script, was, is V) V {
	if s.kind.newer {
		return is
	}
	return was
}
