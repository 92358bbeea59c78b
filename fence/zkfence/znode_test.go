package zkfence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/zkfence"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const path = "/config/report"

func guard(t testing.TB, c *recipes.Client) *zkfence.Znode {
	t.Helper()
	z, err := zkfence.New(c, path)
	require.NoError(t, err)
	return z
}

func set(text string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(text), nil }
}

func token(n fence.Token) fence.Stamp { return fence.Stamp{Token: n} }

func raw(t testing.TB, srv *zktest.Server) string {
	t.Helper()
	z, ok := srv.Get(path)
	require.True(t, ok)
	return string(z.Data)
}

func TestStaleWriteLeavesTheZnodeAsItIs(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		z := guard(t, zkrtest.Dial(t, srv))
		require.NoError(t, z.Update(t.Context(), fence.Stamp{Token: 34, Seq: 2}, set("final")))
		for _, offered := range []fence.Stamp{{Token: 33}, {Token: 33, Seq: 9}, {Token: 34, Seq: 2}, {Token: 34, Seq: 1}} {
			err := z.Update(t.Context(), offered, func([]byte) ([]byte, error) {
				panic("a refused change is not called")
			})
			var stale *fence.StaleError
			require.ErrorAs(t, err, &stale)
			require.Equal(t, fence.StaleError{Resource: path, Offered: offered, Standing: fence.Stamp{Token: 34, Seq: 2}}, *stale)
		}
		require.ErrorIs(t, z.Update(t.Context(), fence.Stamp{}, set("")), fence.ErrNoToken)
		require.Equal(t, "zkrecipes-znode-1 34 2\nfinal", raw(t, srv))
		data, stamp, err := z.Contents(t.Context())
		require.NoError(t, err)
		require.Equal(t, "final", string(data))
		require.Equal(t, fence.Stamp{Token: 34, Seq: 2}, stamp)
	})
}

func TestFailedChangeInstallsNothing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		z := guard(t, zkrtest.Dial(t, srv))
		broken := errors.New("no data")
		require.ErrorIs(t, z.Update(t.Context(), token(34), func([]byte) ([]byte, error) { return nil, broken }), broken)
		_, ok := srv.Get(path)
		require.False(t, ok)
		require.NoError(t, z.Update(t.Context(), token(33), set("draft")))
	})
}

func TestInstallKeepsTheContentsAndWakesNobodyTwice(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		z := guard(t, zkrtest.Dial(t, srv))
		require.NoError(t, z.Update(t.Context(), token(33), set("draft")))
		for range 3 {
			require.NoError(t, z.Install(t.Context(), 34))
		}
		require.ErrorIs(t, z.Install(t.Context(), 33), fence.ErrStale)
		require.Equal(t, "zkrecipes-znode-1 34 0\ndraft", raw(t, srv))
		node, _ := srv.Get(path)
		require.EqualValues(t, 1, node.Stat.Version, "one write of the three")
	})
}

// A server that lags shows a token as standing that has been overtaken.
func TestInstallOfWhatStandsIsCommitted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		lagging, fresh := srv.Member(1), srv.Member(0)
		behind := guard(t, zkrtest.DialBy(t, srv, lagging.Addr()))
		ahead := guard(t, zkrtest.DialBy(t, srv, fresh.Addr()))
		require.NoError(t, behind.Install(t.Context(), 33))
		lagging.SetLag(time.Second)
		require.NoError(t, ahead.Install(t.Context(), 34))
		require.ErrorIs(t, behind.Install(t.Context(), 33), fence.ErrStale)
		require.NoError(t, ahead.Install(t.Context(), 35))
		err := behind.Read(t.Context(), 34, func(context.Context) error { panic("an overtaken reader looks at nothing") })
		require.ErrorIs(t, err, fence.ErrStale)
	}, zktest.WithFollowers(2))
}

