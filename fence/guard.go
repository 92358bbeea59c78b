package fence

import (
	"context"
	"errors"
)

// Installer is where a new grant can be made known.
type Installer interface {
	// Install makes the token stand, so that from its return on no write of an
	// earlier grant takes effect. Installing a token that stands does nothing;
	// one that has been overtaken is refused with ErrStale, and its holder has
	// lost the lock without knowing it yet.
	Install(ctx context.Context, token Token) error
}

// Guard protects one resource. It is safe for concurrent use, and the writes of
// a resource take place one after the other.
//
// Write and Read call the function while nothing else can be admitted: check and
// write are one step, not two calls with a gap between them. What the function
// gets at is the guard's business, which says how the resource is reached
// through the context. A function that is paused keeps everybody else waiting,
// so take all from the network before, and bound it by a context. It must not
// call the guard, which would wait for itself.
type Guard interface {
	Installer

	// Write runs effect if the stamp is admitted, and makes the stamp stand
	// together with the effect: both or, where effect or the guard returns an
	// error or effect panics, neither. Only ErrOutcomeUnknown leaves it open.
	Write(ctx context.Context, stamp Stamp, effect func(context.Context) error) error

	// Read runs look if the reader's token has not been overtaken. The token
	// is checked, and never stands.
	Read(ctx context.Context, token Token, look func(context.Context) error) error
}

// Install makes the token stand at each of the places, in their order, and
// returns the errors of all.
func Install(ctx context.Context, token Token, at ...Installer) error {
	var errs []error
	for _, i := range at {
		errs = append(errs, i.Install(ctx, token))
	}
	return errors.Join(errs...)
}
