package filefence

import (
	"os"

	"github.com/zkrecipes/zkrecipes/fence"
)

// OnStep has fn called before each step of a replacement.
func OnStep(fn func(string)) { step = fn }

// OnFlush has fn called in place of each flush, until restore is called.
func OnFlush(fn func(*os.File) error) (restore func()) {
	flush = fn
	return func() { flush = (*os.File).Sync }
}

// Encode returns what a file with that stamp and those contents holds.
func Encode(s fence.Stamp, data []byte) []byte { return document{stamp: s, data: data}.encode() }

// Decode is the reverse of Encode.
func Decode(raw []byte) (fence.Stamp, []byte, error) {
	d, err := decode(raw)
	return d.stamp, d.data, err
}
