package main

import (
	"context"
	"fmt"
	"net"
	"os/signal"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

func testserverCommand() command {
	return command{
		name:  "testserver",
		args:  "[flags]",
		short: "run a ZooKeeper server to try things out on",
		long:  testserverManual,
		setup: func(fs *flags) runner {
			t := testserver{env: fs.env}
			fs.StringVar(&t.listen, "listen", "127.0.0.1:0", "the `ADDRESS` to listen on; port 0 is any that is free")
			fs.DurationVar(&t.tick, "tick", 2*time.Second, "the tickTime, a `DURATION`; sessions last for 2 to 20 of them")
			return noArgs("testserver", t.run)
		},
	}
}

const testserverManual = `
The first line on stdout is its address, as clients take it. It speaks the real
protocol, so that any ZooKeeper client works on it.

It keeps nothing: all data is in memory and gone when it ends, by SIGTERM or
Ctrl-C. There is one server, no replica, and no access control worth the name:
anybody who reaches the port can use it.
`

type testserver struct {
	env    env
	listen string
	tick   time.Duration
}

func (t *testserver) run(ctx context.Context) error {
	if _, _, err := net.SplitHostPort(t.listen); err != nil {
		return usagef("--listen %q: want host:port", t.listen)
	}
	if t.tick < time.Millisecond {
		return usagef("--tick %v: want at least 1ms", t.tick)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	srv, err := zktest.New(zktest.WithListen(t.listen), zktest.WithTick(t.tick))
	if err != nil {
		return err
	}
	fmt.Fprintln(t.env.stdout, srv.ConnectString())
	fmt.Fprintln(t.env.stderr, "zkr: this server is for trying things out: it keeps nothing, all data is gone when it ends")
	fmt.Fprintf(t.env.stderr, "zkr: for commands in another terminal: export ZKR_CONNECT=%s\n", srv.ConnectString())
	<-ctx.Done()
	err = srv.Close()
	fmt.Fprintln(t.env.stderr, "zkr: the server has ended, and its data with it")
	return err
}