func TestReadersAreCheckedAndNeverStand(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		z := guard(t, zkrtest.Dial(t, srv))
		require.NoError(t, z.Update(t.Context(), token(34), set("final")))
		var seen string
		look := func(ctx context.Context) error {
			c := zkfence.ContentsFrom(ctx)
			seen = string(*c)
			*c = []byte("scribble")
			return nil
		}
		require.NoError(t, z.Read(t.Context(), 36, look))
		require.Equal(t, "final", seen)
		require.ErrorIs(t, z.Read(t.Context(), 33, look), fence.ErrStale)
		require.Equal(t, "zkrecipes-znode-1 34 0\nfinal", raw(t, srv))
		require.NoError(t, z.Write(t.Context(), token(35), func(ctx context.Context) error {
			*zkfence.ContentsFrom(ctx) = []byte("later")
			return nil
		}))
		require.Equal(t, "zkrecipes-znode-1 35 0\nlater", raw(t, srv))
		require.Nil(t, zkfence.ContentsFrom(t.Context()))
	})
}

// A way around the guard is found out, and what was there before is not taken
// for something that is fenced.
func TestDataWithoutAStampIsRefusedUntilItIsAdopted(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		z := guard(t, zkrtest.Dial(t, srv))
		require.NoError(t, z.Adopt(t.Context()), "nothing to do")
		require.NoError(t, srv.Create("/config", nil))
		for _, data := range []string{"", "draft", "zkrecipes-znode-2 34 0\n"} {
			require.NoError(t, srv.Create(path, []byte(data)))
			require.ErrorIs(t, z.Update(t.Context(), token(34), set("final")), zkfence.ErrNoStamp)
			require.ErrorIs(t, z.Install(t.Context(), 34), zkfence.ErrNoStamp)
			require.ErrorIs(t, z.Read(t.Context(), 34, func(context.Context) error { return nil }), zkfence.ErrNoStamp)
			_, _, err := z.Contents(t.Context())
			require.ErrorIs(t, err, zkfence.ErrNoStamp)
			require.ErrorContains(t, err, path)
			require.Equal(t, data, raw(t, srv))

			srv.On(zktest.Match{Op: zktest.OpMulti, Path: path}).DropReply()
			for range 2 {
				require.NoError(t, z.Adopt(t.Context()))
				require.Equal(t, "zkrecipes-znode-1 0 0\n"+data, raw(t, srv))
			}
			require.NoError(t, z.Install(t.Context(), 34))
			require.NoError(t, z.Adopt(t.Context()))
			require.Equal(t, "zkrecipes-znode-1 34 0\n"+data, raw(t, srv))
			require.NoError(t, srv.Delete(path))
		}
	})
}

// 33 lost its lease; 34 holds, and nobody has heard of it yet. With its lease in
// the context 33 is refused even so. By its token alone it passes: that is what
// installing is for.
func TestWriteUnderALeaseEndsWithIt(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		z := guard(t, c)
		m, err := lock.NewMutex(c, "/locks/report", lock.WithGuards(z))
		require.NoError(t, err)
		err = m.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			require.Equal(t, "zkrecipes-znode-1 "+l.Token().String()+" 0\n", raw(t, srv), "installed at the grant")
			require.NoError(t, z.Update(ctx, token(l.Token()), set("draft")))
			require.NoError(t, srv.Delete(l.Node()))
			err := z.Update(ctx, token(l.Token()), set("late"))
			require.ErrorIs(t, err, recipes.ErrLost)
			require.Equal(t, "zkrecipes-znode-1 "+l.Token().String()+" 0\ndraft", raw(t, srv))
			require.NoError(t, z.Update(t.Context(), token(l.Token()), set("late")))
			return nil
		})
		require.ErrorIs(t, err, recipes.ErrLost)
	})
}

// The znode goes while the write is on its way: it commits with the check or not
// at all.
func TestLeaseIsCheckedInTheTransactionOfTheWrite(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		z := guard(t, c)
		m, err := lock.NewMutex(c, "/locks/report")
		require.NoError(t, err)
		require.NoError(t, z.Install(t.Context(), 1))
		err = m.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			srv.On(zktest.Match{Op: zktest.OpMulti, Path: path}).Call(func(zktest.Request) { require.NoError(t, srv.Delete(l.Node())) })
			return z.Update(ctx, token(l.Token()), set("late"))
		})
		require.ErrorIs(t, err, recipes.ErrLost)
		require.Equal(t, "zkrecipes-znode-1 1 0\n", raw(t, srv))
	})
}

