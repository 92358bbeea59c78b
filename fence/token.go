package fence

import (
	"fmt"
	"strconv"
)

// Token is a fencing token: of two exclusive grants of one lock, the later one
// has the greater token, also after the lock's directory was deleted and made
// again. It is the czxid of the znode that holds the grant, plus the base that is
// set for the lock, if one is: tokens compare within one ensemble's history, and
// a base makes those of the next one greater.
//
// The zero Token was never granted.
type Token int64

// maxQuoted bounds what an error repeats of a text that is no token: it may be as
// long as a header.
const maxQuoted = 64

// String returns the token in decimal, the form in which it travels: in headers,
// environment variables and columns.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

// ParseToken reads a token in the form of String, and in no other: a sign, a space
// or a leading zero is refused.
func ParseToken(s string) (Token, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if t := Token(n); err == nil && n > 0 && t.String() == s {
		return t, nil
	}
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "…"
	}
	return 0, fmt.Errorf("fence: %q is not a token: want a positive decimal number below 2^63", s)
}
