package election_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
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

// The leader works until its context ends, and sends the token along with what
// it writes.
func ExampleElection_Run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, closeAll := dial(ctx)
	defer closeAll()

	guard := fence.NewMemory("report")
	report := ""
	e, err := election.New(c, "/election/reports", election.WithID("host-1"), election.WithGuards(guard))
	if err != nil {
		fmt.Println(err)
		return
	}
	err = e.Run(ctx, func(ctx context.Context, t *election.Term) error {
		err := guard.Write(ctx, fence.Stamp{Token: t.Token()}, func(context.Context) error {
			report = "by the leader"
			return nil
		})
		fmt.Println("leads:", e.IsLeader(), "written:", err == nil)
		stop() // as when the process is told to end
		<-ctx.Done()
		fmt.Println("in its place until it returns:", t.Err() == nil)
		return nil
	})
	fmt.Println("leads:", e.IsLeader(), "error:", err)
	fmt.Println("report:", report)
	// Output:
	// leads: true written: true
	// in its place until it returns: true
	// leads: false error: <nil>
	// report: by the leader
}

// A term that is held by hand.
func ExampleElection_Campaign() {
	ctx := context.Background()
	c, closeAll := dial(ctx)
	defer closeAll()
	e, _ := election.New(c, "/election/reports", election.WithID("host-1"))

	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	term, err := e.Campaign(wait)
	if err != nil {
		fmt.Println(err) // says who was in the way
		return
	}
	fmt.Println("token:", term.Token() > 0, "leads:", e.IsLeader())
	_ = term.Proclaim(ctx, []byte("10.0.0.1:8080"))
	leader, _ := e.Leader(ctx)
	fmt.Println("leader:", leader.Identity)

	_ = term.Resign(ctx)
	_, err = e.Leader(ctx)
	fmt.Println("no leader:", errors.Is(err, election.ErrNoLeader))
	// Output:
	// token: true leads: true
	// leader: 10.0.0.1:8080
	// no leader: true
}

// Who leads, now and after each change.
func ExampleElection_Observe() {
	ctx := context.Background()
	c, closeAll := dial(ctx)
	defer closeAll()
	e, _ := election.New(c, "/election/reports", election.WithID("host-1"))

	var term *election.Term
	for leader, err := range e.Observe(ctx) {
		switch {
		case err != nil:
			fmt.Println(err)
		case leader != nil:
			fmt.Println("leader:", leader.Identity)
			_ = term.Resign(ctx)
			continue
		case term == nil:
			fmt.Println("no leader yet")
			term, _ = e.Campaign(ctx)
			continue
		}
		fmt.Println("no leader any more")
		break
	}
	// Output:
	// no leader yet
	// leader: host-1
	// no leader any more
}
