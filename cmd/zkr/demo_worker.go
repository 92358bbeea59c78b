//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// report is what a worker tells the demo, as a line of JSON.
type report struct {
	What  string      // one of those below
	Token fence.Token `json:",omitempty"`
	Text  string      `json:",omitempty"`
	Ahead int         `json:",omitempty"`
}

// What a worker reports.
const (
	waits    = "waits"    // at position Ahead
	granted  = "holds"    // it has the lock, with Token
	believes = "believes" // it has looked at its lease, which holds
	writes   = "writes"   // it writes Text with Token; the answer comes as an order
	lost     = "has lost" // it has looked at its lease, which is lost; Text says how
	released = "releases" // it has given the lock back, or lost it
)

// What a worker is told, as a line.
const (
	look  = "look"  // look at the lease
	write = "write" // write, without another look
	free  = "free"  // give the lock back, and end
)

// worker is one of the demo's processes, as the demo sees it.
type worker struct {
	name    string
	cmd     *exec.Cmd
	orders  io.WriteCloser
	reports *json.Decoder
	token   fence.Token // with which it was granted the lock
	since   time.Time   // when it was
}

// hire starts a worker that asks for the lock at a path, or to lead there.
func (d *demo) hire(name, path string, lead bool) (*worker, error) {
	program, err := self()
	if err != nil {
		return nil, err
	}
	w := &worker{name: name, cmd: &exec.Cmd{
		Path: program, Args: []string{"zkr", "worker", "--session-timeout", d.timeout.String(), "--tick", d.tick.String(), "--identity", name, "--lead=" + strconv.FormatBool(lead), path},
		Env: d.env.vars, Stderr: d.env.stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pgid: d.guard.pid()},
	}}
	if w.orders, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.reports = json.NewDecoder(out)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	d.hired = append(d.hired, w)
	return w, nil
}

// tell gives a worker an order.
func (w *worker) tell(order string) error {
	_, err := fmt.Fprintln(w.orders, order)
	return err
}

// await waits for a worker's report of something. Where it waits may come in
// between; anything else is not what was to happen.
func (w *worker) await(what string) (report, error) {
	for {
		var r report
		if err := w.reports.Decode(&r); err != nil {
			return r, fmt.Errorf("%s has not reported that it %s: %w", w.name, what, err)
		}
		switch r.What {
		case what:
			return r, nil
		case waits:
		default:
			return r, fmt.Errorf("%s reports that it %s, not that it %s; is this machine too busy?", w.name, r.What, what)
		}
	}
}

// ask gives an order and waits for what is reported then.
func (w *worker) ask(order, what string) (report, error) {
	if err := w.tell(order); err != nil {
		return report{}, err
	}
	return w.await(what)
}

// stop stops the worker, as a debugger, a full memory or a suspended machine
// may, and returns when it stands still.
func (w *worker) stop() error {
	pid := w.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case !status.Stopped():
			return fmt.Errorf("%s has ended instead of stopping", w.name)
		default:
			return nil
		}
	}
}

// wake lets it go on.
func (w *worker) wake() error { return syscall.Kill(w.cmd.Process.Pid, syscall.SIGCONT) }

// workerCommand is what a worker's process runs.
func workerCommand() command {
	return command{
		name:   "worker",
		short:  "take part in the demo",
		hidden: true,
		setup: func(fs *flags) runner {
			l := &labour{env: fs.env, out: json.NewEncoder(fs.env.stdout)}
			l.conn.register(fs)
			l.conn.registerIdentity(fs, "identity")
			fs.BoolVar(&l.lead, "lead", false, "run for leadership instead of the lock")
			return l.run
		},
	}
}

// labour is a worker's life, as it sees it.
type labour struct {
	env  env
	conn connection
	lead bool
	out  *json.Encoder
}

func (l *labour) run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usagef("worker is for the demo itself")
	}
	client, err := l.conn.dial(ctx, recipes.WithTrace(recipes.Trace{Waiting: l.sayWait}))
	if err != nil {
		return err
	}
	defer client.Close()
	lease, err := l.contend(ctx, client, args[0])
	if err != nil {
		return err
	}
	if err := l.out.Encode(report{What: granted, Token: lease.Token()}); err != nil {
		return err
	}
	return l.obey(ctx, lease)
}

// seat is what a worker has got: a lease, and how to give it back.
type seat struct {
	*recipes.Lease
	giveBack func(context.Context) error
}

// contend waits for the lock, or for leadership.
func (l *labour) contend(ctx context.Context, c *recipes.Client, path string) (seat, error) {
	if l.lead {
		e, err := election.New(c, path, election.WithID(l.conn.identity))
		if err != nil {
			return seat{}, err
		}
		term, err := e.Campaign(ctx)
		if err != nil {
			return seat{}, err
		}
		return seat{term.Lease(), term.Resign}, nil
	}
	mu, err := lock.NewMutex(c, path)
	if err != nil {
		return seat{}, err
	}
	lease, err := mu.Lock(ctx)
	if err != nil {
		return seat{}, err
	}
	return seat{lease, lease.Release}, nil
}

// sayWait reports a position in the queue, of a lock or of an election.
func (l *labour) sayWait(ev recipes.WaitEvent) {
	_ = l.out.Encode(report{What: waits, Ahead: ev.Position})
}

// obey follows orders until there are no more.
func (l *labour) obey(ctx context.Context, lease seat) error {
	for orders := bufio.NewScanner(l.env.stdin); orders.Scan(); {
		var r report
		switch orders.Text() {
		case look:
			r = report{What: believes}
			if err := lease.Err(); err != nil {
				r = report{What: lost, Text: cause(err)}
			}
		case write:
			// A careful program has looked at the lease just before. However
			// careful: the pause may come after the look.
			r = report{What: writes, Token: lease.Token(), Text: "by " + l.conn.identity}
		case free:
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if err := lease.giveBack(ctx); err != nil && !errors.Is(err, recipes.ErrLost) {
				return err
			}
			return l.out.Encode(report{What: released})
		}
		if err := l.out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// cause says how a lease was lost.
func cause(err error) string {
	if e := (*recipes.LostError)(nil); errors.As(err, &e) {
		err = e.Cause
	}
	return explain(err)
}
