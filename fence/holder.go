package fence

import "context"

// Holder is a grant as its owner sees it. A *recipes.Lease is one.
type Holder interface {
	// Token returns the grant's token.
	Token() Token

	// Err returns nil while the grant holds, by the owner's own clock.
	Err() error
}

type holderKey struct{}

// WithHolder returns a context that carries the grant under which the work done
// with it is done.
func WithHolder(ctx context.Context, h Holder) context.Context {
	return context.WithValue(ctx, holderKey{}, h)
}

// HolderFrom returns the grant that the context carries, nil if there is none.
func HolderFrom(ctx context.Context) Holder {
	h, _ := ctx.Value(holderKey{}).(Holder)
	return h
}
