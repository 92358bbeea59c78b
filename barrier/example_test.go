package barrier_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// dial starts a server in this process, and gives a client of it. In a program it
// is recipes.Dial(ctx, "zk1:2181,zk2:2181,zk3:2181").
func dial(ctx context.Context) (*recipes.Client, func()) {
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	c, err := recipes.Dial(ctx, srv.ConnectString())
	if err != nil {
		panic(err)
	}
	return c, func() {
		c.Close()
		_ = srv.Close()
	}
}

// Workers wait while a migration is on.
func ExampleBarrier() {
	ctx := context.Background()
	c, closeAll := dial(ctx)
	defer closeAll()
	migration, err := barrier.New(c, "/barriers/migration")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = migration.Set(ctx)

	var worker sync.WaitGroup
	worker.Go(func() {
		fmt.Println("worker goes on:", migration.Wait(ctx) == nil)
	})
	fmt.Println("migrated")
	_ = migration.Remove(ctx)
	worker.Wait()
	// Output:
	// migrated
	// worker goes on: true
}

// Three workers begin a phase together, and end it together.
func ExampleDouble() {
	ctx := context.Background()
	c, closeAll := dial(ctx)
	defer closeAll()
	const n = 3
	var workers sync.WaitGroup
	var mu sync.Mutex
	arrived := 0
	for range n {
		workers.Go(func() {
			phase, err := barrier.NewDouble(c, "/barriers/phase", n)
			if err != nil {
				return
			}
			mu.Lock()
			arrived++
			mu.Unlock()
			if err := phase.Enter(ctx); err != nil {
				return
			}
			mu.Lock()
			fmt.Println("in, with", arrived)
			mu.Unlock()
			_ = phase.Leave(ctx)
		})
	}
	workers.Wait()
	// Output:
	// in, with 3
	// in, with 3
	// in, with 3
}