// Another client's lease has another ensemble's paths, or another chroot's.
func TestLeaseOfAnotherClientIsNotMistakenForOurs(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		z := guard(t, zkrtest.Dial(t, srv))
		m, err := lock.NewMutex(zkrtest.DialBy(t, srv, srv.ConnectString()+"/app"), "/locks/report", lock.WithGuards(z))
		require.NoError(t, err)
		require.NoError(t, m.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
			return z.Update(ctx, token(l.Token()), set("final"))
		}))
		require.True(t, strings.HasSuffix(raw(t, srv), "\nfinal"))
		_, ok := srv.Get("/app" + path)
		require.False(t, ok)
	})
}

func TestWriteThatIsOvertakenOnItsWay(t *testing.T) {
	for name, exists := range map[string]bool{"set": true, "created": false} {
		t.Run(name, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				z, other := guard(t, zkrtest.Dial(t, srv)), guard(t, zkrtest.Dial(t, srv))
				if exists {
					require.NoError(t, z.Install(t.Context(), 1))
				}
				onWrite := zktest.Match{Op: zktest.OpMulti, Path: path}
				srv.On(onWrite).Call(func(zktest.Request) { require.NoError(t, other.Update(t.Context(), token(34), set("final"))) })
				calls := 0
				err := z.Update(t.Context(), token(33), func([]byte) ([]byte, error) { calls++; return []byte("late"), nil })
				require.ErrorIs(t, err, fence.ErrStale)
				require.Equal(t, 1, calls)
				require.Equal(t, "zkrecipes-znode-1 34 0\nfinal", raw(t, srv))

				// Of the same grant: nothing is lost of either.
				srv.On(onWrite).Call(func(zktest.Request) { require.NoError(t, other.Update(t.Context(), token(35), set("a"))) })
				require.NoError(t, z.Update(t.Context(), token(35), func(old []byte) ([]byte, error) { return append(old, 'b'), nil }))
				require.Equal(t, "zkrecipes-znode-1 35 0\nab", raw(t, srv))
			})
		})
	}
}

// Every request of a write is lost once, before and after it happened, and the
// write takes effect once.
func TestWriteWhoseAnswerIsLostTakesEffectOnce(t *testing.T) {
	for _, lose := range []func(*zktest.Hook) *zktest.Hook{(*zktest.Hook).DropReply, (*zktest.Hook).DropBeforeCommit} {
		for skip := range 6 {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				c := zkrtest.Dial(t, srv)
				z := guard(t, c)
				m, err := lock.NewMutex(c, "/locks/report", lock.WithGuards(z))
				require.NoError(t, err)
				require.NoError(t, m.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
					lose(srv.On(zktest.Match{Path: path, Skip: skip})).Optional()
					for n := range 3 {
						require.NoError(t, z.Update(ctx, token(l.Token()), func(old []byte) ([]byte, error) {
							return fmt.Append(old, n), nil
						}))
					}
					return nil
				}))
				require.True(t, strings.HasSuffix(raw(t, srv), "\n012"), "lost after %d: %s", skip, raw(t, srv))
			})
		}
	}
}

func TestUnknownOutcomeIsSaid(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		z := guard(t, c)
		require.NoError(t, z.Install(t.Context(), 1))
		onWrite := zktest.Match{Op: zktest.OpMulti, Path: path}
		srv.On(onWrite).WithholdReply()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := z.Update(ctx, token(33), set("draft"))
		require.ErrorIs(t, err, fence.ErrOutcomeUnknown)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "zkrecipes-znode-1 33 0\ndraft", raw(t, srv))

		// The answer is lost, and somebody writes before we can look.
		other := guard(t, zkrtest.Dial(t, srv))
		srv.On(onWrite).DropReply()
		srv.On(zktest.Match{Op: zktest.OpMulti, Path: "/", Session: zkrtest.Session(t, c).ID()}).Call(func(zktest.Request) {
			require.NoError(t, other.Update(t.Context(), token(34), set("final")))
		})
		require.ErrorIs(t, z.Update(t.Context(), token(33), set("late")), fence.ErrOutcomeUnknown)
		require.Equal(t, "zkrecipes-znode-1 34 0\nfinal", raw(t, srv))
	})
}

