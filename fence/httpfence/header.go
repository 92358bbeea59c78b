package httpfence

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/zkrecipes/zkrecipes/fence"
)

// errMissing is returned when a request has no token.
var errMissing = errors.New("httpfence: no " + TokenHeader + " header")

// SetStamp sets the headers of a request.
func SetStamp(h http.Header, s fence.Stamp) {
	h.Set(TokenHeader, s.Token.String())
	if s.Seq > 0 {
		h.Set(SeqHeader, strconv.FormatInt(s.Seq, 10))
	} else {
		h.Del(SeqHeader)
	}
}

// stampFrom reads a request's headers. A header given twice is malformed: which
// of the two would be meant?
func stampFrom(h http.Header) (s fence.Stamp, err error) {
	tokens, seqs := h.Values(TokenHeader), h.Values(SeqHeader)
	if len(tokens) == 0 {
		return s, errMissing
	}
	if len(tokens) > 1 || len(seqs) > 1 {
		return s, errors.New("httpfence: a fencing header is given twice")
	}
	if s.Token, err = fence.ParseToken(tokens[0]); err != nil {
		return s, err
	}
	if len(seqs) == 1 {
		seq, err := fence.ParseToken(seqs[0]) // it is spelled alike
		if err != nil {
			return s, errors.New("httpfence: " + SeqHeader + " must be a positive decimal number below 2^63")
		}
		s.Seq = int64(seq)
	}
	return s, nil
}
