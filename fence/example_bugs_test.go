package fence_test

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
)

// The blind delete: a holder that was paused tidies up, and deletes what by now
// is somebody else's.
func Example_blindDelete() {
	ctx := context.Background()
	guard := fence.NewMemory("claim")
	var claim string
	claimBy := func(token fence.Token, name string) {
		_ = guard.Write(ctx, fence.Stamp{Token: token}, func(context.Context) error {
			claim = name
			return nil
		})
	}

	claimBy(33, "worker-a")
	claimBy(34, "worker-b") // worker-a is paused
	claim = ""              // worker-a wakes up and tidies up
	fmt.Printf("unguarded: %q, and worker-b does not know\n", claim)

	claimBy(34, "worker-b")
	err := guard.Write(ctx, fence.Stamp{Token: 33}, func(context.Context) error {
		claim = ""
		return nil
	})
	fmt.Printf("guarded: %q, worker-a is told: %v\n", claim, err)
	// Output:
	// unguarded: "", and worker-b does not know
	// guarded: "worker-b", worker-a is told: fence: stale at claim: offered 33, standing 34: a later grant stands
}

// The unchecked token: it is sent along with each write, even stored, and
// compared with nothing.
func Example_uncheckedToken() {
	ctx := context.Background()
	type row struct {
		text  string
		token fence.Token
	}

	var stored row
	save := func(r row) { stored = r }
	save(row{"by 34", 34})
	save(row{"by 33, late", 33})
	fmt.Println("unchecked:", stored.text)

	guard := fence.NewMemory("row")
	checked := func(r row) error {
		return guard.Write(ctx, fence.Stamp{Token: r.token}, func(context.Context) error {
			stored = r
			return nil
		})
	}
	fmt.Println(checked(row{"by 34", 34}))
	fmt.Println(checked(row{"by 33, late", 33}))
	fmt.Println("checked:", stored.text)
	// Output:
	// unchecked: by 33, late
	// <nil>
	// fence: stale at row: offered 33, standing 34: a later grant stands
	// checked: by 34
}

// The unfenced side path: writes are guarded, and there is a second way to the
// same data, a nightly job say, that is not.
func Example_unfencedSidePath() {
	ctx := context.Background()
	guard := fence.NewMemory("prices")
	prices := map[string]int{"tea": 3}
	set := func(token fence.Token, price int) error {
		return guard.Write(ctx, fence.Stamp{Token: token}, func(context.Context) error {
			prices["tea"] = price
			return nil
		})
	}
	nightly := func(price int) { prices["tea"] = price } // "only we run at night"

	fmt.Println(set(34, 4))
	nightly(2) // began under 33
	fmt.Println("with the side path:", prices["tea"])

	fencedNightly := func(token fence.Token, price int) error { return set(token, price) }
	fmt.Println(set(34, 4))
	fmt.Println(fencedNightly(33, 2))
	fmt.Println("without it:", prices["tea"])
	// Output:
	// <nil>
	// with the side path: 2
	// <nil>
	// fence: stale at prices: offered 33, standing 34: a later grant stands
	// without it: 4
}

// What leaves the resource is not fenced: a mail that was sent is sent, whatever
// becomes of the write that it told of. Store the mail along with the write, and
// let another process send what is stored.
func Example_email() {
	ctx := context.Background()
	guard := fence.NewMemory("order")
	var status string
	var outbox []string
	ship := func(token fence.Token, send func(string)) error {
		return guard.Write(ctx, fence.Stamp{Token: token}, func(context.Context) error {
			status = "shipped"
			send("your order was shipped")
			return nil
		})
	}
	_ = guard.Install(ctx, 34)

	fmt.Println("sent: your order was shipped") // by 33, before it writes
	fmt.Println(ship(33, func(string) {}))
	fmt.Printf("status: %q, and the mail is out\n", status)

	fmt.Println(ship(33, func(mail string) { outbox = append(outbox, mail) }))
	fmt.Printf("status: %q, mails to send: %d\n", status, len(outbox))
	// Output:
	// sent: your order was shipped
	// fence: stale at order: offered 33, standing 34: a later grant stands
	// status: "", and the mail is out
	// fence: stale at order: offered 33, standing 34: a later grant stands
	// status: "", mails to send: 0
}
