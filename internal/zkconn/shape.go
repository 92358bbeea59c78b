package zkconn

import (
	"encoding/binary"
	"errors"
)

// The client library trusts what a reply says of its own lengths: it allocates by
// them, and panics on a transaction's results that end too early. So the shape of a
// reply is looked at before the library gets its last byte.

var (
	errCount = errors.New("a reply counts more elements than it can hold")
	errShort = errors.New("a reply ends before its time")
)

const (
	statSize        = 68
	resultHead      = 9  // of each result of a transaction: type, whether it is the end, error
	resultError     = -1 // type of a result that failed
	resultErrorSize = 4
)

// fits checks the body of a reply that tells no error, by its beginning and its
// size; of a transaction's results b is all.
func fits(op int32, b []byte, size int) error {
	switch op {
	case opGetChildren2, opGetACL:
		return fitsList(b, size)
	case opGetData:
		return fitsText(b, size, statSize)
	case opCreate, opCreateContainer, opCreateTTL:
		return fitsText(b, size, 0)
	case opExists, opSetData, opSetACL:
		return enough(size >= statSize)
	case opMulti:
		return fitsResults(b)
	}
	return nil
}

func enough(ok bool) error {
	if !ok {
		return errShort
	}
	return nil
}

// fitsList checks a count. Each element takes four bytes at least.
func fitsList(b []byte, size int) error {
	if len(b) < 4 {
		return errShort
	}
	if n := length(b); n < 0 || n > (size-4)/4 {
		return errCount
	}
	return nil
}

// fitsText checks a length that so many bytes follow, and then others. A length of
// -1 stands for no text at all.
func fitsText(b []byte, size, others int) error {
	return enough(len(b) >= 4 && size-4-others >= max(0, length(b)))
}

// fitsResults checks the results of a transaction, of which all has to be there.
func fitsResults(b []byte) error {
	for len(b) >= resultHead {
		kind, end := int32(binary.BigEndian.Uint32(b)), b[4] != 0
		b = b[resultHead:]
		if end {
			return nil
		}
		size := 0
		switch kind {
		case opCreate:
			if err := fitsText(b, len(b), 0); err != nil {
				return err
			}
			size = 4 + max(0, length(b))
		case opSetData:
			size = statSize
		case resultError:
			size = resultErrorSize
		case opCheck, opDelete:
		default:
			return nil // of which the library says that it does not know it
		}
		if len(b) < size {
			break
		}
		b = b[size:]
	}
	return errShort
}

func length(b []byte) int { return int(int32(binary.BigEndian.Uint32(b))) }
