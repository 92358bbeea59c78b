package zkconn_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// answer puts together what stands behind a reply's xid: no error, and the parts.
func answer(parts ...any) []byte {
	b := make([]byte, 12) // zxid, error
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = binary.BigEndian.AppendUint32(b, uint32(p))
		case string:
			b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

// result is the head of one result of a transaction, ended that of none any more.
func result(kind int) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(kind)), 0, 0, 0, 0, 0)
}

var (
	ended = []byte{0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff}
	stat  = make([]byte, 68)
)

// creates are the results of so many creations.
func creates(n int) (b []byte) {
	for range n {
		b = append(b, result(1)...)
		b = append(b, answer("/locks/x/somebody")[12:]...)
	}
	return b
}

func create(z *zk.Conn) error {
	reqs := make([]any, 100)
	for i := range reqs {
		reqs[i] = &zk.CreateRequest{Path: "/x", Acl: zk.WorldACL(zk.PermAll)}
	}
	_, err := z.Multi(reqs...)
	return err
}

// The client library would panic on some of these, on a goroutine where nobody can
// help it, and allocate two gigabytes for another.
func TestReplyThatEndsTooEarlyEndsTheConnection(t *testing.T) {
	get := calls[0]
	for name, test := range map[string]struct {
		call   func(*zk.Conn) error
		answer []byte
	}{
		"no results":                       {create, answer()},
		"half a result's head":             {create, answer(1)},
		"a creation without its path":      {create, answer(result(1))},
		"a creation with a part of it":     {create, answer(result(1), 9, []byte("/x"))},
		"a set with a part of its stat":    {create, answer(result(5), stat[:67])},
		"an error without a number":        {create, answer(result(-1), []byte{0, 0, 0})},
		"results and no end":               {create, answer(result(13), result(2))},
		"many results and no end":          {create, answer(creates(100))},
		"many results and half an end":     {create, answer(creates(100), ended[:4])},
		"data that is longer than a reply": {get, answer(1<<31-1, stat)},
		"data and no stat":                 {get, answer("data")},
		"no data at all":                   {get, answer()},
		"a part of a stat":                 {calls[1], answer(stat[:67])},
		"a path that is cut":               {calls[5], answer(7, []byte("/x"))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				errs := openBy(t, answering(nil, test.answer), func(ctx context.Context, c *zkconn.Conn) {
					ctx, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					require.Error(t, c.Do(ctx, zkconn.Write, test.call))
				})
				require.Contains(t, strings.Join(errs, "; "), "ends before its time")
			})
		})
	}
}

func TestReplyThatIsWholePasses(t *testing.T) {
	for name, test := range map[string]struct {
		call   func(*zk.Conn) error
		answer []byte
	}{
		"many results":    {create, answer(creates(100), ended)},
		"each kind":       {create, answer(creates(1), result(5), stat, result(13), result(2), ended)},
		"data":            {calls[0], answer("data", stat)},
		"no data":         {calls[0], answer(-1, stat)},
		"more than known": {calls[0], answer("data", stat, "of a later version")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				openBy(t, answering(nil, test.answer), func(ctx context.Context, c *zkconn.Conn) {
					require.NoError(t, c.Do(ctx, zkconn.Write, test.call))
				})
			})
		})
	}
}
