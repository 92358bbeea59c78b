package zkfence

import "github.com/zkrecipes/zkrecipes/fence"

// Encode returns what a znode with that stamp and those contents holds.
func Encode(s fence.Stamp, data []byte) []byte { return document{stamp: s, data: data}.encode() }

// Decode is the reverse of Encode.
func Decode(raw []byte) (fence.Stamp, []byte, error) {
	d, err := decode(raw)
	return d.stamp, d.data, err
}
