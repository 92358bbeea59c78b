// Package ports hands out loopback TCP ports to servers that bind them later.
//
// A port found by listening on :0 lies in the range that outgoing connections
// draw from, so it can be taken between the test's look and the server's bind.
// The ports here lie below that range, and a lock file per port, held until
// Release or the death of the process, keeps test binaries that run at the
// same time apart.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	first = 12000
	last  = 32000 // Linux's ephemeral ports begin at 32768
	tries = 1000
)

// Port is a reserved loopback port.
type Port struct {
	Number int
	lock   *os.File
}

// Addr is the port's loopback address.
func (p *Port) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number)) }

// Release gives the port back; a second call does nothing.
func (p *Port) Release() {
	if p.lock != nil {
		_ = p.lock.Close()
		p.lock = nil
	}
}

// Reserve returns a port on which nobody listens and which no other process
// that reserves its ports here will be given.
func Reserve() (*Port, error) {
	dir := filepath.Join(os.TempDir(), "zkrecipes-ports")
	// Several users of one machine share the folder, as they do its ports.
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("ports: %w", err)
	}
	for range tries {
		p, err := try(dir, first+rand.IntN(last-first))
		if err != nil {
			return nil, fmt.Errorf("ports: %w", err)
		}
		if p != nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("ports: no free port after %d tries", tries)
}

// try returns nil without an error where the port is somebody else's.
func try(dir string, number int) (*Port, error) {
	lock, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(number)), os.O_CREATE|os.O_RDWR, 0o666)
	if os.IsPermission(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := &Port{Number: number, lock: lock}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		p.Release()
		return nil, nil
	}
	l, err := net.Listen("tcp", p.Addr())
	if err != nil {
		p.Release()
		return nil, nil
	}
	_ = l.Close()
	return p, nil
}
