// Command gozookeeper takes and gives the lock of the client library by command.
// The commands are in the documentation of package peers.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/integration/peers/internal/actor"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(connect, timeout string) error {
	t, err := time.ParseDuration(timeout)
	if err != nil {
		return err
	}
	conn, events, err := zk.Connect([]string{connect}, t, zk.WithLogInfo(false), zk.WithEventCallback(tell))
	if err != nil {
		return err
	}
	defer conn.Close()
	for ev := range events {
		if ev.State == zk.StateHasSession {
			break
		}
	}
	actor.Say("ready", "-", conn.SessionID(), actor.Now(), 0)
	actor.Run(func(name string, words []string) (*actor.Held, error) {
		switch words[0] {
		case "lock":
			return take(conn, words[1])
		case "trylock":
			return try(conn, words[1], words[2])
		}
		return nil, fmt.Errorf("no such command: %s", words[0])
	})
	return nil
}

func tell(ev zk.Event) {
	if ev.Type == zk.EventSession && (ev.State == zk.StateDisconnected || ev.State == zk.StateExpired) {
		actor.Say("suspended", "-", 0, actor.Now(), 0)
	}
}

var attempts atomic.Int64

func take(conn *zk.Conn, dir string) (*actor.Held, error) {
	l := zk.NewLock(conn, dir, zk.WorldACL(zk.PermAll))
	mark := fmt.Sprintf("%d-%d", os.Getpid(), attempts.Add(1))
	if err := l.LockWithData([]byte(mark)); err != nil {
		return nil, err
	}
	token, err := first(conn, dir, mark)
	if err != nil {
		_ = l.Unlock()
		return nil, err
	}
	return &actor.Held{Token: token, GiveUp: l.Unlock}, nil
}

// try takes the lock if it gets it in so many milliseconds. The lock has no such
// thing: its contender stays behind otherwise, to the end of the process.
func try(conn *zk.Conn, dir, millis string) (*actor.Held, error) {
	bound, err := time.ParseDuration(millis + "ms")
	if err != nil {
		return nil, err
	}
	type outcome struct {
		held *actor.Held
		err  error
	}
	got := make(chan outcome, 1)
	go func() {
		held, err := take(conn, dir)
		got <- outcome{held, err}
	}()
	select {
	case o := <-got:
		return o.held, o.err
	case <-time.After(bound):
		return nil, nil
	}
}

// first returns the czxid of the first contender if it has the given data.
//
// The lock says that it is held as soon as nobody stands before its number, also
// where its own znode has gone with the session. So it must not be believed
// after one, without such a look.
func first(conn *zk.Conn, dir, mark string) (int64, error) {
	names, _, err := conn.Children(dir)
	if err != nil {
		return 0, err
	}
	if len(names) == 0 {
		return 0, errors.New("held without a znode")
	}
	head := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	data, stat, err := conn.Get(dir + "/" + head)
	if err != nil {
		return 0, err
	}
	if string(data) != mark {
		return 0, errors.New("held by somebody else")
	}
	return stat.Czxid, nil
}

func number(name string) string { return name[len(name)-10:] }
