// Command counter counts in a znode, together with the Java program beside it,
// which stands in the same queue by Apache Curator's InterProcessMutex.
//
// Each of them commits its write with a check of its own place in the queue, so
// that one that has lost the lock without knowing it changes nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	lockPath  = "/counter/lock"
	valuePath = "/counter/value"
)

func main() {
	connect := flag.String("connect", "localhost:2181", "the servers")
	times := flag.Int("times", 10, "how far to count")
	flag.Parse()
	if err := run(context.Background(), *connect, *times); err != nil {
		fmt.Fprintln(os.Stderr, "counter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, connect string, times int) error {
	client, err := recipes.Dial(ctx, connect)
	if err != nil {
		return err
	}
	defer client.Close()
	mu, err := lock.NewMutex(client, lockPath)
	if err != nil {
		return err
	}
	for range times {
		if err := mu.Do(ctx, increment); err != nil {
			return err
		}
	}
	return nil
}

func increment(ctx context.Context, l *recipes.Lease) error {
	session := l.Session()
	err := session.MakePersistent(ctx, valuePath, []byte("0"))
	if err != nil && !errors.Is(err, recipes.ErrNodeExists) {
		return err
	}
	data, _, err := session.Get(ctx, valuePath)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return err
	}
	_, err = l.Txn(ctx, recipes.SetOp(valuePath, strconv.AppendInt(nil, n+1, 10), -1))
	return err
}
