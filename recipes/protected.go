package recipes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/zkconn"
)

// Owned is an ephemeral znode that belongs to a session: it was made on it, or
// read from it with that owner.
type Owned struct {
	s        *Session
	path     string
	token    fence.Token   // its czxid, 0 until it is known
	sent     time.Duration // when the latest confirmed write about it was sent
	reserved int           // bytes of its session's budget
	spare    int           // bytes set aside for what it may be exchanged for
	watch    *Watch        // armed on it while it waits, nil if it is not
}

// Path returns the znode's path.
func (o *Owned) Path() string { return o.path }

// Session returns the session that owns the znode.
func (o *Owned) Session() *Session { return o.s }

// Token returns the znode's czxid, 0 if it is not known yet; Load reads it.
func (o *Owned) Token() fence.Token { return o.token }

// Load reads the znode, to learn its token. It returns ErrNoNode where the znode
// is gone or belongs to somebody else.
func (o *Owned) Load(ctx context.Context) error {
	stat, ok, err := o.s.Exists(ctx, o.path)
	if err != nil {
		return err
	}
	return o.know(stat, ok)
}

func (o *Owned) know(stat Stat, ok bool) error {
	if !ok || stat.EphemeralOwner != o.s.ID() {
		return &OpError{Op: "load", Path: o.path, Session: o.s.ID(), Err: ErrNoNode}
	}
	o.token = fence.Token(stat.Czxid)
	return nil
}

// Watch is Load with a watch for the znode's deletion, which the lease takes
// over if it comes to one. Without it the lease watches on its own a little
// later. The watch that it returns belongs to o.
func (o *Owned) Watch(ctx context.Context) (*Watch, error) {
	if o.watch != nil {
		return o.watch, nil
	}
	_, stat, w, err := o.s.GetWatch(ctx, o.path)
	if err != nil {
		return nil, err
	}
	o.watch = w
	return w, o.know(stat, true)
}

// unwatch ends the watch, and reports whether it has seen the znode deleted.
func (o *Owned) unwatch() (deleted bool) {
	// One who has given up on an exchange and the exchange itself may both.
	o.s.mu.Lock()
	w := o.watch
	o.watch = nil
	o.s.mu.Unlock()
	if w == nil {
		return false
	}
	w.Stop()
	return w.Deleted()
}

// Discard deletes the znode in the background.
func (o *Owned) Discard() *Deletion {
	o.unwatch()
	return o.s.discard(o.path, o.takeReserved()+o.takeSpare())
}

// takeReserved returns what the znode takes of the budget, once: to whoever
// sees to its end.
func (o *Owned) takeReserved() int {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	n := o.reserved
	o.reserved = 0
	return n
}

func (o *Owned) takeSpare() int {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	n := o.spare
	o.spare = 0
	return n
}

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
	return pathCost(c.cfg.chroot+join(dir, "_c_"+NewUUID()+"-"+name), EphemeralSequential)
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
			created, err := z.Create(node.Path, node.Data, node.Flags, node.Acl)
			if err != nil {
				return nil, err
			}
			o.path = s.rel(created)
			return &Created{Owned: o}, nil
		}
		res, err := z.Multi(node, &zk.SetDataRequest{Path: s.abs(p.Dir), Version: -1})
		if err != nil {
			return nil, err
		}
		// The set comes after the create in the same transaction, so its Stat
		// is the directory's with the new child, and bears the child's czxid.
		o.path, o.token = s.rel(res[0].String), fence.Token(res[1].Stat.Mzxid)
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
			return nil, nil
		}
		return o, err
	}
	return nil, nil
}

// makeDir makes a directory and what is missing above it: first the last one,
// and only where that fails the one above.
func (s *Session) makeDir(ctx context.Context, dir string) error {
	err := s.makeOne(ctx, dir)
	if errors.Is(err, ErrNoNode) {
		if err := s.makeDir(ctx, parent(dir)); err != nil {
			return err
		}
		err = s.makeOne(ctx, dir)
	}
	if errors.Is(err, ErrNoNode) {
		return nil // reaped in between; the caller comes back
	}
	return err
}

// MakePersistent makes a znode that stays, and what is missing above it. Where
// it exists it returns ErrNodeExists.
func (s *Session) MakePersistent(ctx context.Context, path string, data []byte) error {
	for {
		_, err := s.Create(ctx, path, data, Persistent, s.cfg.parentACL)
		if !errors.Is(err, ErrNoNode) {
			return err
		}
		if err := s.makeDir(ctx, parent(path)); err != nil {
			return err
		}
	}
}

// makeOne makes one directory: a container, which the server deletes some time
// after its last child, unless the server has none or the user wants none.
func (s *Session) makeOne(ctx context.Context, dir string) error {
	if dir == "/" {
		return s.makeChroot(ctx)
	}
	mode := Container
	if s.cfg.persistent || s.client.noContainers.Load() {
		mode = Persistent
	}
	_, err := s.Create(ctx, dir, nil, mode, s.cfg.parentACL)
	if mode == Container && isUnimplemented(err) {
		s.client.noContainers.Store(true)
		_, err = s.Create(ctx, dir, nil, Persistent, s.cfg.parentACL)
	}
	if errors.Is(err, ErrNodeExists) || errors.Is(err, ErrOutcomeUnknown) {
		return nil // where it is unknown the caller's next attempt tells
	}
	return err
}

// makeChroot makes the chroot, which is to stay.
func (s *Session) makeChroot(ctx context.Context) error {
	elems := strings.Split(s.cfg.chroot, "/")
	for i := 2; i <= len(elems); i++ {
		path := strings.Join(elems[:i], "/")
		_, err := write(ctx, s, nil, func(z *zk.Conn) (string, error) {
			return z.Create(path, nil, 0, toZK(s.cfg.parentACL))
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) && !isUnknown(err) {
			return &OpError{Op: "create chroot", Path: path, Session: s.ID(), Err: translate(err)}
		}
	}
	return nil
}

// isUnimplemented recognises the server's code -6, which the client library
// has no name for.
func isUnimplemented(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unknown error: -6")
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// NewUUID returns a random UUID, in the form that Curator looks for in names.
func NewUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// uuidOf returns the UUID in a protected name, "" if there is none.
func uuidOf(name string) string {
	rest, ok := strings.CutPrefix(name, "_c_")
	if !ok || len(rest) <= 36 || rest[36] != '-' {
		return ""
	}
	return rest[:36]
}
