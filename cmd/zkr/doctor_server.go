package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// server is what the doctor has learned of one.
type server struct {
	addr    string
	session bool   // it began one
	version string // "" where it is not told
	mode    string
	granted time.Duration
}

// server examines one server.
func (d *doctor) server(ctx context.Context, addr, chroot string) (server, error) {
	s := server{addr: addr}
	if !d.reachable(ctx, addr) {
		return s, ctx.Err()
	}
	srvr, wordErr := d.word(ctx, addr, "srvr")
	if wordErr == nil {
		d.readSrvr(&s, srvr)
	}
	one := d.conn
	one.servers, one.within = addr+chroot, min(d.conn.within, perServer)
	client, err := one.dial(ctx)
	switch {
	case ctx.Err() != nil:
		return s, ctx.Err()
	case errors.Is(err, recipes.ErrAuthFailed):
		d.fault(addr, "credentials", "it refuses those of --auth-file")
		return s, nil
	case errors.Is(err, recipes.ErrNotConnected):
		if s.mode != "read-only" { // which readSrvr has told
			d.fault(addr, "session", "%s", d.whyNoSession(ctx, s, srvr, err))
		}
		return s, nil
	case err != nil:
		return s, err
	}
	defer client.Close()
	s.session = true
	session, err := client.Session(ctx)
	if err != nil {
		return s, err
	}
	d.granted(&s, session)
	d.latency(ctx, addr, session)
	d.settings(ctx, addr, errors.Is(wordErr, errNotAllowed))
	return s, ctx.Err()
}

// reachable reports whether something listens there.
func (d *doctor) reachable(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, min(d.conn.within, perServer))
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
		return true
	}
	dns := (*net.DNSError)(nil)
	why := "it does not answer: is the host down, or a firewall in between? (" + err.Error() + ")"
	switch {
	case errors.As(err, &dns):
		why = "its name is not known: " + dns.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "nobody listens there: is the server down, or the port another one?"
	}
	d.fault(addr, "reach", "%s", why)
	return false
}

// readSrvr takes in mode and version.
func (d *doctor) readSrvr(s *server, srvr string) {
	s.mode = field(srvr, "Mode:")
	version, _, _ := strings.Cut(field(srvr, "Zookeeper version:"), ",")
	s.version, _, _ = strings.Cut(version, "-")
	switch {
	case s.mode == "read-only":
		d.fault(s.addr, "mode", "it is read-only: it has lost the others, begins no session, and no lock can be had from it")
	case s.mode != "":
		d.ok(s.addr, "mode", "%s, version %s", s.mode, s.version)
	}
}

// whyNoSession explains why a server that listens begins no session.
func (d *doctor) whyNoSession(ctx context.Context, s server, srvr string, err error) string {
	ctx, cancel := context.WithTimeout(ctx, min(d.conn.within, perServer))
	defer cancel()
	if d.tls != nil {
		if why := d.whyNoTLS(ctx, s.addr, err); why != "" {
			return why
		}
	} else if speaksTLS(ctx, s.addr) {
		return "it speaks TLS, and was spoken to without: use --tls, with --tls-ca where its certificate is your own"
	}
	switch {
	case strings.Contains(srvr, "not currently serving requests"):
		return "it runs, but serves nobody: it has found no majority of the others"
	case s.mode != "" || strings.Contains(srvr, "whitelist"):
		return "it is a ZooKeeper server, but begins no session: " + explain(err)
	}
	return "what listens there does not speak ZooKeeper: is the port another one? (2181 is that of clients)"
}

// speaksTLS tries, without looking at the certificate.
func speaksTLS(ctx context.Context, addr string) bool {
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
		return true
	}
	alert := tls.AlertError(0)
	return errors.As(err, &alert) || strings.Contains(err.Error(), "remote error: tls:")
}

// speaksPlain reports whether a server answers without TLS.
func (d *doctor) speaksPlain(ctx context.Context, addr string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	text, err := wordOn(ctx, conn, "srvr")
	return err == nil || strings.Contains(text, "whitelist")
}

