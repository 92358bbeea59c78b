package zktest_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func word(t *testing.T, s *zktest.Server, member int, w string) string {
	t.Helper()
	conn := dial(t, s, member)
	_, err := conn.Write([]byte(w))
	require.NoError(t, err)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(answer)
}

func TestFourLetterWords(t *testing.T) {
	s := zktest.Start(t)
	c := open(t, s)
	require.Equal(t, jute.OK, c.do(jute.OpGetData, watching("/"), &jute.DataReply{}))
	c.create("/e", jute.ModeEphemeral)

	require.Equal(t, "imok", word(t, s, 0, "ruok"))
	srvr := word(t, s, 0, "srvr")
	require.Regexp(t, `(?s)^Zookeeper version: 3\.8\..*\nLatency min/avg/max: .*\nReceived: \d+\nSent: \d+\nConnections: \d\nOutstanding: 0\nZxid: 0x2\nMode: standalone\nNode count: 6\n$`, srvr)
	require.Contains(t, word(t, s, 0, "stat"), c.conn.LocalAddr().String())
	require.Regexp(t, `,sid=0x[0-9a-f]+,lop=CREA,est=\d+,to=10000,lcxid=0x2,lzxid=0x2,`, word(t, s, 0, "cons"))
	mntr := word(t, s, 0, "mntr")
	for _, line := range []string{"zk_server_state\tstandalone\n", "zk_ephemerals_count\t1\n", "zk_watch_count\t1\n", "zk_znode_count\t6\n"} {
		require.Contains(t, mntr, line)
	}
	require.Equal(t, "1 connections watching 1 paths\nTotal watches:1\n", word(t, s, 0, "wchs"))
}

func TestFourLetterWordsTellWhoLeads(t *testing.T) {
	s := zktest.Start(t, zktest.WithFollowers(1))
	require.Contains(t, word(t, s, 0, "srvr"), "Mode: leader")
	require.Contains(t, word(t, s, 1, "srvr"), "Mode: follower")
	require.Contains(t, word(t, s, 0, "mntr"), "zk_synced_followers\t1")
}
