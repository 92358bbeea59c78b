package recipes_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What SECURITY.md says of credentials and ACLs.

const (
	user   = "ann"
	secret = "correct-horse-battery"
)

// said is everything that a client has said to anybody.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// note takes a value down in the ways that people print one.
func (s *said) note(v any) { fmt.Fprintf(s, "%v\n%+v\n%#v\n%s\n", v, v, v, v) }

// trace calls note with every event there is, those of functions that are added
// to Trace later too.
func (s *said) trace() recipes.Trace {
	var tr recipes.Trace
	v := reflect.ValueOf(&tr).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			for _, a := range args {
				if a.Kind() == reflect.Struct { // the other one is the caller's context
					s.note(withoutPointers(a))
				}
			}
			return nil
		}))
	}
	return tr
}

// withoutPointers returns an event without what it points to: clients and leases,
// which go on meanwhile. Clients are noted when they are closed.
func withoutPointers(event reflect.Value) any {
	v := reflect.New(event.Type()).Elem()
	v.Set(event)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer {
			f.SetZero()
		}
	}
	return v.Interface()
}

// options are those of a client with a credential, whose words are taken down.
func (s *said) options(net zkrtest.Network, more ...recipes.Option) []recipes.Option {
	handler := slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})
	return zkrtest.Options(net, append([]recipes.Option{
		recipes.WithAuth("digest", []byte(user+":"+secret)),
		recipes.WithLogger(slog.New(handler)),
		recipes.WithTrace(s.trace()),
	}, more...)...)
}

// requireNoSecret looks for the password in each form in which bytes are shown.
func (s *said) requireNoSecret(t *testing.T) {
	t.Helper()
	all := s.String()
	decimal := strings.Trim(fmt.Sprint([]byte(secret)), "[]")
	for _, form := range []string{
		secret, decimal, strings.ReplaceAll(decimal, " ", ", "), strings.Trim(fmt.Sprintf("%#v", []byte(secret)), "[]byte{}"),
		hex.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte(user + ":" + secret)),
		base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		require.NotContains(t, all, form)
	}
}

// mirror passes the handshake on to a server, and then answers whoever has sent
// it something with the same bytes.
func mirror(srv *zktest.Server) recipes.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := srv.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		client, server := net.Pipe()
		pass := func(dst io.Writer, src io.Reader) {
			var n uint32
			if binary.Read(src, binary.BigEndian, &n) == nil && binary.Write(dst, binary.BigEndian, n) == nil {
				_, _ = io.CopyN(dst, src, int64(n))
			}
		}
		go func() {
			defer conn.Close()
			defer server.Close()
			pass(conn, server)
			pass(server, conn)
			_, _ = io.Copy(server, server)
		}()
		return client, nil
	}
}

