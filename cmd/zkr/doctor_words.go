package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// maxWord bounds an answer that is kept whole. That of dump is not.
const maxWord = 64 << 10

// errNotAllowed says that a server does not answer a four-letter word.
var errNotAllowed = errors.New("not in 4lw.commands.whitelist")

// open connects to a server as clients do.
func (d *doctor) open(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil || d.tls == nil {
		return conn, err
	}
	cfg := d.tls.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	secure := tls.Client(conn, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// say sends a four-letter word over a connection, which it closes when the reader
// that it returns is.
func say(ctx context.Context, conn net.Conn, word string) (io.ReadCloser, error) {
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, word); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// word asks a server a four-letter word.
func (d *doctor) word(ctx context.Context, addr, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, min(d.conn.within, perServer))
	defer cancel()
	conn, err := d.open(ctx, addr)
	if err != nil {
		return "", err
	}
	return wordOn(ctx, conn, word)
}

func wordOn(ctx context.Context, conn net.Conn, word string) (string, error) {
	r, err := say(ctx, conn, word)
	if err != nil {
		return "", err
	}
	defer r.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	text, err := io.ReadAll(io.LimitReader(r, maxWord))
	if len(text) > 0 { // some servers break the connection behind it
		err = nil
	}
	if err == nil && (len(text) == 0 || strings.Contains(string(text), "not in the whitelist")) {
		err = errNotAllowed
	}
	return string(text), err
}

// field returns what follows a key at the beginning of a line.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// milliseconds returns a setting of a server; ok is false where it is not told.
func milliseconds(conf, key string) (time.Duration, bool) {
	n, err := strconv.ParseInt(field(conf, key+"="), 10, 32)
	return time.Duration(n) * time.Millisecond, err == nil && n > 0
}

// bigSession is a session that owns more paths than the library lets one own.
type bigSession struct {
	id    string
	nodes int
	bytes int
}

// heavy is as much as one session may own. Beyond twice jute.maxbuffer, 1 MiB if
// it was not set, no server starts again after its end.
const heavy = 512 << 10

// readDump finds the sessions that own too many ephemerals in the answer to dump.
// It keeps one line of it at a time.
func readDump(r io.Reader) (big []bigSession, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 2<<20) // a path can be as long as a request
	seen, inEphemerals := false, false
	var now bigSession
	done := func() {
		if now.bytes > heavy && len(big) < maxNamed {
			big = append(big, now)
		}
	}
	for lines.Scan() {
		line := lines.Text()
		path, isPath := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "Sessions with Ephemerals"):
			seen, inEphemerals = true, true
		case !inEphemerals:
		case isPath:
			now.nodes++
			now.bytes += len(path)
		case strings.HasPrefix(line, "0x"):
			done()
			now = bigSession{id: strings.TrimSuffix(line, ":")}
		default: // connections come next
			inEphemerals = false
		}
	}
	done()
	if err := lines.Err(); err != nil || seen {
		return big, err
	}
	return nil, errNotAllowed
}
