package recipes

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// A reply is looked at before anybody relies on it: what is taken for the path of
// a znode of ours is cut where its directory ends, and deleted in the end.

// errMisfit is what a reply to a write comes to that does not answer it. Whether
// the write was executed is open then.
var errMisfit = errors.New("reply does not fit the request")

// createOne makes one znode.
func createOne(z *zk.Conn, req *zk.CreateRequest) (path string, err error) {
	path, err = z.Create(req.Path, req.Data, req.Flags, req.Acl)
	if err == nil && !isOf(req, path) {
		return "", errMisfit
	}
	return path, err
}

// isOf reports whether a creation can have made the znode.
func isOf(req *zk.CreateRequest, path string) bool {
	number, ok := strings.CutPrefix(path, req.Path)
	if req.Flags&zk.FlagSequence == 0 {
		return ok && number == ""
	}
	return ok && number != "" && strings.Trim(number, "-0123456789") == ""
}

// transact runs a transaction.
func transact(z *zk.Conn, reqs ...any) ([]zk.MultiResponse, error) {
	res, err := z.Multi(reqs...)
	if err != nil {
		return res, err
	}
	if len(res) != len(reqs) {
		return nil, errMisfit
	}
	for i, req := range reqs {
		switch req := req.(type) {
		case *zk.CreateRequest:
			if !isOf(req, res[i].String) {
				return nil, errMisfit
			}
		case *zk.SetDataRequest:
			if res[i].Stat == nil {
				return nil, errMisfit
			}
		}
	}
	return res, nil
}
