package zkfence

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/fence"
)

// ErrNoStamp is returned, wrapped, when a znode's data does not begin with a line
// that this package wrote.
var ErrNoStamp = errors.New("zkfence: the data bears no stamp")

// document is what a znode holds.
type document struct {
	stamp fence.Stamp
	data  []byte
}

const header = "zkrecipes-znode-1"

func (d document) encode() []byte {
	return append(fmt.Appendf(nil, "%s %d %d\n", header, d.stamp.Token, d.stamp.Seq), d.data...)
}

// decode accepts what encode makes and nothing else.
func decode(raw []byte) (document, error) {
	line, data, _ := bytes.Cut(raw, []byte("\n"))
	d := document{data: data}
	if fields := strings.Split(string(line), " "); len(fields) == 3 {
		token, _ := strconv.ParseInt(fields[1], 10, 64)
		d.stamp.Token = fence.Token(token)
		d.stamp.Seq, _ = strconv.ParseInt(fields[2], 10, 64)
	}
	if d.stamp.Token < 0 || d.stamp.Seq < 0 || !bytes.Equal(d.encode(), raw) {
		return document{}, ErrNoStamp
	}
	return d, nil
}
