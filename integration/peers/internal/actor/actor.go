// Package actor obeys the commands of package peers with recipes in Go.
package actor

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Held is what a participant holds.
type Held struct {
	Token   int64
	Ended   func() bool // nil where there is nothing to ask
	Revoked <-chan struct{}
	GiveUp  func() error
}

// Take takes what the words say, a command's without the name. It returns nil
// when the time is over.
type Take func(name string, words []string) (*Held, error)

// Run obeys the commands on standard input. Participants that wait when it ends
// are left to the end of the process.
func Run(take Take) {
	actors := make(map[string]*actor)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		name := words[1]
		if actors[name] == nil {
			actors[name] = &actor{name: name, take: take, commands: make(chan []string, 16)}
			go actors[name].run()
		}
		actors[name].commands <- append(words[:1:1], words[2:]...)
	}
}

var printing sync.Mutex

// Say prints an answer.
func Say(event, name string, token int64, from, to time.Duration, text ...string) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(strings.TrimSpace(fmt.Sprintf("%s %s %d %d %d %s", event, name, token, from, to, strings.Join(text, " "))))
}

// Now reads CLOCK_MONOTONIC.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

type actor struct {
	name     string
	take     Take
	commands chan []string
	held     *Held
}

func (a *actor) run() {
	for words := range a.commands {
		if err := a.obey(words); err != nil {
			fmt.Fprintln(os.Stderr, words, err)
			Say("failed", a.name, 0, Now(), 0)
		}
	}
}

func (a *actor) obey(words []string) error {
	switch words[0] {
	case "loop":
		return a.loop(words[1:])
	case "release":
		before := Now()
		if err := a.held.GiveUp(); err != nil {
			return err
		}
		Say("released", a.name, 0, before, Now())
		return nil
	}
	held, err := a.take(a.name, words)
	switch {
	case err != nil:
		return err
	case held == nil:
		Say("busy", a.name, 0, Now(), 0)
		return nil
	}
	a.held = held
	Say("held", a.name, held.Token, Now(), 0)
	if words[0] == "revocable" {
		<-held.Revoked
		Say("revoked", a.name, 0, Now(), 0)
	}
	return nil
}

// retreat is how long who tries in a loop stays away after a try in vain.
const retreat = 200 * time.Millisecond

// loop takes and gives. Connections and sessions may end meanwhile: a turn that
// was not given is tried again.
func (a *actor) loop(words []string) error {
	turns, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	dwell, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	for turns > 0 {
		held, err := a.take(a.name, words[2:])
		if err != nil {
			fmt.Fprintln(os.Stderr, words, err)
			continue
		}
		if held == nil { // the time to try was over: those come in who waited for us
			time.Sleep(retreat)
			continue
		}
		turns--
		from := Now()
		Say("held", a.name, held.Token, from, 0)
		to := held.believe(from, time.Duration(dwell)*time.Millisecond)
		Say("turn", a.name, held.Token, from, to)
		if err := held.GiveUp(); err != nil {
			fmt.Fprintln(os.Stderr, words, err)
		}
	}
	Say("done", a.name, 0, Now(), 0)
	return nil
}

// believe works for a while, step by step, and looks before each. It returns
// when it last found that it still holds.
func (h *Held) believe(from, dwell time.Duration) time.Duration {
	last := from
	for {
		at := Now()
		if h.Ended != nil && h.Ended() {
			return last
		}
		last = at
		if at-from >= dwell {
			return last
		}
		time.Sleep(time.Millisecond) // the work
	}
}
