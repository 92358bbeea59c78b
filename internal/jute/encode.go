package jute

import "encoding/binary"

// An Encoder appends fields to a buffer. The zero value is ready to use.
type Encoder struct{ buf []byte }

var _ Coder = (*Encoder)(nil)

func (e *Encoder) Bool(v *bool) {
	b := byte(0)
	if *v {
		b = 1
	}
	e.buf = append(e.buf, b)
}

func (e *Encoder) Int32(v *int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(*v)) }

func (e *Encoder) Int64(v *int64) { e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(*v)) }

func (e *Encoder) Buffer(v *[]byte) {
	if *v == nil {
		e.count(-1, 1)
		return
	}
	e.count(len(*v), 1)
	e.buf = append(e.buf, *v...)
}

func (e *Encoder) String(v *string) {
	e.count(len(*v), 1)
	e.buf = append(e.buf, *v...)
}

func (e *Encoder) count(n, _ int) int {
	e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(int32(n)))
	return n
}

func (e *Encoder) decoding() bool { return false }
