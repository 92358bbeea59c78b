package queue

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIdentity is how much of a contender's data is shown.
const maxIdentity = 4096

// identity is what a contender shows of itself: its data as text. Curator can
// be told to compress all data. Whoever may create a znode may store anything,
// so what would harm a terminal or a log is replaced, and length is bounded.
func identity(data []byte) string {
	text := data
	if plain, ok := gunzip(data); ok {
		text = plain
	}
	cut := len(text) > maxIdentity
	if cut {
		text = text[:maxIdentity]
	}
	shown := strings.Map(printable, strings.ToValidUTF8(string(text), string(utf8.RuneError)))
	if cut {
		shown += "…"
	}
	return shown
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return utf8.RuneError
}

// gunzip returns the beginning of what was compressed; ok is false where nothing
// was.
func gunzip(data []byte) (plain []byte, ok bool) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return nil, false
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, false
	}
	plain, err = io.ReadAll(io.LimitReader(r, maxIdentity+1))
	return plain, err == nil
}
