package jute

import (
	"encoding/binary"
	"errors"
	"strings"
)

var (
	// ErrShort is returned when a record ends before its last field.
	ErrShort = errors.New("jute: record is too short")
	// ErrLength is returned when a length is negative or greater than what
	// follows it.
	ErrLength = errors.New("jute: impossible length")
	// ErrOp is returned when a multi holds an operation that cannot be in one.
	ErrOp = errors.New("jute: operation not possible in a multi")
)

// A Decoder takes fields off the front of a buffer. After the first error
// every field is its zero value.
type Decoder struct {
	buf []byte
	err error
}

var _ Coder = (*Decoder)(nil)

// take returns the next n bytes, or nil and sets the error.
func (d *Decoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n > len(d.buf) {
		d.fail(ErrShort)
		return nil
	}
	b := d.buf[:n:n]
	d.buf = d.buf[n:]
	return b
}

func (d *Decoder) fail(err error) {
	if d.err == nil {
		d.err, d.buf = err, nil
	}
}

func (d *Decoder) Bool(v *bool) {
	b := d.take(1)
	*v = b != nil && b[0] != 0
}

func (d *Decoder) Int32(v *int32) {
	*v = 0
	if b := d.take(4); b != nil {
		*v = int32(binary.BigEndian.Uint32(b))
	}
}

func (d *Decoder) Int64(v *int64) {
	*v = 0
	if b := d.take(8); b != nil {
		*v = int64(binary.BigEndian.Uint64(b))
	}
}

// Buffer copies, so that a decoded record does not hold its whole frame.
func (d *Decoder) Buffer(v *[]byte) {
	*v = nil
	if n := d.length(); n >= 0 && d.err == nil {
		*v = append(make([]byte, 0, n), d.take(n)...)
	}
}

// String replaces what is not UTF-8, as Java does. No field of type string may
// be null: a real server stumbles over one, but in a sync, getEphemerals, a
// request about watches and the scheme of an ACL, where no client sends it.
func (d *Decoder) String(v *string) {
	n := d.length()
	if n < 0 {
		d.fail(ErrLength)
	}
	*v = strings.ToValidUTF8(string(d.take(max(n, 0))), "\uFFFD")
}

// length returns the length of a buffer or a string, -1 for nil.
func (d *Decoder) length() int {
	var n int32
	d.Int32(&n)
	return d.check(int(n), 1)
}

func (d *Decoder) count(_, least int) int {
	var n int32
	d.Int32(&n)
	if n < -1 {
		n = 0
	}
	return d.check(int(n), least)
}

// check returns a number of elements if there can be so many.
func (d *Decoder) check(n, least int) int {
	if d.err != nil || n == -1 {
		return -1
	}
	if n < -1 || int64(n)*int64(least) > int64(len(d.buf)) {
		d.fail(ErrLength)
		return -1
	}
	return n
}

func (d *Decoder) decoding() bool { return true }
