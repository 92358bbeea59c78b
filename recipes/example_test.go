package recipes_test

import (
	"context"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// One client serves a whole process: locks, elections and barriers are made with it.
func ExampleDial() {
	srv, err := zktest.New() // in a program: a real ensemble
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // to wait for the first session
	defer cancel()
	c, err := recipes.Dial(ctx, srv.ConnectString()+"/billing", // as "zk1:2181,zk2:2181,zk3:2181/billing"
		recipes.WithSessionTimeout(10*time.Second),
		recipes.WithTickTime(2*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	session, err := c.Session(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	state, _ := c.State()
	fmt.Println(state, session.Timeout())
	// Output: connected 10s
}

// A function deep down finds the lease that it works under, and need not be given
// it.
func ExampleLeaseFrom() {
	ctx := context.Background()
	srv, err := zktest.New()
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
	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		fmt.Println(err)
		return
	}

	save := func(ctx context.Context) {
		l, ok := recipes.LeaseFrom(ctx)
		fmt.Println(ok && l.Err() == nil)
	}
	save(ctx)
	err = mu.Do(ctx, func(ctx context.Context, _ *recipes.Lease) error {
		save(ctx)
		return nil
	})
	fmt.Println(err)
	// Output:
	// false
	// true
	// <nil>
}

// What happens can be counted, measured and logged, without a change of what is
// traced.
func ExampleWithTrace() {
	ctx := context.Background()
	srv, err := zktest.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := recipes.Dial(ctx, srv.ConnectString(), recipes.WithTrace(recipes.Trace{
		Granted:  func(e recipes.LeaseEvent) { fmt.Println("granted", e.Path) },
		Released: func(e recipes.LeaseEvent) { fmt.Println("released", e.Path, e.Err) },
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = mu.Do(ctx, func(context.Context, *recipes.Lease) error {
		fmt.Println("at work")
		return nil
	})
	fmt.Println(err)
	// Output:
	// granted /locks/report
	// at work
	// released /locks/report <nil>
	// <nil>
}

// A recipe of one's own: follow a znode. The watch says when to look again.
func ExampleSession_GetWatch() {
	ctx := context.Background()
	srv, err := zktest.New()
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
	session, err := c.Session(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := session.MakePersistent(ctx, "/config", []byte("1")); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		data, _, changed, err := session.GetWatch(ctx, "/config")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(data))
		if err := srv.SetData("/config", []byte("2")); err != nil { // somebody else
			fmt.Println(err)
			return
		}
		<-changed.C
		changed.Stop()
	}
	// Output:
	// 1
	// 2
}

// An ensemble was restored from an older state, and a resource remembers a token
// of the one before. From the raise on, tokens are greater.
func ExampleClient_RaiseFenceBase() {
	ctx := context.Background()
	srv, err := zktest.New()
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
	const standing = 4294967321 // says the resource

	ahead := func() bool {
		now, err := c.TokenNow(ctx, "/locks/report")
		return err == nil && now <= standing
	}
	fmt.Println(ahead())
	if _, _, err := c.RaiseFenceBase(ctx, "/locks/report", standing); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ahead())
	// Output:
	// true
	// false
}
