package jute

// A Record is a structure of the protocol.
type Record interface {
	// Fields shows the record's fields to c in wire order. An Encoder reads
	// them, a Decoder fills them.
	Fields(c Coder)
}

// A Coder walks the fields of a record: an Encoder or a Decoder.
type Coder interface {
	Bool(*bool)
	Int32(*int32)
	Int64(*int64)
	// Buffer keeps nil and empty apart, as the wire does.
	Buffer(*[]byte)
	String(*string)
	// count walks the length of a vector, -1 for nil, and returns it. least
	// is the least number of bytes an element takes. A length below -1 counts as
	// 0, as in a real server.
	count(n, least int) int
	decoding() bool
}

// vector walks a vector whose elements take at least `least` bytes each.
// The least size bounds what a length word can make a Decoder allocate.
func vector[T any](c Coder, v *[]T, least int, each func(*T)) {
	n := len(*v)
	if *v == nil {
		n = -1
	}
	n = c.count(n, least)
	if c.decoding() {
		if n < 0 {
			*v = nil
			return
		}
		*v = make([]T, n)
	}
	for i := range *v {
		each(&(*v)[i])
	}
}

func stringVector(c Coder, v *[]string) { vector(c, v, 4, c.String) }

// Marshal returns the encoded records, one after the other.
func Marshal(records ...Record) []byte {
	return AppendRecords(nil, records...)
}

// AppendRecords appends the encoded records to b.
func AppendRecords(b []byte, records ...Record) []byte {
	e := Encoder{buf: b}
	for _, r := range records {
		r.Fields(&e)
	}
	return e.buf
}

// Unmarshal decodes the records, one after the other, from the start of b and
// returns what follows them. Like a real server it does not mind a rest.
func Unmarshal(b []byte, records ...Record) ([]byte, error) {
	d := Decoder{buf: b}
	for _, r := range records {
		r.Fields(&d)
	}
	return d.buf, d.err
}
