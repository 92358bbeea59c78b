package recipes

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Protected says what znode CreateProtected is to make.
type Protected struct {
	Dir  string // made where it is missing
	Name string // before the sequence number, after the prefix that protects it
	Data []byte

	// TouchDir makes the znode in one transaction that also sets the
	// directory's data to nothing. Its answer tells the token, and how many
	// children there are, without another round trip. Only for directories that
	// carry no data.
	TouchDir bool

	// Spare is how many bytes more of ephemeral paths the session must have room
	// for, for what the znode is to be traded for. They are set aside with it.
	Spare int

	_ struct{}
}

// Created is what CreateProtected has made.
type Created struct {
	*Owned
	Children  int  // of the directory right after the creation; 0 if it is not known
	DirDenied bool // TouchDir is not permitted here
}

// ProtectedCost is what a znode made by CreateProtected takes of a session's
// budget of ephemeral paths.
func (c *Client) ProtectedCost(dir, name string) int {
	const prefix = len("/_c_") + uuidLen + len("-")
	return pathCost(len(c.cfg.chroot)+len(dir)+prefix+len(name), EphemeralSequential)
}

// CreateProtected makes an ephemeral sequential znode whose name carries a
// unique id, so that it is found again where the answer to its creation was
// lost. It is made on a session that has room for it.
//
// It returns the znode, or an error and no znode: what ctx leaves behind is
// deleted in the background.
func (c *Client) CreateProtected(ctx context.Context, p Protected) (*Created, error) {
	if err := CheckDir(p.Dir); err != nil {
		return nil, err
	}
	if err := checkRequest(p.Dir+"/"+p.Name, p.Data); err != nil {
		return nil, err
	}
	cost := c.ProtectedCost(p.Dir, p.Name) + p.Spare
	s, err := c.SessionFor(ctx, cost)
	if err != nil {
		return nil, err
	}
	return s.createProtected(ctx, p, cost)
}

// createProtected makes the znode out of cost reserved bytes. They are given
// back as soon as it is certain that there is no znode.
func (s *Session) createProtected(ctx context.Context, p Protected, cost int) (*Created, error) {
	denied := false
	for {
		uuid := NewUUID() // a new one for each attempt, so that none is mistaken for another
		created, err := s.tryProtected(ctx, p, uuid, cost)
		switch {
		case err == nil:
			created.DirDenied = denied
			return created.withSpare(p.Spare), nil
		case isUnknown(err):
			o, findErr := s.find(ctx, p.Dir, uuid)
			if o != nil {
				o.reserved = cost
				return (&Created{Owned: o, DirDenied: denied}).withSpare(p.Spare), nil
			}
			if findErr != nil {
				s.giveUp(p.Dir, uuid, cost)
				return nil, &OpError{Op: "create", Path: p.Dir, Session: s.ID(), Err: findErr}
			}
		case errors.Is(err, zk.ErrNoNode):
			if err := s.makeDir(ctx, p.Dir); err != nil {
				s.Unreserve(cost)
				return nil, err
			}
		case p.TouchDir && errors.Is(err, zk.ErrNoAuth):
			p.TouchDir, denied = false, true
		default:
			if !errors.Is(err, zkconn.ErrAbandoned) {
				s.Unreserve(cost)
			}
			return nil, s.opErr("create", join(p.Dir, p.Name), err)
		}
	}
}

// withSpare splits what was reserved.
func (c *Created) withSpare(spare int) *Created {
	c.reserved -= spare
	c.spare = spare
	return c
}

// createRequest is the creation of a protected znode.
func (s *Session) createRequest(p Protected, uuid string) *zk.CreateRequest {
	return &zk.CreateRequest{
		Path:  s.abs(join(p.Dir, "_c_"+uuid+"-"+p.Name)),
		Data:  p.Data,
		Acl:   toZK(s.cfg.acl),
		Flags: EphemeralSequential.flags(),
	}
}

// tryProtected sends the creation once.
func (s *Session) tryProtected(ctx context.Context, p Protected, uuid string, cost int) (*Created, error) {
	node := s.createRequest(p, uuid)
	late := func(c *Created, err error) {
		switch {
		case err == nil:
			c.Discard()
		case errors.Is(err, zkconn.ErrUnknown):
			s.giveUp(p.Dir, uuid, cost)
		default:
			s.Unreserve(cost)
		}
	}
	return write(ctx, s, late, func(z *zk.Conn) (*Created, error) {
		o := &Owned{s: s, sent: s.now(), reserved: cost}
		if !p.TouchDir {
			created, err := createOne(z, node)
			if err != nil {
				return nil, err
			}
			o.path, o.dated = s.rel(created), true
			return &Created{Owned: o}, nil
		}
		res, err := transact(z, node, &zk.SetDataRequest{Path: s.abs(p.Dir), Version: -1})
		if err != nil {
			return nil, err
		}
		// The set comes after the create in the same transaction, so its Stat
		// is the directory's with the new child, and bears the child's czxid.
		s.client.toldTime(newStat(res[1].Stat).Modified, o.sent)
		o.path, o.czxid = s.rel(res[0].String), fence.Token(res[1].Stat.Mzxid)
		return &Created{Owned: o, Children: int(res[1].Stat.NumChildren)}, nil
	})
}

// find looks for the znode that bears the id and belongs to this session. By the
// barrier before it, one that it does not find will never come to be.
func (s *Session) find(ctx context.Context, dir, uuid string) (*Owned, error) {
	sent := s.now()
	if err := s.Barrier(ctx); err != nil {
		return nil, err
	}
	names, _, err := s.list(ctx, dir)
	if errors.Is(err, ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if uuidOf(name) != uuid {
			continue
		}
		o := &Owned{s: s, path: join(dir, name), sent: sent}
		err := o.Load(ctx)
		if errors.Is(err, ErrNoNode) {
			continue // gone, or somebody else's by the same id
		}
		return o, err
	}
	return nil, nil
}

const uuidLen = 36

// NewUUID returns a random UUID, in the form that Curator looks for in names.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	text := make([]byte, 0, uuidLen)
	for i, part := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			text = append(text, '-')
		}
		text = hex.AppendEncode(text, part)
	}
	return string(text)
}

// uuidOf returns the UUID in a protected name, "" if there is none.
func uuidOf(name string) string {
	rest, ok := strings.CutPrefix(name, "_c_")
	if !ok || len(rest) <= uuidLen || rest[uuidLen] != '-' {
		return ""
	}
	return rest[:uuidLen]
}