func TestCredentialsAreNeverShown(t *testing.T) {
	auth := zktest.Match{Op: zktest.OpAuth}
	for name, fact := range map[string]struct {
		more func(*zktest.Server) []recipes.Option
		run  func(*testing.T, *zktest.Server, *recipes.Client) error // after Dial, if that is to succeed
	}{
		"the scheme is unknown": {more: func(*zktest.Server) []recipes.Option {
			return []recipes.Option{recipes.WithAuth("nonsense", []byte(user+":"+secret))}
		}},
		"the server repeats what it is told": {more: func(srv *zktest.Server) []recipes.Option {
			return []recipes.Option{recipes.WithDialer(mirror(srv))}
		}},
		"the connection breaks in the middle of it": {
			more: func(srv *zktest.Server) []recipes.Option {
				srv.On(auth).DropBeforeCommit()
				srv.On(auth).DropReply()
				return nil
			},
			run: func(t *testing.T, srv *zktest.Server, c *recipes.Client) error {
				_, err := mutex(t, c, "/x").Lock(cancelled(t))
				return err
			},
		},
		"a permission is missing": {run: func(t *testing.T, srv *zktest.Server, c *recipes.Client) error {
			_, err := zkrtest.Session(t, zkrtest.Dial(t, srv)).Create(t.Context(), "/closed", nil, recipes.Persistent,
				recipes.DigestACL(recipes.PermAll, user, "another"))
			require.NoError(t, err)
			return lockErr(t, mutex(t, c, "/closed/x"))
		}},
		"the ACL is refused": {run: func(t *testing.T, srv *zktest.Server, c *recipes.Client) error {
			_, err := zkrtest.Session(t, c).Create(t.Context(), "/x", nil, recipes.Persistent,
				[]recipes.ACL{{Perms: recipes.PermAll, Scheme: "digest", ID: "nonsense"}})
			return err
		}},
		"the connection breaks": {run: func(t *testing.T, srv *zktest.Server, c *recipes.Client) error {
			l := held(t, c)
			for range 3 {
				srv.Cut(l.Session().ID())
				require.NoError(t, l.Verify(t.Context()))
			}
			srv.Down()
			<-l.Done()
			_, err := mutex(t, c, "/x").Lock(zkrtest.Soon(t, T))
			require.NoError(t, srv.Up())
			require.ErrorIs(t, l.Err(), recipes.ErrLost)
			return fmt.Errorf("%w; %w", err, l.Err())
		}},
		"the session expires": {run: func(t *testing.T, srv *zktest.Server, c *recipes.Client) error {
			l := held(t, c)
			srv.ExpireSession(l.Session().ID())
			<-l.Done()
			held(t, c)
			return l.Err()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				var words said
				var more []recipes.Option
				if fact.more != nil {
					more = fact.more(srv)
				}
				c, err := recipes.Dial(zkrtest.Soon(t, T), srv.ConnectString(), words.options(srv, more...)...)
				if fact.run != nil {
					require.NoError(t, err)
					err = fact.run(t, srv, c)
					s := zkrtest.Session(t, c)
					c.Close()
					words.note(c)
					words.note(s)
				}
				require.Error(t, err)
				words.note(err)
				time.Sleep(time.Minute) // what is left of it ends
				require.Contains(t, words.String(), `"level":"DEBUG"`, "it has said something")
				words.requireNoSecret(t)
			})
		})
	}
}

// everyRecipe leaves at least one znode of each recipe.
func everyRecipe(t *testing.T, c *recipes.Client) {
	t.Helper()
	ctx := t.Context()
	lease := func(l *recipes.Lease, err error) {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Release(ctx) })
	}
	lease(mutex(t, c, "/app/mutex").Lock(ctx))
	rw, err := lock.NewRWMutex(c, "/app/rw")
	require.NoError(t, err)
	lease(rw.RLock(ctx))
	sem, err := lock.NewSemaphore(c, "/app/sem", 3)
	require.NoError(t, err)
	lease(sem.AcquireN(ctx, 2))
	multi, err := lock.NewMulti(c, []string{"/app/m1", "/app/m2"})
	require.NoError(t, err)
	lease(multi.Lock(ctx))
	e, err := election.New(c, "/app/election")
	require.NoError(t, err)
	_, err = e.Campaign(ctx)
	require.NoError(t, err)
	b, err := barrier.New(c, "/app/barrier")
	require.NoError(t, err)
	require.NoError(t, b.Set(ctx))
	d, err := barrier.NewDouble(c, "/app/double", 1)
	require.NoError(t, err)
	require.NoError(t, d.Enter(ctx))
	_, _, err = c.RaiseFenceBase(ctx, "/app/mutex", 1000)
	require.NoError(t, err)
}

// eachZnode calls fn with every znode below a path, and the path's own.
func eachZnode(srv *zktest.Server, at string, fn func(at string)) {
	fn(at)
	for _, child := range srv.Children(at) {
		eachZnode(srv, path.Join(at, child), fn)
	}
}

