package zkfence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/zkfence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A holder whose lock was taken away writes late, and is refused: by its lease,
// and by its token once the next one's stands.
func Example() {
	ctx := context.Background()
	srv, err := zktest.New() // in a program: a real ensemble
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := recipes.Dial(ctx, srv.ConnectString())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	z, err := zkfence.New(c, "/config/report")
	if err != nil {
		fmt.Println(err)
		return
	}
	mu, err := lock.NewMutex(c, "/locks/report", lock.WithGuards(z))
	if err != nil {
		fmt.Println(err)
		return
	}
	write := func(ctx context.Context, l *recipes.Lease, text string) error {
		return z.Update(ctx, fence.Stamp{Token: l.Token()}, func([]byte) ([]byte, error) { return []byte(text), nil })
	}

	err = mu.Do(ctx, func(held context.Context, first *recipes.Lease) error {
		fmt.Println("draft:", write(held, first, "draft"))
		if err := srv.Delete(first.Node()); err != nil { // an operator takes the lock away
			return err
		}
		fmt.Println("lease is over:", errors.Is(write(held, first, "late"), recipes.ErrLost))
		return mu.Do(ctx, func(held context.Context, second *recipes.Lease) error {
			fmt.Println("token is stale:", errors.Is(write(ctx, first, "late"), fence.ErrStale))
			return write(held, second, "final")
		})
	})
	fmt.Println("first one told:", errors.Is(err, recipes.ErrLost))
	data, _, err := z.Contents(ctx)
	fmt.Println(string(data), err)
	// Output:
	// draft: <nil>
	// lease is over: true
	// token is stale: true
	// first one told: true
	// final <nil>
}
