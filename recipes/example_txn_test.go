package recipes_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Two znodes change together, under the lease or not at all. A holder that has
// lost the lock, and may not know it yet, changes nothing.
func ExampleLease_Txn() {
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
	mu, err := lock.NewMutex(c, "/locks/shards")
	if err != nil {
		fmt.Println(err)
		return
	}
	move := func(l *recipes.Lease, from, to string) error {
		_, err := l.Txn(ctx,
			recipes.DeleteOp("/shard-7-on-"+from, -1),
			recipes.CreateOp("/shard-7-on-"+to, nil, recipes.Persistent, nil))
		return err
	}

	l, err := mu.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = l.Txn(ctx, recipes.CreateOp("/shard-7-on-a", nil, recipes.Persistent, nil))
	fmt.Println("placed:", err)
	fmt.Println("moved:", move(l, "a", "b"))
	fmt.Println("not there, so nothing happens:", errors.Is(move(l, "a", "c"), recipes.ErrNoNode))
	if err := srv.Delete(l.Node()); err != nil { // an operator takes the lock away
		fmt.Println(err)
		return
	}
	fmt.Println("lost, so nothing happens:", errors.Is(move(l, "b", "c"), recipes.ErrLost))
	fmt.Println(srv.Children("/"))
	// Output:
	// placed: <nil>
	// moved: <nil>
	// not there, so nothing happens: true
	// lost, so nothing happens: true
	// [locks shard-7-on-b zookeeper]
}
