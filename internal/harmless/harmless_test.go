package harmless_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/harmless"
)

func TestLineShowsWhatWouldDoSomething(t *testing.T) {
	for text, want := range map[string]string{
		"host/4711 über 東京": "host/4711 über 東京",
		"\x1b[2J":           `\x1b[2J`,
		"a\nb\r":            `a\nb\r`,
		"\u009b31m":         `\u009b31m`,
		"\x9b31m":           `\x9b31m`,
		"\u202egnp":         `\u202egnp`,
		"\u200b":            `\u200b`,
		"\U000e0001":        `\U000e0001`,
		"\ufffd":            "\ufffd",
		"\xff":              `\xff`,
	} {
		require.Equal(t, want, harmless.Line(text))
	}
	require.Equal(t, `one\x1b`+"\ntwo", harmless.Lines("one\x1b\ntwo"))
}

func FuzzNothingIsShownThatDoesSomething(f *testing.F) {
	for _, seed := range []string{"", "host/1", "\x1b]0;x\a", "\u009b", "\xff\xfe", "\u202e", "a\n\x00b", "\U0001f600", `\x1b`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown := harmless.Line(text)
		requireHarmless(t, shown)
		require.Equal(t, shown, harmless.Line(shown), "what is harmless stays as it is")
		requireHarmless(t, strings.ReplaceAll(harmless.Lines(text), "\n", ""))

		line, err := harmless.JSON(text)
		require.NoError(t, err)
		requireHarmless(t, line)
		var back string
		require.NoError(t, json.Unmarshal([]byte(line), &back))
		if utf8.ValidString(text) {
			require.Equal(t, text, back, "JSON loses nothing")
		}
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
