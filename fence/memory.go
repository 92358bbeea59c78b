package fence

import "context"

// Memory guards something that lives in this process alone. It forgets with the
// process, so it must not guard what outlives it. Make it with NewMemory.
type Memory struct {
	name string
	// busy holds a value while a function runs. It is a mutex that can be
	// waited for until a context ends.
	busy     chan struct{}
	standing Stamp // guarded by busy
}

var _ Guard = (*Memory)(nil)

// NewMemory returns a guard of the resource of that name, which errors tell.
func NewMemory(name string) *Memory {
	return &Memory{name: name, busy: make(chan struct{}, 1)}
}

// Write is [Guard].Write. What effect has done before it returns an error is not
// undone.
func (m *Memory) Write(ctx context.Context, stamp Stamp, effect func(context.Context) error) error {
	return m.exclusively(ctx, func() error {
		next, err := m.standing.Admit(m.name, stamp)
		if err != nil {
			return err
		}
		if err := effect(ctx); err != nil {
			return err
		}
		m.standing = next
		return nil
	})
}

// Read is [Guard].Read.
func (m *Memory) Read(ctx context.Context, token Token, look func(context.Context) error) error {
	return m.exclusively(ctx, func() error {
		if err := m.standing.AdmitRead(m.name, token); err != nil {
			return err
		}
		return look(ctx)
	})
}

// Install is [Installer].Install.
func (m *Memory) Install(ctx context.Context, token Token) error {
	return m.Write(ctx, Stamp{Token: token}, func(context.Context) error { return nil })
}

// exclusively runs fn while nothing else runs. A context that has ended before
// wins over a guard that is free.
func (m *Memory) exclusively(ctx context.Context, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case m.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.busy }()
	return fn()
}
