package recipes_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What CheckPath lets through a server takes for a path, and what it refuses the
// server refuses too: nothing is sent in vain, and nothing is forbidden that works.
func FuzzCheckPath(f *testing.F) {
	for path := range badPaths {
		f.Add(path)
	}
	for _, path := range []string{"/", "/a/b", "/\U0001F600", "/\u202e", "/\uffef", "/\ufff0", "/\U0010ffff", "/a\\b", "/zookeeper/quota"} {
		f.Add(path)
	}
	srv := zktest.Start(f, zktest.WithInMemory())
	f.Fuzz(func(t *testing.T, path string) {
		err := recipes.CheckPath(path)
		if bad := (*recipes.PathError)(nil); err != nil {
			require.ErrorAs(t, err, &bad)
		}
		refused := errors.Is(srv.SetData(path, nil), zktest.BadArguments)
		require.Equal(t, refused, err != nil, "%q: %v", path, err)
		if refused || path == "/" {
			require.Error(t, recipes.CheckDir(path))
		}
	})
}

// Whatever stands in a connect string, it is refused, or each of its servers can be
// dialed and its chroot can be put before a path.
func FuzzConnectString(f *testing.F) {
	for _, connect := range []string{"a", "a:1,b:2/c", "[::1]:2181,::1", "[", "[]", "[]:1", "]:2", " a , b ", "a:1/", "a/b//", "a:", ":1", "%:0", "[a%b]", "\x00", "0[", "a]"} {
		f.Add(connect)
	}
	f.Fuzz(func(t *testing.T, connect string) {
		servers, chroot, err := recipes.ParseConnect(connect)
		if err != nil {
			return
		}
		require.Len(t, servers, 1+strings.Count(strings.SplitN(connect, "/", 2)[0], ","))
		for _, addr := range servers {
			host, port, err := net.SplitHostPort(addr)
			require.NoError(t, err)
			require.NotEmpty(t, host, "%q", addr)
			require.NotEmpty(t, port, "%q", addr)
		}
		require.NoError(t, recipes.CheckPath(chroot+"/x"))
	})
}
