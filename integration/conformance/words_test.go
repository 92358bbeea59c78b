package conformance_test

import (
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

var (
	number  = regexp.MustCompile(`0x[0-9a-f]+|-?\d+(\.\d+)?`)
	release = regexp.MustCompile(`version: .*`)
)

// word says a four-letter word and returns the answer.
func (s *script) word(word string) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addrs[0])
	require.NoError(s.t, err)
	defer conn.Close()
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, word)
	require.NoError(s.t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(s.t, err)
	return string(answer)
}

// shape leaves out all numbers, and the version.
func shape(answer string) string {
	return number.ReplaceAllString(release.ReplaceAllString(answer, "version"), "#")
}

func TestFourLetterWordsAreAnsweredInTheSameShape(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModePersistent).ok()
		a.watchData("/x").ok()
		a.watchList("/x").ok()
		for _, word := range []string{"ruok", "srvr", "wchs"} {
			s.note("%s", shape(s.word(word)))
		}
		require.Equal(s.t, "imok", s.word("ruok"))
		require.Contains(s.t, s.word("srvr"), "Mode: standalone\n")
	})
}

func TestConnectionsAreListedInTheSameShape(t *testing.T) {
	onAll(t, func(s *script) {
		a := s.open("a")
		a.make("/x", jute.ModeEphemeral).ok()
		for line := range strings.Lines(s.word("cons")) {
			if strings.Contains(line, "lop=CREA") { // others may be on their way out
				s.note("cons: %q", shape(line))
			}
		}
		seen := map[string]bool{}
		for line := range strings.Lines(s.word("stat")) {
			if shaped := shape(line); !seen[shaped] {
				seen[shaped] = true
				s.note("stat: %q", shaped)
			}
		}
	})
}

func TestMetricsHaveTheSameNames(t *testing.T) {
	names := func(s *script) map[string]bool {
		all := map[string]bool{}
		for line := range strings.Lines(s.word("mntr")) {
			name, _, _ := strings.Cut(line, "\t")
			all[name] = true
		}
		return all
	}
	var real map[string]bool
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := begin(t, k, []string{k.start(t, seldom)}, "/metrics")
			defer s.end()
			if real == nil {
				real = names(s)
			}
			for name := range names(s) {
				if !k.newer { // which has more
					require.Contains(t, real, name)
				}
			}
			for _, name := range []string{
				"zk_version", "zk_server_state", "zk_znode_count", "zk_ephemerals_count", "zk_watch_count",
				"zk_num_alive_connections", "zk_packets_received", "zk_packets_sent", "zk_approximate_data_size",
			} {
				require.Contains(t, names(s), name)
			}
		})
	}
}

func TestUnknownWordsAreNotAnswered(t *testing.T) {
	onAll(t, func(s *script) {
		for _, word := range []string{"what", "RUOK"} {
			require.Empty(s.t, s.word(word))
		}
	})
}
