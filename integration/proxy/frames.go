package proxy

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// OpAny stands for every request but pings.
const OpAny jute.Op = -1000

const (
	headerSize = 4 // a frame's length word
	// maxFrame is far above jute.maxbuffer. A four-letter word, read as a
	// length, is above it.
	maxFrame = 64 << 20
)

// frame is a message of the protocol with its length word. unframed tells that
// the stream is none of the protocol's.
type frame struct {
	data     []byte
	unframed bool
}

func readFrame(r io.Reader) (frame, error) {
	head := make([]byte, headerSize)
	n, err := io.ReadFull(r, head)
	if err != nil {
		return frame{data: head[:n], unframed: true}, eof(err)
	}
	size := binary.BigEndian.Uint32(head)
	if size > maxFrame {
		return frame{data: head, unframed: true}, nil
	}
	data := make([]byte, headerSize+int(size))
	copy(data, head)
	n, err = io.ReadFull(r, data[headerSize:])
	return frame{data: data[:headerSize+n]}, eof(err)
}

// eof turns an end in the middle of a frame into a plain end: what of the
// frame has arrived is forwarded, and then the end.
func eof(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return err
}

// word returns the frame's i-th 32-bit word after its length, 0 where it is
// too short.
func (f frame) word(i int) int32 {
	at := headerSize + 4*i
	if len(f.data) < at+4 {
		return 0
	}
	return int32(binary.BigEndian.Uint32(f.data[at:]))
}

// long returns the 64-bit number that begins at word i.
func (f frame) long(i int) int64 {
	return int64(f.word(i))<<32 | int64(uint32(f.word(i+1)))
}
