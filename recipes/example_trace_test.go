package recipes_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// One trace for metrics, such as that of package promzkr, and one of one's own, that
// pages somebody.
func ExampleJoinTraces() {
	ctx := context.Background()
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	defer srv.Close()

	calls := 0
	metrics := recipes.Trace{AcquireDone: func(context.Context, recipes.AcquireEvent) { calls++ }}
	told := make(chan struct{})
	pager := recipes.Trace{Lost: func(ev recipes.LeaseEvent) {
		var lost *recipes.LostError
		if errors.As(ev.Err, &lost) {
			fmt.Println(ev.Path, "was lost:", lost.Loss())
		}
		close(told)
	}}
	c, err := recipes.Dial(ctx, srv.ConnectString(), recipes.WithTrace(recipes.JoinTraces(metrics, pager)))
	if err != nil {
		panic(err)
	}
	defer c.Close()

	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		panic(err)
	}
	l, err := mu.Lock(ctx)
	if err != nil {
		panic(err)
	}
	srv.ExpireSession(l.Session().ID())
	<-told
	fmt.Println("calls:", calls)
	// Output:
	// /locks/report was lost: expired
	// calls: 1
}
