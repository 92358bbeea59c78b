package jute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxBuffer is the greatest frame that ZooKeeper accepts unless jute.maxbuffer
// says otherwise.
const MaxBuffer = 0xfffff

// ReadFrame reads one frame of at most limit bytes. It returns ErrLength,
// wrapped, for a length that is negative or beyond the limit, and io.EOF only
// between frames. Memory grows with the bytes that arrive, not with the length
// that was announced.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	return ReadBody(r, head, limit)
}

// ReadBody reads the frame that follows the given length word.
func ReadBody(r io.Reader, head [4]byte, limit int) ([]byte, error) {
	n := int(int32(binary.BigEndian.Uint32(head[:])))
	if n < 0 || n > limit {
		return nil, fmt.Errorf("%w: frame of %d bytes, limit %d", ErrLength, n, limit)
	}
	const chunk = 64 << 10
	b := make([]byte, 0, min(n, chunk))
	for len(b) < n {
		next := min(n-len(b), chunk)
		start := len(b)
		b = append(b, make([]byte, next)...)
		if _, err := io.ReadFull(r, b[start:]); err != nil {
			return nil, unexpected(err)
		}
	}
	return b, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// AppendFrame appends a frame that holds the records, one after the other.
func AppendFrame(b []byte, records ...Record) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = AppendRecords(b, records...)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
