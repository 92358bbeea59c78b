// Command contestant runs the cases of package bench for one implementation in
// Go; the programs for Curator and kazoo are in package peers. All obey the same
// commands, one a line, and answer each with a line of JSON:
//
//	pair ADDR KIND N PATH: N times acquire and release, nobody else there
//	try ADDR KIND N PATH: N times try to take what somebody holds
//	handover ADDR KIND CONTENDERS TURNS PATH: contenders in sessions of their
//	  own come back as soon as they have let go
//	join ADDR KIND N PATH: N wait in one session for one lock, until "end"
//	hold ADDR KIND N PATH: N locks are held, until "end"; meanwhile "wait N"
//	  puts waiters behind the first N, and "back" answers once before, and once
//	  after the next reconnect
//	wait ADDR KIND PATH: answers when the lock is taken, and gives it back
//
// Its arguments are the implementation, and the timeout of its sessions in
// milliseconds. KIND is mutex, election, rw or semaphore. "nothing of the kind" answers what
// an implementation does not have.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// session is one connection of an implementation.
type session interface {
	// locker returns a lock of a kind; i numbers its users.
	locker(kind, path string, i int) (locker, error)
	close()
}

// locker is one lock. It is for one goroutine.
type locker interface {
	acquire(ctx context.Context) error
	release(ctx context.Context) error
}

// trier is a locker that can be tried.
type trier interface {
	try(ctx context.Context) (bool, error)
}

// errNone is the answer for what an implementation does not have.
var errNone = errors.New("nothing of the kind")

var implementations = map[string]func(ctx context.Context, addr string) (session, error){
	"zkrecipes":     openLibrary,
	"zkrecipes-raw": openOwnFloor,
	"go-zookeeper":  openGoZooKeeper,
	"floor":         openFloor,
	"etcd":          openEtcd,
}

// answer is what is said of a case. Times are nanoseconds.
type answer struct {
	Error string `json:"error,omitempty"`

	P50     int64   `json:"p50,omitempty"`
	P90     int64   `json:"p90,omitempty"`
	Took    int64   `json:"took,omitempty"`
	Ops     int     `json:"ops,omitempty"`
	Allocs  float64 `json:"allocs,omitempty"`      // per operation
	Bytes   float64 `json:"alloc_bytes,omitempty"` // per operation
	Heap    float64 `json:"heap,omitempty"`        // of each session, or lock
	Threads float64 `json:"threads,omitempty"`     // of each lock
	Spread  int     `json:"sessions,omitempty"`    // over how many sessions
	At      int64   `json:"at,omitempty"`          // CLOCK_MONOTONIC
}

type contestant struct {
	open  func(context.Context, string) (session, error)
	lines *bufio.Scanner
}

func main() {
	c := contestant{open: implementations[os.Args[1]], lines: bufio.NewScanner(os.Stdin)}
	var err error
	if timeout, err = time.ParseDuration(os.Args[2] + "ms"); err != nil {
		panic(err)
	}
	for c.lines.Scan() {
		a, err := c.obey(context.Background(), strings.Fields(c.lines.Text()))
		if err != nil {
			a = answer{Error: err.Error()}
		}
		say(a)
	}
}

func say(a answer) {
	line, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func (c *contestant) obey(ctx context.Context, words []string) (answer, error) {
	verb, addr, kind, path := words[0], words[1], words[2], words[len(words)-1]
	var numbers []int
	for _, w := range words[3 : len(words)-1] {
		n, err := strconv.Atoi(w)
		if err != nil {
			return answer{}, err
		}
		numbers = append(numbers, n)
	}
	switch verb {
	case "pair":
		return c.pair(ctx, addr, kind, numbers[0], path)
	case "try":
		return c.try(ctx, addr, kind, numbers[0], path)
	case "handover":
		return c.handover(ctx, addr, kind, numbers[0], numbers[1], path)
	case "join":
		return c.join(ctx, addr, kind, numbers[0], path)
	case "hold":
		return c.hold(ctx, addr, kind, numbers[0], path)
	case "wait":
		return c.wait(ctx, addr, kind, path)
	}
	return answer{}, fmt.Errorf("no such command: %s", verb)
}

// until reads lines and does what they say, to "end".
func (c *contestant) until(do func(words []string) error) error {
	for c.lines.Scan() {
		words := strings.Fields(c.lines.Text())
		if words[0] == "end" {
			return nil
		}
		if err := do(words); err != nil {
			return err
		}
	}
	return errors.New("no end")
}

// timeout is that of all sessions, and tick that of the servers.
var timeout time.Duration

const tick = 500 * time.Millisecond

// patience bounds what must not hang.
const patience = 5 * time.Minute
