package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func TestShortenCountsWhatIsSeen(t *testing.T) {
	require.Equal(t, "abc…", shorten("abcdef", 4))
	require.Equal(t, "äbcd", shorten("äbcd", 4))
}

// Whatever a name, an identity, a path or the words of a server's answer are, no
// command does anything to a terminal by showing them.
func FuzzNothingReachesATerminalAsItIs(f *testing.F) {
	for _, seed := range []string{"", "host/1", "\x1b]0;x\a", "\u009b", "\xff\xfe", "\u202e", "a\n\x00b\tc", "\U0001f600", "a/b", "leases", "__REVOKE__"} {
		f.Add(seed, seed, seed)
	}
	out, err := os.Create(filepath.Join(f.TempDir(), "terminal"))
	require.NoError(f, err)
	defer out.Close()
	f.Fuzz(func(t *testing.T, name, identity, words string) {
		now := time.Unix(1000, 0)
		holder := recipes.Contender{Path: "/locks/" + name, Kind: recipes.Kind(words), Naming: recipes.NamingOther, Holds: true, Identity: identity, Token: 7, Created: now}
		waiter := holder
		waiter.Holds, waiter.Position = false, 1
		s := &site{
			path: "/" + words, kind: "mutex", holding: 1, waiting: 2, strangers: []string{name},
			places: []queue.Place{{Contender: holder}, {Contender: waiter, Behind: "/x/" + identity}},
		}
		require.NoError(t, out.Truncate(0))
		_, err := out.Seek(0, io.SeekStart)
		require.NoError(t, err)
		e := env{stdout: out, stderr: out}
		require.NoError(t, printQueue(out, s, now, 0, true))
		for _, json := range []bool{false, true} {
			require.NoError(t, (&lister{env: e, json: json}).print(s))
			lines := &lineView{out: out, path: s.path, json: json}
			require.NoError(t, lines.site(s))
			require.NoError(t, lines.outage())
			(&findings{env: e, json: json}).fault(words, "latency", "%s", words)
		}
		shown, err := os.ReadFile(out.Name())
		require.NoError(t, err)
		requireHarmless(t, strings.ReplaceAll(string(shown)+plainLines(words), "\n", ""))
	})
}

// requireHarmless says on its own what a terminal takes for text.
func requireHarmless(t *testing.T, shown string) {
	t.Helper()
	require.True(t, utf8.ValidString(shown))
	for _, r := range shown {
		require.False(t, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs), "%U", r)
	}
}

func TestQueueFitsAnEightyColumnTerminalAndStillTellsTheNamesInFull(t *testing.T) {
	s := &site{path: "/locks/report", kind: "mutex", holding: 1, waiting: 1}
	for i := range 2 {
		s.places = append(s.places, queue.Place{Contender: recipes.Contender{
			Path:     fmt.Sprintf("/locks/report/_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-lock-%010d", i),
			Identity: strings.Repeat("a-long-identity-", 9), Session: 0x1a22f8af7dd0000, Token: 0xc00000a17, Holds: i == 0,
		}})
	}
	for _, columns := range []int{0, 60, 80, 120, 200} {
		for _, names := range []bool{true, false} {
			var out strings.Builder
			require.NoError(t, printQueue(&out, s, time.Unix(1<<31, 0), columns, names))
			if columns > 60 {
				require.LessOrEqual(t, widest(strings.Split(out.String(), "\n")), columns)
			}
			require.Contains(t, out.String(), "a-long-")
			told := strings.Contains(out.String(), "_c_2c55addc-f2c2-4cd2-89c2-6fbf32ffce31-lock-0000000001")
			require.Equal(t, names || columns == 0 || columns == 200, told)
		}
	}
}
