package fence_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
)

func TestTokenHasOneSpelling(t *testing.T) {
	for _, text := range []string{"", "0", "-1", "+7", "007", " 7", "7\n", "7.0", "0x7", "1_000", "９", "9223372036854775808"} {
		_, err := fence.ParseToken(text)
		require.ErrorContains(t, err, "is not a token", "%q", text)
	}
	token, err := fence.ParseToken("9223372036854775807")
	require.NoError(t, err)
	require.Equal(t, fence.Token(1<<63-1), token)
}

// What is accepted is what String writes and nothing else, and what is refused
// does not come back at length.
func FuzzParseToken(f *testing.F) {
	for _, text := range []string{"1", "34", "0", "+7", "007", "-1", "9223372036854775807", "9223372036854775808", "\x1b[2J", strings.Repeat("9", 1<<16)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := fence.ParseToken(text)
		if err != nil {
			require.Zero(t, token)
			require.Less(t, len(err.Error()), 512)
			return
		}
		require.Positive(t, token)
		require.Equal(t, text, token.String())
	})
}
