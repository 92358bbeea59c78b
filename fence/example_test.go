package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Holder 33 pauses, its lease ends, 34 is granted the lock and writes. When 33
// wakes up it still believes, and is refused.
func Example() {
	ctx := context.Background()
	guard := fence.NewMemory("report")
	var report string
	write := func(token fence.Token, text string) error {
		return guard.Write(ctx, fence.Stamp{Token: token}, func(context.Context) error {
			report = text
			return nil
		})
	}

	fmt.Println(write(33, "first draft"))
	// 33 pauses here.
	fmt.Println(write(34, "final"))
	// 33 wakes up.
	fmt.Println(write(33, "second draft"))
	fmt.Println("report:", report)
	// Output:
	// <nil>
	// <nil>
	// fence: stale at report: offered 33, standing 34: a later grant stands
	// report: final
}

// As before, but 33 wakes up when 34 has been granted the lock and has read, and
// not yet written. The resource has not heard of 34, so 33 still passes, and
// what 34 has read is out of date.
func Example_beforeActivation() {
	ctx := context.Background()
	guard := fence.NewMemory("counter")
	counter := 10
	set := func(token fence.Token, value int) error {
		return guard.Write(ctx, fence.Stamp{Token: token}, func(context.Context) error {
			counter = value
			return nil
		})
	}

	read := counter // by 34
	// 33 wakes up.
	fmt.Println("33:", set(33, counter+5))
	fmt.Println("34:", set(34, read+1))
	fmt.Println("counter:", counter, "(the 5 are lost)")
	// Output:
	// 33: <nil>
	// 34: <nil>
	// counter: 11 (the 5 are lost)
}

// A new holder installs its token before it looks. From then on what it sees is
// changed by nobody before it.
func ExampleInstall() {
	ctx := context.Background()
	guard := fence.NewMemory("counter")
	counter := 10
	set := func(token fence.Token, value int) error {
		return guard.Write(ctx, fence.Stamp{Token: token}, func(context.Context) error {
			counter = value
			return nil
		})
	}

	if err := fence.Install(ctx, 34, guard); err != nil {
		fmt.Println(err)
	}
	read := counter // by 34
	// 33 wakes up.
	fmt.Println("33:", set(33, counter+5))
	fmt.Println("34:", set(34, read+1))
	fmt.Println("counter:", counter)
	// Output:
	// 33: fence: stale at counter: offered 33, standing 34: a later grant stands
	// 34: <nil>
	// counter: 11
}

// A holder that numbers its writes can send one again whose answer was lost: it
// takes effect once.
func ExampleStaleError_Applied() {
	ctx := context.Background()
	guard := fence.NewMemory("account")
	balance := 0
	deposit := func(stamp fence.Stamp, amount int) error {
		return guard.Write(ctx, stamp, func(context.Context) error {
			balance += amount
			return nil
		})
	}

	stamp := fence.Stamp{Token: 34, Seq: 1}
	fmt.Println(deposit(stamp, 100)) // and the answer is lost on its way
	err := deposit(stamp, 100)
	var stale *fence.StaleError
	fmt.Println(errors.As(err, &stale) && stale.Applied())
	fmt.Println("balance:", balance)
	// Output:
	// <nil>
	// true
	// balance: 100
}