// granted compares the session timeout with what was asked for.
func (d *doctor) granted(s *server, session *recipes.Session) {
	s.granted = session.Timeout()
	switch {
	case s.granted < d.conn.timeout:
		d.fault(s.addr, "timeout", "it grants %v, not the %v of --session-timeout: leases end so much sooner; raise maxSessionTimeout, or ask for less", s.granted, d.conn.timeout)
	case s.granted > d.conn.timeout:
		d.note(s.addr, "timeout", "it grants %v, not the %v of --session-timeout: who crashes keeps others waiting for that; minSessionTimeout is in the way", s.granted, d.conn.timeout)
	default:
		d.ok(s.addr, "timeout", "it grants %v", s.granted)
	}
}

// samples is how many requests a latency is measured by.
const samples = 5

// latency measures a read, and a write, which needs a majority.
func (d *doctor) latency(ctx context.Context, addr string, session *recipes.Session) {
	ctx, cancel := context.WithTimeout(ctx, min(d.conn.within, perServer))
	defer cancel()
	read, err := median(func() error { _, _, err := session.Exists(ctx, "/"); return err })
	var write time.Duration
	if err == nil {
		write, err = median(func() error { return session.Barrier(ctx) })
	}
	switch {
	case err != nil:
		d.fault(addr, "latency", "a request failed: %s", explain(err))
	case write > d.conn.timeout/10:
		d.fault(addr, "latency", "a write takes %v, more than a tenth of the session timeout: leases will be lost", write)
	default:
		d.ok(addr, "latency", "a read takes %v, a write %v", read, write)
	}
}

func median(request func() error) (time.Duration, error) {
	var took []time.Duration
	for range samples {
		start := time.Now()
		if err := request(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[samples/2].Round(10 * time.Microsecond), nil
}

// settings looks at what the four-letter words tell besides.
func (d *doctor) settings(ctx context.Context, addr string, denied bool) {
	conf, err := d.word(ctx, addr, "conf")
	if tick, ok := milliseconds(conf, "tickTime"); err == nil && ok {
		d.tick(addr, conf, tick)
	}
	big, err := d.dump(ctx, addr)
	for _, b := range big {
		d.fault(addr, "sessions", "session %s owns %d ephemeral znodes, %d KiB of paths: beyond twice jute.maxbuffer its end keeps every server from starting again; spread them over several", b.id, b.nodes, b.bytes>>10)
	}
	if err == nil && len(big) == 0 {
		d.ok(addr, "sessions", "none owns too many ephemeral znodes")
	}
	var silent []string
	if denied {
		silent = append(silent, "srvr")
	}
	if conf == "" || strings.Contains(conf, "whitelist") {
		silent = append(silent, "conf")
	}
	if err != nil {
		silent = append(silent, "dump")
	}
	if len(silent) > 0 {
		d.note(addr, "4lw", "it does not answer %s; with these in its 4lw.commands.whitelist more can be told here", strings.Join(silent, ", "))
	}
}

// tick compares the server's tick with what leases go by.
func (d *doctor) tick(addr, conf string, tick time.Duration) {
	least, told := milliseconds(conf, "minSessionTimeout")
	switch {
	case d.conn.tick != 0 && d.conn.tick < tick:
		d.fault(addr, "tick", "its tickTime is %v, --tick says %v: leases are unsafe", tick, d.conn.tick)
	case d.conn.tick == 0 && told && least < 2*tick:
		d.fault(addr, "tick", "its tickTime is %v, more than half of minSessionTimeout, %v: give --tick %v, and recipes.WithTickTime in programs, or leases are unsafe", tick, least, tick)
	default:
		d.ok(addr, "tick", "tickTime is %v; with --tick, and recipes.WithTickTime, leases bear longer outages", tick)
	}
}

func (d *doctor) dump(ctx context.Context, addr string) ([]bigSession, error) {
	ctx, cancel := context.WithTimeout(ctx, min(d.conn.within, perServer))
	defer cancel()
	conn, err := d.open(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	r, err := say(ctx, conn, "dump")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readDump(r)
}
