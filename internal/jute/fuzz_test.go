package jute_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/zkrecipes/zkrecipes/internal/jute"
)

// FuzzRecords decodes arbitrary bytes as every kind of record. Whatever
// decodes must encode to something that decodes to the same again.
func FuzzRecords(f *testing.F) {
	for i, r := range records() {
		f.Add(byte(i), Marshal(r))
	}
	f.Add(byte(8), []byte("\x7f\xff\xff\xff"))
	f.Add(byte(28), []byte("\x00\x00\x00\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, kind byte, in []byte) {
		all := records()
		r := blank(all[int(kind)%len(all)])
		if _, err := Unmarshal(in, r); err != nil {
			return
		}
		again := blank(r)
		rest, err := Unmarshal(Marshal(r), again)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, r, again)
	})
}

// FuzzReadFrame feeds arbitrary bytes as a stream of frames.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x05hello\x00\x00\x00\x00"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		for {
			b, err := ReadFrame(r, 64)
			if err != nil {
				return
			}
			require.LessOrEqual(t, len(b), 64)
		}
	})
}
