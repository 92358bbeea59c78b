package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func doctorCommand() command {
	return command{
		name:  "doctor",
		args:  "[flags] [PATH...]",
		short: "find out what is wrong with an ensemble, or with the locks on it",
		long:  doctorManual,
		setup: func(fs *flags) runner {
			d := &doctor{findings: findings{env: fs.env}, now: time.Now}
			d.conn.register(fs)
			registerJSON(fs, &d.json)
			fs.Var(&d.standing, "standing", "the greatest `TOKEN` that stands at a resource of the PATHs")
			return func(ctx context.Context, args []string) error {
				d.paths = args
				for _, path := range args {
					if err := recipes.CheckDir(path); err != nil {
						return usagef("%s", explain(err))
					}
				}
				return d.run(ctx)
			}
		},
	}
}

const doctorManual = `
Looks at each server of --connect by itself, then at the ensemble, then at each PATH,
which is that of a lock, an election or a semaphore. It prints a line for each
finding, and exits with 82 if one of them is a fault:

    ok     as it should be
    note   worth knowing
    fault  what to repair, and how

Servers: whether they can be reached, speak TLS or not as they are spoken to, accept
the credentials and begin a session; the timeout that they grant against
--session-timeout; how long a read and a write take; mode and version; and, as far
as the four-letter words conf and dump are allowed (4lw.commands.whitelist),
tickTime against --tick, and sessions that own so many ephemeral znodes that their end
could stop the ensemble.

Ensemble: that there is one leader, that versions are the same, that containers can be
made, and how far the leader's clock is from this machine's. Leases do not depend on
that; ages that are shown do.

Paths: who may do what there; znodes that do not belong there, and contenders that no
session owns, behind which everybody waits for ever; the base of fencing tokens, and
with --standing whether a resource has seen a greater token than the ensemble can give
(see zkr fence).

It opens a session at each server and commits a few transactions that leave nothing
behind: a container and a znode in the directory of the first PATH, or in the root,
that it deletes at once. With --standing it makes the directories above a PATH where
they are missing, as a lock does.
`

// doctor is one run of zkr doctor.
type doctor struct {
	findings
	conn     connection
	standing tokenFlag
	paths    []string
	now      func() time.Time

	tls   *tls.Config
	creds []credential
	seen  []server
}

// patience of the doctor with one server, within --connect-timeout.
const perServer = 10 * time.Second

// exitFault says that something is to be repaired.
const exitFault = 82

func (d *doctor) run(ctx context.Context) (err error) {
	if d.tls, err = d.conn.tlsConfig(); err != nil {
		return err
	}
	if d.creds, err = d.conn.credentials(); err != nil {
		return err
	}
	caught, stop := catch(ending)
	defer stop()
	ctx, stopWaiting := untilSignal(ctx, caught)
	defer stopWaiting()
	if err := d.examine(ctx); err != nil {
		return ended(ctx, err)
	}
	if d.findings.err != nil {
		return d.findings.err
	}
	if d.faults > 0 {
		return &codedError{exitFault, fmt.Errorf("faults found: %d", d.faults)}
	}
	return nil
}

// examine goes from the parts to the whole. It returns an error only where it
// could not go on.
func (d *doctor) examine(ctx context.Context) error {
	addrs, chroot := splitServers(d.conn.servers)
	for _, addr := range addrs {
		s, err := d.server(ctx, addr, chroot)
		if err != nil {
			return err
		}
		d.seen = append(d.seen, s)
	}
	d.compare()
	if !d.reached() {
		return ctx.Err()
	}
	whole := d.conn
	whole.within = min(whole.within, perServer)
	client, err := whole.dial(ctx)
	if err != nil {
		if ctx.Err() != nil || !errors.Is(err, recipes.ErrNotConnected) {
			return err
		}
		d.fault("ensemble", "session", "%s", explain(err))
		return nil
	}
	defer client.Close()
	s, err := client.Session(ctx)
	if err != nil {
		return err
	}
	if err := d.ensemble(ctx, s); err != nil {
		return err
	}
	for _, path := range d.paths {
		if err := d.path(ctx, s, path); err != nil {
			return err
		}
	}
	return nil
}

func (d *doctor) reached() bool {
	for _, s := range d.seen {
		if s.session {
			return true
		}
	}
	return false
}

// splitServers takes a connect string apart.
func splitServers(servers string) (addrs []string, chroot string) {
	if i := strings.IndexByte(servers, '/'); i >= 0 {
		servers, chroot = servers[:i], servers[i:]
	}
	for _, addr := range strings.Split(servers, ",") {
		addr = strings.TrimSpace(addr)
		if _, _, err := net.SplitHostPort(addr); err != nil {
			addr = net.JoinHostPort(strings.Trim(addr, "[]"), "2181")
		}
		addrs = append(addrs, addr)
	}
	return addrs, chroot
}

// findings are what the doctor says.
type findings struct {
	env    env
	json   bool
	faults int
	err    error // of writing
}

// findingJSON is what --json says of a finding.
type findingJSON struct {
	Level   string `json:"level"`
	Subject string `json:"subject"`
	Check   string `json:"check"`
	Text    string `json:"text"`
}

func (r *findings) ok(subject, check, format string, args ...any) {
	r.say("ok", subject, check, format, args...)
}

func (r *findings) note(subject, check, format string, args ...any) {
	r.say("note", subject, check, format, args...)
}

func (r *findings) fault(subject, check, format string, args ...any) {
	r.faults++
	r.say("fault", subject, check, format, args...)
}

func (r *findings) say(level, subject, check, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	var err error
	if r.json {
		err = printJSON(r.env.stdout, findingJSON{level, subject, check, text})
	} else {
		_, err = fmt.Fprintf(r.env.stdout, "%-5s  %s  %s: %s\n", level, plain(subject), check, plain(text))
	}
	if r.err == nil {
		r.err = err
	}
}

// ahead says what it means that a resource has seen more than the ensemble can
// give.
func ahead(standing, now fence.Token) string {
	return fmt.Sprintf("%v is ahead of the ensemble, which gives tokens from %v on: every holder is refused there", standing, now+1)
}
