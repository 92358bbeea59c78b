package zkfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// Znode is a guarded znode. It is a fence.Guard and safe for concurrent use. Make
// it with New.
type Znode struct {
	c    *recipes.Client
	path string
}

var _ fence.Guard = (*Znode)(nil)

// New names a znode. It is made by the first write if it does not exist, with
// the client's ACL (recipes.WithACL).
func New(c *recipes.Client, path string) (*Znode, error) {
	if c == nil {
		return nil, errors.New("zkfence: nil client")
	}
	if err := recipes.CheckPath(path); err != nil {
		return nil, err
	}
	if path == "/" {
		return nil, errors.New("zkfence: the root cannot be guarded")
	}
	return &Znode{c: c, path: path}, nil
}

// Path returns the znode's path.
func (z *Znode) Path() string { return z.path }

// Update replaces the contents by what change makes of them, if the stamp is
// admitted. It is called again where somebody else wrote meanwhile. An error of
// change is returned as it is and leaves all as it was.
//
// Under a lease that ctx carries Update returns recipes.ErrLost if that is over.
func (z *Znode) Update(ctx context.Context, stamp fence.Stamp, change func(old []byte) ([]byte, error)) error {
	return z.replace(ctx, stamp.Token, func(before document) (document, error) {
		next, err := before.stamp.Admit(z.path, stamp)
		if err != nil {
			return document{}, err
		}
		data, err := change(before.data)
		return document{stamp: next, data: data}, err
	})
}

// Install makes the token stand and leaves the contents, see fence.Installer.
func (z *Znode) Install(ctx context.Context, token fence.Token) error {
	return z.Update(ctx, fence.Stamp{Token: token}, func(old []byte) ([]byte, error) { return old, nil })
}

// Write is fence.Guard's: effect gets at the contents by ContentsFrom and
// changes them by setting them. It may be called more than once.
func (z *Znode) Write(ctx context.Context, stamp fence.Stamp, effect func(context.Context) error) error {
	return z.Update(ctx, stamp, func(old []byte) ([]byte, error) {
		data := old
		err := effect(context.WithValue(ctx, contentsKey{}, &data))
		return data, err
	})
}

// Read is fence.Guard's: look gets at the contents by ContentsFrom. What it sets
// them to is not kept. It sees all that was written before Read was called, which
// costs a transaction; what is written while look runs it does not see.
func (z *Znode) Read(ctx context.Context, token fence.Token, look func(context.Context) error) error {
	s, err := z.c.Session(ctx)
	if err != nil {
		return err
	}
	if err := s.Barrier(ctx); err != nil {
		return err
	}
	f, err := z.find(ctx, s)
	if err != nil {
		return err
	}
	d, err := f.document(z.path)
	if err != nil {
		return err
	}
	if err := d.stamp.AdmitRead(z.path, token); err != nil {
		return err
	}
	return look(context.WithValue(ctx, contentsKey{}, &d.data))
}

// Contents returns what the znode holds and the stamp that stands, nothing and
// the zero Stamp where there is no znode. It asks one server, which may lag.
func (z *Znode) Contents(ctx context.Context) ([]byte, fence.Stamp, error) {
	s, err := z.c.Session(ctx)
	if err != nil {
		return nil, fence.Stamp{}, err
	}
	f, err := z.find(ctx, s)
	if err != nil {
		return nil, fence.Stamp{}, err
	}
	d, err := f.document(z.path)
	return d.data, d.stamp, err
}

// Adopt puts the zero Stamp before data that has none, so that what was there
// before the guard becomes its contents. It does nothing where there is a stamp,
// or no znode. To be called when nobody writes without the guard any more.
func (z *Znode) Adopt(ctx context.Context) error {
	for {
		s, err := z.c.Session(ctx)
		if err != nil {
			return err
		}
		f, err := z.find(ctx, s)
		if err != nil || !f.exists {
			return err
		}
		if _, err := decode(f.raw); err == nil {
			return nil
		}
		err = z.commit(ctx, writer{s: s}, f, document{data: f.raw}.encode())
		if !errors.Is(err, errAgain) {
			return err
		}
	}
}

type contentsKey struct{}

// ContentsFrom returns the contents that a function called by Write or Read
// works on, nil in any other context.
func ContentsFrom(ctx context.Context) *[]byte {
	data, _ := ctx.Value(contentsKey{}).(*[]byte)
	return data
}

// found is the znode as it was read.
type found struct {
	exists  bool
	raw     []byte
	version int32
}

func (z *Znode) find(ctx context.Context, s *recipes.Session) (found, error) {
	raw, stat, err := s.Get(ctx, z.path)
	if errors.Is(err, recipes.ErrNoNode) {
		return found{}, nil
	}
	return found{exists: true, raw: raw, version: stat.Version}, err
}

// document returns the zero one where there is no znode.
func (f found) document(path string) (document, error) {
	if !f.exists {
		return document{}, nil
	}
	d, err := decode(f.raw)
	if err != nil {
		return document{}, fmt.Errorf("%w: %s", err, path)
	}
	return d, nil
}
