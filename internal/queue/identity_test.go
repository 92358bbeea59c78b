package queue_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/queue"
)

func zipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// An identity is text of one line that does nothing to a terminal or a log, and
// of bounded length, whatever is stored, and whether or not it is compressed.
func FuzzIdentity(f *testing.F) {
	for _, data := range []string{"", "web-3/4711", "\x1b]0;x\a\r\n", "a\u202eb\u009b", "\xff\xfe", "\x1f\x8b", strings.Repeat("é", 4096), strings.Repeat("\xff", 5000), strings.Repeat("x", 1<<20)} {
		f.Add([]byte(data))
		f.Add(zipped([]byte(data)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, stored := range [][]byte{data, zipped(data)} {
			shown := queue.Identity(stored)
			if !utf8.ValidString(shown) {
				t.Fatalf("%q: no UTF-8", shown)
			}
			// A rune comes of one byte at least, and one more says that there was more.
			if n := utf8.RuneCountInString(shown); n > queue.MaxIdentity+1 {
				t.Fatalf("%d runes", n)
			}
			for _, r := range shown {
				if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) {
					t.Fatalf("%q: %U", shown, r)
				}
			}
		}
		if text := string(data); len(data) <= queue.MaxIdentity && !strings.HasPrefix(text, "\x1f\x8b") && printable(text) && queue.Identity(zipped(data)) != text {
			t.Fatalf("%q is shown as %q", text, queue.Identity(zipped(data)))
		}
	})
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