// CURATOR-714, for every znode there is.
func TestEveryZnodeOfEveryRecipeHasTheACLThatWasAskedFor(t *testing.T) {
	mine := recipes.DigestACL(recipes.PermAll, user, secret)
	guests := append(recipes.DigestACL(recipes.PermAll, user, secret), recipes.WorldACL(recipes.PermRead|recipes.PermCreate)...)
	for name, acl := range map[string]struct{ own, ownWant, parent, parentWant []recipes.ACL }{
		"CREATOR_ALL": {recipes.CreatorACL(recipes.PermAll), mine, recipes.CreatorACL(recipes.PermAll), mine},
		"custom":      {mine, mine, guests, guests},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv, recipes.WithAuth("digest", []byte(user+":"+secret)),
					recipes.WithACL(acl.own...), recipes.WithParentACL(acl.parent...))
				everyRecipe(t, c)
				s := zkrtest.Session(t, c)
				ephemerals := 0
				eachZnode(srv, "/app", func(at string) {
					got, err := s.ACL(t.Context(), at)
					require.NoError(t, err)
					stat, _, err := s.Exists(t.Context(), at)
					require.NoError(t, err)
					want := acl.parentWant
					if stat.EphemeralOwner != 0 {
						want = acl.ownWant
						ephemerals++
					}
					require.Equal(t, want, got, at)
				})
				require.GreaterOrEqual(t, ephemerals, 8)
			})
		})
	}
}

// The servers ask the parent's ACL whether a child may be deleted: that of the
// child protects its data alone.
func TestTheDirectorysACLSaysWhoMayTakeALockAway(t *testing.T) {
	mine := recipes.CreatorACL(recipes.PermAll)
	for name, fact := range map[string]struct {
		parent []recipes.ACL
		want   error
	}{
		"open to everybody": {recipes.WorldACL(recipes.PermAll), nil},
		"CREATOR_ALL":       {mine, recipes.ErrNoAuth},
	} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				l := held(t, zkrtest.Dial(t, srv, recipes.WithAuth("digest", []byte(user+":"+secret)),
					recipes.WithACL(mine...), recipes.WithParentACL(fact.parent...)))
				stranger := zkrtest.Session(t, zkrtest.Dial(t, srv))
				require.ErrorIs(t, stranger.Delete(t.Context(), l.Node(), -1), fact.want)
				if fact.want != nil {
					require.NoError(t, l.Verify(t.Context()))
					_, _, err := stranger.Children(t.Context(), "/x")
					require.ErrorIs(t, err, fact.want)
					return
				}
				zkrtest.Ended(t, l, 0)
				require.ErrorIs(t, l.Err(), recipes.ErrLost)
			})
		})
	}
}

// Whoever may create can put a name with a number of its choice in front of the
// queue. It keeps others waiting, and never makes two hold.
func TestForgedPlaceInFrontKeepsOthersWaitingAndNoMore(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		a, b := zkrtest.Dial(t, srv), zkrtest.Dial(t, srv)
		first := held(t, a)
		require.NoError(t, first.Release(t.Context()))
		l := held(t, a) // its number is greater than 0
		waiting := zkrtest.Go(func() (*recipes.Lease, error) { return mutex(t, b, "/x").Lock(t.Context()) })
		zkrtest.Pending(t, waiting)

		const forged = "/x/lock-0000000000"
		require.NoError(t, srv.Create(forged, nil))
		time.Sleep(3 * T)
		require.NoError(t, l.Verify(t.Context()))
		require.NoError(t, l.Release(t.Context()))
		time.Sleep(3 * T)
		zkrtest.Pending(t, waiting)
		require.NoError(t, srv.Delete(forged))
		require.Greater(t, zkrtest.Granted(t, waiting, 0).Token(), l.Token())
	})
}

// The session of the holder is stolen, and its znode made anew in there: it
// belongs to the right session, and somebody else may have held since.
func TestHoldersZnodeThatWasMadeAnewInItsOwnSessionIsNotItsOwn(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		l := held(t, zkrtest.Dial(t, srv))
		_, err := l.Session().Multi(t.Context(),
			recipes.DeleteOp(l.Node(), -1), recipes.CreateOp(l.Node(), nil, recipes.Ephemeral, nil))
		require.NoError(t, err)
		zkrtest.Ended(t, l, 0)
		require.ErrorIs(t, l.Err(), recipes.ErrLost)
	})
}
