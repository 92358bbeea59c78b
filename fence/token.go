package fence

import (
	"fmt"
	"strconv"
)

// Token is a fencing token: of two exclusive grants of one lock, the later one
// has the greater token, also after the lock's directory was deleted and made
// again. It is the czxid of the znode that holds the grant, so tokens compare
// within one ensemble's history only.
//
// The zero Token was never granted.
type Token int64

// String returns the token in decimal, the form in which it travels: in headers,
// environment variables and columns.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

// ParseToken reads a token in the form of String.
func ParseToken(s string) (Token, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("fence: %q is not a token: want a positive decimal number below 2^63", s)
	}
	return Token(n), nil
}
