package lock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// exampleClient starts a server in this process, and gives a client of it. In a program it
// is recipes.Dial(ctx, "zk1:2181,zk2:2181,zk3:2181").
func exampleClient(ctx context.Context) (*recipes.Client, func()) {
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	c, err := recipes.Dial(ctx, srv.ConnectString(), recipes.WithIdentity("worker-1"))
	if err != nil {
		panic(err)
	}
	return c, func() {
		c.Close()
		_ = srv.Close()
	}
}

// The usual way: the lock is held while the function runs, and the resource has
// heard of its token before it begins.
func ExampleMutex_Do() {
	ctx := context.Background()
	c, closeAll := exampleClient(ctx)
	defer closeAll()
	account := fence.NewMemory("account") // in a program one that outlives it, as of fence/sqlfence
	balance := 100

	mu, err := lock.NewMutex(c, "/locks/account", lock.WithGuards(account))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = mu.Do(ctx, func(ctx context.Context, l *recipes.Lease) error {
		return account.Write(ctx, fence.Stamp{Token: l.Token()}, func(context.Context) error {
			balance += 10
			return nil
		})
	})
	fmt.Println(balance, err)
	// Output: 110 <nil>
}

// Who cannot wait asks once, or bounds the wait, and is told who is in the way.
func ExampleMutex_TryLock() {
	ctx := context.Background()
	c, closeAll := exampleClient(ctx)
	defer closeAll()
	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		fmt.Println(err)
		return
	}
	held, err := mu.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = held.Release(ctx) }()

	_, err = mu.TryLock(ctx)
	fmt.Println("taken:", errors.Is(err, lock.ErrLocked))

	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = mu.Lock(soon)
	var wait *recipes.WaitError
	if errors.As(err, &wait) {
		fmt.Printf("gave up at position %d behind %s\n", wait.Position, wait.Holder.Identity)
	}
	// Output:
	// taken: true
	// gave up at position 1 behind worker-1
}

// Whoever wants the lock can ask for it; the holder decides.
func ExampleMutex_Revoke() {
	ctx := context.Background()
	c, closeAll := exampleClient(ctx)
	defer closeAll()
	mu, err := lock.NewMutex(c, "/locks/index")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = mu.Do(ctx, func(ctx context.Context, l *recipes.Lease) error {
		queue, err := mu.Queue(ctx)
		if err != nil {
			return err
		}
		for _, c := range queue {
			fmt.Println(c.Identity, "holds:", c.Holds)
		}
		if err := mu.Revoke(ctx); err != nil { // by somebody else, as a rule
			return err
		}
		select {
		case <-l.Revoked():
			fmt.Println("gives way")
		case <-ctx.Done():
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// worker-1 holds: true
	// gives way
}

// A writer lets readers in without letting go: no other writer gets between.
func ExampleRWMutex_Downgrade() {
	ctx := context.Background()
	c, closeAll := exampleClient(ctx)
	defer closeAll()
	rw, err := lock.NewRWMutex(c, "/locks/catalog")
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := rw.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = l.Release(ctx) }()
	// Write here. Then go on with reading, together with others:
	if err := rw.Downgrade(ctx, l); err != nil {
		fmt.Println(err)
		return
	}
	reader, err := rw.TryRLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = reader.Release(ctx) }()
	_, err = rw.TryLock(ctx)
	fmt.Println("a reader is in; a writer:", errors.Is(err, lock.ErrLocked))
	// Output: a reader is in; a writer: true
}

// Two at a time. Each participant names the same limit.
func ExampleSemaphore() {
	ctx := context.Background()
	c, closeAll := exampleClient(ctx)
	defer closeAll()
	sem, err := lock.NewSemaphore(c, "/semaphores/licenses", 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		permit, err := sem.TryAcquire(ctx)
		if err != nil {
			fmt.Println("none left:", errors.Is(err, lock.ErrLocked))
			continue
		}
		defer func() { _ = permit.Release(ctx) }()
		fmt.Println("a permit")
	}
	// Output:
	// a permit
	// a permit
	// none left: true
}

// Both accounts or none, whatever the order in which they are named.
func ExampleMulti() {
	ctx := context.Background()
	c, closeAll := exampleClient(ctx)
	defer closeAll()
	both, err := lock.NewMulti(c, []string{"/locks/accounts/7", "/locks/accounts/3"})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = both.Do(ctx, func(ctx context.Context, l *recipes.Lease) error {
		fmt.Println("holds", l.Path())
		fmt.Println("tokens:", l.TokenOf("/locks/accounts/3") > 0, l.TokenOf("/locks/accounts/7") > 0)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// holds /locks/accounts/3,/locks/accounts/7
	// tokens: true true
}

// Who cannot put the work into one function holds a lease, looks at it, and gives
// it back.
func ExampleMutex_Lock() {
	ctx := context.Background()
	c, closeAll := exampleClient(ctx)
	defer closeAll()
	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		fmt.Println(err)
		return
	}

	wait, cancel := context.WithTimeout(ctx, time.Minute) // for the wait alone
	l, err := mu.Lock(wait)
	cancel()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("holds:", l.Err() == nil && l.Remaining() > 0)
	fmt.Println("so say the servers:", l.Verify(ctx) == nil)
	fmt.Println("given back:", l.Release(ctx) == nil)
	fmt.Println("over:", errors.Is(l.Err(), recipes.ErrReleased))
	// Output:
	// holds: true
	// so say the servers: true
	// given back: true
	// over: true
}
