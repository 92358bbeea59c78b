package main

import (
	"context"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// withClient connects, calls fn, and disconnects. The signals that end zkr end
// fn's context, and are the error then.
func withClient(ctx context.Context, conn *connection, fn func(context.Context, *recipes.Client) error) error {
	caught, stop := catch(ending)
	defer stop()
	ctx, stopWaiting := untilSignal(ctx, caught)
	defer stopWaiting()
	// Whom a reader that does not read keeps from ending can be asked once more.
	defer context.AfterFunc(ctx, stop)()
	client, err := conn.dial(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer client.Close()
	return ended(ctx, fn(ctx, client))
}

// onePath returns the only argument of a command, which names a lock or the like.
func onePath(args []string, usage string) (string, error) {
	if len(args) != 1 {
		return "", usagef("want %s", usage)
	}
	if err := recipes.CheckDir(args[0]); err != nil {
		return "", usagef("%s", explain(err))
	}
	return args[0], nil
}

// registerJSON registers the flag of the commands that print for machines too.
func registerJSON(fs *flags, json *bool) {
	fs.BoolVar(json, "json", false, "print for machines: one JSON object a line")
}