func TestWriteGoesOnInTheNextSession(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		z := guard(t, c)
		require.NoError(t, z.Install(t.Context(), 1))
		first := zkrtest.Session(t, c).ID()
		srv.On(zktest.Match{Op: zktest.OpGetData, Path: path}).Call(func(zktest.Request) { srv.ExpireSession(first) })
		require.NoError(t, z.Update(t.Context(), token(33), set("draft")))
		require.NotEqual(t, first, zkrtest.Session(t, c).ID())
		c.Close()
		require.ErrorIs(t, z.Update(t.Context(), token(33), set("late")), recipes.ErrClosed)
	})
}

func TestRefusalsOfTheServersAreSaid(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		_, err := zkrtest.Session(t, c).Create(t.Context(), "/config", nil, recipes.Persistent, recipes.WorldACL(recipes.PermRead))
		require.NoError(t, err)
		z := guard(t, c)
		require.ErrorIs(t, z.Install(t.Context(), 34), recipes.ErrNoAuth)
		require.NoError(t, srv.Create(path, zkfence.Encode(fence.Stamp{}, nil)))
		require.ErrorIs(t, z.Update(t.Context(), token(34), set(strings.Repeat("x", 2<<20))), recipes.ErrTooLarge)
		require.NoError(t, z.Install(t.Context(), 34))

		_, err = zkfence.New(nil, path)
		require.Error(t, err)
		for _, bad := range []string{"", "x", "/", "/x/"} {
			_, err = zkfence.New(c, bad)
			require.Error(t, err)
		}
	})
}

// Writers that lose their leases without knowing, connections and sessions that
// break: what the znode holds never goes back.
func TestStormLeavesNoStaleEffect(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		var mu sync.Mutex
		written, refused := 0, 0
		count := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				written++
			case errors.Is(err, fence.ErrStale), errors.Is(err, recipes.ErrLost), errors.Is(err, context.Canceled):
				refused++
			case !errors.Is(err, fence.ErrOutcomeUnknown):
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		for range 8 {
			c := zkrtest.Dial(t, srv)
			z := guard(t, c)
			m, err := lock.NewMutex(c, "/locks/report", lock.WithGuards(z))
			require.NoError(t, err)
			wg.Go(func() {
				for i := range 25 {
					_ = m.Do(t.Context(), func(ctx context.Context, l *recipes.Lease) error {
						if i%2 == 0 {
							ctx = t.Context() // by the token alone
						}
						for range 3 {
							count(z.Update(ctx, token(l.Token()), func(old []byte) ([]byte, error) {
								return fmt.Appendf(old, "%d ", l.Token()), nil
							}))
							switch rand.IntN(12) {
							case 0:
								srv.ExpireSession(l.Session().ID())
							case 1:
								_ = srv.Delete(l.Node())
							case 2:
								srv.Cut(l.Session().ID())
							}
							time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
						}
						return nil
					})
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		_, data, err := zkfence.Decode([]byte(raw(t, srv)))
		require.NoError(t, err)
		var last fence.Token
		effects := strings.Fields(string(data))
		for _, f := range effects {
			n, err := strconv.ParseInt(f, 10, 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, fence.Token(n), last)
			last = fence.Token(n)
		}
		require.GreaterOrEqual(t, len(effects), written)
		require.Positive(t, refused)
		t.Logf("%d writes took effect, %d were refused", len(effects), refused)
	})
}

// A client's chroot is made as other recipes make it.
func TestZnodeRightBelowAChrootThatIsMissing(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		z, err := zkfence.New(zkrtest.DialBy(t, srv, srv.ConnectString()+"/app/one"), "/report")
		require.NoError(t, err)
		require.NoError(t, z.Update(t.Context(), token(33), set("final")))
		kept, ok := srv.Get("/app/one/report")
		require.True(t, ok)
		require.Equal(t, "zkrecipes-znode-1 33 0\nfinal", string(kept.Data))
	})
}
