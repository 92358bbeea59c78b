package fence

import (
	"context"
	"errors"
)

// OnStale returns a guard that does what g does, and calls refused for each write,
// read and installation that g refuses as stale, before it returns: for metrics
// and logs. What a function that g calls returns is no refusal of g's.
func OnStale(g Guard, refused func(context.Context, *StaleError)) Guard {
	return onStale{g, refused}
}

type onStale struct {
	Guard
	refused func(context.Context, *StaleError)
}

func (o onStale) Write(ctx context.Context, stamp Stamp, effect func(context.Context) error) error {
	inner, fn := observed(effect)
	return o.tell(ctx, o.Guard.Write(ctx, stamp, fn), inner)
}

func (o onStale) Read(ctx context.Context, token Token, look func(context.Context) error) error {
	inner, fn := observed(look)
	return o.tell(ctx, o.Guard.Read(ctx, token, fn), inner)
}

func (o onStale) Install(ctx context.Context, token Token) error {
	return o.tell(ctx, o.Guard.Install(ctx, token), new(error))
}

// observed returns fn, and where the error goes that it returns.
func observed(fn func(context.Context) error) (*error, func(context.Context) error) {
	inner := new(error)
	return inner, func(ctx context.Context) error {
		*inner = fn(ctx)
		return *inner
	}
}

// tell passes err on. A guard may call a function again that failed, and refuse
// then: only the very error that came out of it last is no refusal.
func (o onStale) tell(ctx context.Context, err error, inner *error) error {
	var stale, its *StaleError
	if errors.As(err, &stale) && !(errors.As(*inner, &its) && its == stale) {
		o.refused(ctx, stale)
	}
	return err
}
