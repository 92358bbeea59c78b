package recipes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

var badPaths = map[string]string{ // and what the error says
	"":               "empty",
	"a/b":            "start with a slash",
	"a":              "start with a slash",
	"/a/":            "ends in a slash",
	"//":             "ends in a slash",
	"/a//b":          "empty element",
	"//a":            "empty element",
	"/a/./b":         "element .",
	"/a/../b":        "element ..",
	"/..":            "element ..",
	"/a\x00b":        "U+0000",
	"/a\x1fb":        "U+001F",
	"/a\u0085b":      "U+0085",
	"/a\ue000b":      "U+E000",
	"/a\ufffdb":      "U+FFFD",
	"/a\xffb":        "UTF-8",
	"/a\xed\xa0\x80": "UTF-8",
}

// CURATOR-136, samuel/go-zookeeper e6b59f6, 8ac67fa, kazoo#261
func TestBadPathIsRefusedWithTheRuleThatItBreaks(t *testing.T) {
	for path, rule := range badPaths {
		err := recipes.CheckPath(path)
		var bad *recipes.PathError
		require.ErrorAs(t, err, &bad, "%q", path)
		require.Equal(t, path, bad.Path)
		require.ErrorContains(t, err, rule, "%q", path)
	}
	for _, path := range []string{"/", "/a", "/a/b", "/.a", "/...", "/a b", "/ä/日本", "/a.b/..c"} {
		require.NoError(t, recipes.CheckPath(path), "%q", path)
	}
	require.Error(t, recipes.CheckDir("/"))
}

func TestBadPathIsRefusedBeforeItIsSent(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		s := zkrtest.Session(t, c)
		for path := range badPaths {
			var bad *recipes.PathError
			_, err := lock.NewMutex(c, path)
			require.ErrorAs(t, err, &bad, "%q", path)
			_, _, err = s.Get(t.Context(), path)
			require.ErrorAs(t, err, &bad, "%q", path)
			_, err = s.Create(t.Context(), path, nil, recipes.Persistent, nil)
			require.ErrorAs(t, err, &bad, "%q", path)
			_, err = s.Multi(t.Context(), recipes.CheckOp(path, -1))
			require.ErrorAs(t, err, &bad, "%q", path)
		}
		_, err := lock.NewMutex(c, "/")
		require.Error(t, err)
		require.Zero(t, srv.Requests(0, s.ID()))
	})
}

func TestConnectStringOfNoUseIsRefused(t *testing.T) {
	for connect, rule := range map[string]string{
		"":            "at least one host",
		",":           "at least one host",
		"a:1,,b:2":    "no empty ones",
		"a:1/":        "", // no chroot
		"a:1/x/":      "ends in a slash",
		"a:1/x//y":    "empty element",
		"a:":          "host:port",
		":2181":       "host:port",
		"a:b:c":       "too many colons",
		"/chroot":     "at least one host",
		"a:1/../b":    "element ..",
		"[::1]:2181":  "",
		"a, b:2181/x": "",
	} {
		_, err := recipes.Dial(cancelled(t), connect)
		require.Error(t, err)
		if rule != "" {
			require.ErrorContains(t, err, rule, "%q", connect)
			require.ErrorContains(t, err, "connect string", "%q", connect)
		} else {
			require.ErrorIs(t, err, recipes.ErrNotConnected, "%q", connect)
		}
	}
}

// A chroot is put before every path, and made where it is missing.
func TestChrootIsWhereEverythingHappens(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.DialBy(t, srv, srv.ConnectString()+"/app/eu")
		m, err := lock.NewMutex(c, "/locks/x")
		require.NoError(t, err)
		l, err := m.Lock(t.Context())
		require.NoError(t, err)
		require.Len(t, srv.Children("/app/eu/locks/x"), 1)
		require.Contains(t, l.Node(), "/locks/x/_c_")
		require.NotContains(t, l.Node(), "/app")
		z, ok := srv.Get("/app/eu")
		require.True(t, ok)
		require.False(t, z.Container, "a chroot is to stay")
		q, err := m.Queue(t.Context())
		require.NoError(t, err)
		require.Equal(t, l.Node(), q[0].Path)
		_, err = l.Txn(t.Context(), recipes.CreateOp("/data", nil, recipes.Persistent, nil))
		require.NoError(t, err)
		_, ok = srv.Get("/app/eu/data")
		require.True(t, ok)
		require.NoError(t, l.Release(t.Context()))
		require.Empty(t, srv.Children("/app/eu/locks/x"))
	})
}
