package zkserver_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// eachProvider runs a test on both kinds of servers, in both versions.
func eachProvider(t *testing.T, test func(*testing.T, zkserver.Config)) {
	for _, provider := range []zkserver.Provider{zkserver.Local, zkserver.Docker} {
		for _, version := range []string{"3.8", "3.9"} {
			t.Run(string(provider)+" "+version, func(t *testing.T) {
				test(t, zkserver.Config{Provider: provider, Version: version})
			})
		}
	}
}

func TestServerServesTheVersionAskedFor(t *testing.T) {
	eachProvider(t, func(t *testing.T, cfg zkserver.Config) {
		s := start(t, cfg).Servers[0]
		create(t, dial(t, 4*time.Second, s.Addr()), "/node")
		answer, err := s.Word(within(t), "srvr")
		require.NoError(t, err)
		require.Contains(t, answer, "Zookeeper version: "+cfg.Version+".")
		mode, err := s.Mode(within(t))
		require.NoError(t, err)
		require.Equal(t, zkserver.Standalone, mode)
	})
}

func TestKilledServerKeepsItsDataAndWipedOneDoesNot(t *testing.T) {
	eachProvider(t, func(t *testing.T, cfg zkserver.Config) {
		e := start(t, cfg)
		s := e.Servers[0]
		create(t, dial(t, 4*time.Second, s.Addr()), "/kept")

		require.NoError(t, s.Kill())
		require.False(t, s.Running())
		_, err := net.Dial("tcp", s.Addr())
		require.ErrorIs(t, err, syscall.ECONNREFUSED, "the proxy refuses as the server would")
		require.NoError(t, s.Kill(), "killing twice is no error")
		require.NoError(t, s.Restart(within(t)))
		require.True(t, exists(t, s, "/kept"))

		require.NoError(t, e.Wipe(within(t)))
		require.False(t, exists(t, s, "/kept"))
	})
}

func TestDataOnDiskIsForcedAndKept(t *testing.T) {
	s := start(t, zkserver.Config{Storage: zkserver.Disk}).Servers[0]
	config, err := os.ReadFile(filepath.Join(filepath.Dir(s.DataDir()), "zoo.cfg"))
	require.NoError(t, err)
	require.NotContains(t, string(config), "forceSync=no")
	create(t, dial(t, 4*time.Second, s.Addr()), "/kept")
	require.NoError(t, s.Restart(within(t)))
	require.True(t, exists(t, s, "/kept"))
}

func TestFrozenServerAnswersNobodyUntilThawed(t *testing.T) {
	eachProvider(t, func(t *testing.T, cfg zkserver.Config) {
		s := start(t, cfg).Servers[0]
		conn := dial(t, 20*time.Second, s.Addr())
		require.NoError(t, s.Freeze())
		require.True(t, s.Running())

		answered := make(chan error, 1)
		go func() {
			_, err := conn.Create("/late", nil, 0, zk.WorldACL(zk.PermAll))
			answered <- err
		}()
		_, err := s.Mode(within(t))
		require.Error(t, err, "a four-letter word is not answered")
		require.Empty(t, answered)

		require.NoError(t, s.Thaw())
		require.NoError(t, <-answered)

		require.NoError(t, s.Freeze())
		require.NoError(t, s.Kill(), "a frozen server can be killed")
		require.NoError(t, s.Restart(within(t)))
		require.True(t, exists(t, s, "/late"))
	})
}

func TestRestartTakesOtherSettings(t *testing.T) {
	e := start(t, zkserver.Config{})
	s := e.Servers[0]
	create(t, dial(t, 4*time.Second, s.Addr()), "/kept")
	s.Configure(func(c *zkserver.Config) {
		c.Tick = 300 * time.Millisecond
		c.Settings["minSessionTimeout"] = "1700"
		c.JVM = append(c.JVM, "-Djute.maxbuffer=2000")
	})
	require.NoError(t, s.Restart(within(t)))

	answer, err := s.Word(within(t), "conf")
	require.NoError(t, err)
	require.Contains(t, answer, "tickTime=300\n")
	require.Contains(t, answer, "minSessionTimeout=1700\n")
	conn := dial(t, 4*time.Second, s.Addr())
	exists, _, err := conn.Exists("/kept")
	require.NoError(t, err)
	require.True(t, exists)
	_, err = conn.Set("/kept", []byte(strings.Repeat("x", 3000)), -1)
	require.Error(t, err, "jute.maxbuffer is the JVM's")
}

// TLS needs Netty, whose jars are not among ZooKeeper's own.
func TestServerRunsOnNetty(t *testing.T) {
	eachProvider(t, func(t *testing.T, cfg zkserver.Config) {
		cfg.JVM = []string{"-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory"}
		s := start(t, cfg).Servers[0]
		create(t, dial(t, 4*time.Second, s.Addr()), "/node")
		require.Contains(t, s.LogTail(1000), "NettyServerCnxnFactory")
	})
}

func TestServerThatCannotStartSaysWhy(t *testing.T) {
	e := start(t, zkserver.Config{})
	s := e.Servers[0]
	s.Configure(func(c *zkserver.Config) { c.Settings["syncLimit"] = "not a number" })
	err := s.Restart(within(t))
	require.ErrorContains(t, err, "server 1 does not run")
	require.ErrorContains(t, err, "not a number")
}

func TestMetricsAreNumbersByName(t *testing.T) {
	e := zkserver.Shared(t)
	m, err := e.Servers[0].Metrics(within(t))
	require.NoError(t, err)
	require.Positive(t, m["zk_packets_received"])
	require.Contains(t, m, "zk_ephemerals_count")
}

func TestSharedServerIsStartedOnce(t *testing.T) {
	require.Same(t, zkserver.Shared(t), zkserver.Shared(t))
}
