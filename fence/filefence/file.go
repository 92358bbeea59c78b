package filefence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/zkrecipes/zkrecipes/fence"
)

// File is a guarded file. It is a fence.Guard, holds nothing open between calls,
// and is safe for concurrent use. Make it with New.
type File struct {
	path string
	busy chan struct{} // holds a value while a goroutine of ours has its turn
}

var _ fence.Guard = (*File)(nil)

// New names a file, whose folder must exist; the file need not. A link that
// exists stands for the file that it leads to.
func New(path string) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("filefence: %w", err)
	}
	// A rename would replace the link, and its name would lock another file.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("filefence: %w", err)
	}
	if !dir.IsDir() {
		return nil, fmt.Errorf("filefence: %s is no folder", filepath.Dir(path))
	}
	return &File{path: path, busy: make(chan struct{}, 1)}, nil
}

// Update replaces the contents by what change makes of them, if the stamp is
// admitted. An error of change is returned as it is and leaves all as it was.
func (f *File) Update(ctx context.Context, stamp fence.Stamp, change func(old []byte) ([]byte, error)) error {
	return f.locked(ctx, func() error {
		old, err := read(f.path)
		if err != nil {
			return err
		}
		next, err := old.stamp.Admit(f.path, stamp)
		if err != nil {
			return err
		}
		data, err := change(old.data)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return replace(f.path, document{stamp: next, data: data})
	})
}

// Install makes the token stand and leaves the contents, see fence.Installer.
func (f *File) Install(ctx context.Context, token fence.Token) error {
	return f.Update(ctx, fence.Stamp{Token: token}, func(old []byte) ([]byte, error) { return old, nil })
}

// Contents returns what the file holds and the stamp that stands, nothing and the
// zero Stamp where there is no file. It takes no lock: a file is replaced as a
// whole.
func (f *File) Contents() ([]byte, fence.Stamp, error) {
	d, err := read(f.path)
	return d.data, d.stamp, err
}

// Write is fence.Guard's: effect gets at the contents by ContentsFrom and
// changes them by setting them.
func (f *File) Write(ctx context.Context, stamp fence.Stamp, effect func(context.Context) error) error {
	return f.Update(ctx, stamp, func(old []byte) ([]byte, error) {
		data := old
		err := effect(context.WithValue(ctx, contentsKey{}, &data))
		return data, err
	})
}

// Read is fence.Guard's: look gets at the contents by ContentsFrom. What it sets
// them to is not kept.
func (f *File) Read(ctx context.Context, token fence.Token, look func(context.Context) error) error {
	return f.locked(ctx, func() error {
		d, err := read(f.path)
		if err != nil {
			return err
		}
		if err := d.stamp.AdmitRead(f.path, token); err != nil {
			return err
		}
		return look(context.WithValue(ctx, contentsKey{}, &d.data))
	})
}

type contentsKey struct{}

// ContentsFrom returns the contents that a function called by Write or Read
// works on, nil in any other context.
func ContentsFrom(ctx context.Context) *[]byte {
	data, _ := ctx.Value(contentsKey{}).(*[]byte)
	return data
}

// locked runs fn while neither a goroutine nor another process has its turn. A
// context that has ended before wins over a file that is free.
func (f *File) locked(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.busy }()
	lock, err := lockFile(ctx, f.path+".lock")
	if err != nil {
		return err
	}
	defer lock.Close() // which lets go of the lock
	return fn()
}
