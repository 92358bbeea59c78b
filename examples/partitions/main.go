// Command partitions spreads the partitions of some work over all its processes.
//
// Each process makes itself a member, and the list of members says which
// partitions are whose. That list is only a plan: two processes may see it
// change at different times. What makes a process the owner of a partition is
// its lock, and what it writes for it is committed under that lock's lease. So a
// partition has no two owners while the plan changes, and one that is moved is
// taken up when the owner before has put it down.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

const (
	membersPath = "/partitions/members" // an ephemeral child for each process
	locksPath   = "/partitions/locks"   // a lock for each partition
	ownersPath  = "/partitions/owners"  // what owners write
)

func main() {
	connect := flag.String("connect", "localhost:2181", "the servers")
	id := flag.String("id", fmt.Sprintf("process-%d", os.Getpid()), "what to call this process")
	count := flag.Int("count", 12, "how many partitions there are")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := recipes.Dial(ctx, *connect, recipes.WithIdentity(*id))
	if err == nil {
		defer client.Close()
		err = (&process{client: client, id: *id, count: *count}).run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "partitions:", err)
		os.Exit(1)
	}
}

// process is one of those that share the partitions 0 to count−1.
type process struct {
	client *recipes.Client
	id     string
	count  int

	owners sync.WaitGroup
	stop   map[int]func() // by the partition that is to be ours; for run alone
}

// run takes part until ctx ends, over as many sessions as it takes.
func (p *process) run(ctx context.Context) error {
	p.stop = make(map[int]func())
	defer p.owners.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		err := p.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, recipes.ErrSessionExpired), errors.Is(err, recipes.ErrOutcomeUnknown):
			slog.Warn("member anew", "process", p.id, "cause", err)
		default:
			return err
		}
	}
}

// follow is a member for as long as the session lasts, and follows the plan.
func (p *process) follow(ctx context.Context) error {
	// One whose creation was not answered is found again by its name. Left behind,
	// it would be a member of whom nobody knows, and be given partitions.
	self, err := p.client.CreateProtected(ctx, recipes.Protected{Dir: membersPath, Name: "m-", Data: []byte(p.id)})
	if err != nil {
		return err
	}
	defer self.Discard()
	session := self.Session()
	if err := session.MakePersistent(ctx, ownersPath, nil); err != nil && !errors.Is(err, recipes.ErrNodeExists) {
		return err
	}
	for {
		members, _, changed, err := session.ChildrenWatch(ctx, membersPath)
		if err != nil {
			return err
		}
		p.take(ctx, share(path.Base(self.Path()), members, p.count))
		select {
		case <-changed.C:
		case <-ctx.Done():
		}
		changed.Stop()
	}
}

// share is the plan: every process makes the same of the same members. One that
// moves fewer partitions when a process comes or goes would do as well: that none
// has two owners is not the plan's business.
func share(self string, members []string, count int) map[int]bool {
	slices.SortFunc(members, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	mine := make(map[int]bool)
	for i := range count {
		if len(members) > 0 && members[i%len(members)] == self {
			mine[i] = true
		}
	}
	return mine
}

// number is the end of a member's name, which tells in which order they came.
func number(member string) string { return member[strings.LastIndexByte(member, '-')+1:] }

// take begins to own, or to wait for, the partitions that became ours, and puts
// down the others.
func (p *process) take(ctx context.Context, mine map[int]bool) {
	for i, stop := range p.stop {
		if !mine[i] {
			stop()
			delete(p.stop, i)
		}
	}
	for i := range mine {
		if p.stop[i] == nil {
			ctx, cancel := context.WithCancel(ctx)
			p.stop[i] = cancel
			p.owners.Go(func() { p.own(ctx, i) })
		}
	}
}

// own owns a partition again and again, until ctx ends.
func (p *process) own(ctx context.Context, i int) {
	mu, err := lock.NewMutex(p.client, fmt.Sprintf("%s/%d", locksPath, i))
	for err == nil && ctx.Err() == nil {
		err = mu.Do(ctx, func(ctx context.Context, l *recipes.Lease) error { return p.work(ctx, l, i) })
		if errors.Is(err, recipes.ErrLost) || errors.Is(err, recipes.ErrOutcomeUnknown) {
			err = nil // begin anew
		}
	}
	if ctx.Err() == nil {
		slog.Error("partition given up", "process", p.id, "partition", i, "cause", err)
	}
}

// work does what is to be done for a partition: here it writes down whose it is,
// once a second, under the lease or not at all.
func (p *process) work(ctx context.Context, l *recipes.Lease, i int) error {
	owner := fmt.Sprintf("%s/%d", ownersPath, i)
	if err := l.Session().MakePersistent(ctx, owner, nil); err != nil && !errors.Is(err, recipes.ErrNodeExists) {
		return err
	}
	for {
		if _, err := l.Txn(ctx, recipes.SetOp(owner, []byte(p.id), -1)); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}
