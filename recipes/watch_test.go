package recipes_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestWatchesAreArmedHoweverShortThePath(t *testing.T) {
	for _, path := range []string{"/", "/e", "/ab", "/a/b/c"} {
		t.Run(path, func(t *testing.T) {
			zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
				s := zkrtest.Session(t, zkrtest.Dial(t, srv))
				child := path + "/child"
				if path == "/" {
					child = "/child"
				} else {
					require.NoError(t, s.MakePersistent(t.Context(), path, nil))
				}
				_, _, w, err := s.ChildrenWatch(t.Context(), path)
				require.NoError(t, err)
				defer w.Stop()
				require.NoError(t, srv.Create(child, nil))
				synctest.Wait()
				select {
				case <-w.C:
				default:
					t.Fatal("not woken")
				}
			})
		})
	}
}
