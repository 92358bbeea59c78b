// Command cron is a nightly job that cron starts on every node, and that is done
// once a night, by whichever node comes first.
//
// Who finds the lock taken waits: should the node that holds it die, the next one
// does the job. Who comes to hold it later finds the night's report there and has
// nothing to do. A node that was paused and believes that it still holds the lock
// writes nothing: the report is in a znode that knows the token of the holder.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/zkfence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	lockPath   = "/cron/lock"
	reportPath = "/cron/report"
)

func main() {
	connect := flag.String("connect", "localhost:2181", "the servers")
	night := flag.String("night", time.Now().UTC().Format(time.DateOnly), "which night's report to make")
	within := flag.Duration("within", time.Hour, "how long to wait for the others")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *within)
	defer cancel()

	client, err := recipes.Dial(ctx, *connect)
	if err == nil {
		defer client.Close()
		err = nightly(ctx, client, *night, compute)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cron:", err)
		os.Exit(1)
	}
	fmt.Println("the report is there")
}

// errDone says that the night's report is there.
var errDone = errors.New("done already")

// nightly sees to it that the night's report is there when it returns nil.
func nightly(ctx context.Context, client *recipes.Client, night string, compute func(context.Context) ([]byte, error)) error {
	report, err := zkfence.New(client, reportPath)
	if err != nil {
		return err
	}
	// The guard refuses earlier holders from before our function begins.
	mu, err := lock.NewMutex(client, lockPath, lock.WithGuards(report))
	if err != nil {
		return err
	}
	err = mu.Do(ctx, func(ctx context.Context, l *recipes.Lease) error {
		if err := missing(ctx, report, l.Token(), night); err != nil {
			return err
		}
		body, err := compute(ctx) // ctx ends in time to stop before the lease ends
		if err != nil {
			return err
		}
		return report.Update(ctx, fence.Stamp{Token: l.Token()}, func([]byte) ([]byte, error) {
			return append([]byte(night+"\n"), body...), nil
		})
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// missing returns errDone if the night's report is there.
func missing(ctx context.Context, report *zkfence.Znode, token fence.Token, night string) error {
	return report.Read(ctx, token, func(ctx context.Context) error {
		if bytes.HasPrefix(*zkfence.ContentsFrom(ctx), []byte(night+"\n")) {
			return errDone
		}
		return nil
	})
}

// compute is where the work would be.
func compute(ctx context.Context) ([]byte, error) {
	fmt.Println("this node makes the report")
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Second):
		return []byte("made by " + host), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
