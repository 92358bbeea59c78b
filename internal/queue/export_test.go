package queue

// Parse returns the sequence number of a contender's name; ok is false for
// strangers.
func Parse(l Layout, name string) (seq int64, ok bool) {
	e, ok := l.parse(name)
	return e.seq, ok
}

// BlocksJVM is Layout.blocksJVM.
func BlocksJVM(l Layout, name string, seq int64) bool { return l.blocksJVM(name, seq) }

// MaxIdentity is maxIdentity.
const MaxIdentity = maxIdentity

// Identity is identity.
func Identity(data []byte) string { return identity(data) }
