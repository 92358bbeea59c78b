package zkserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Provider is a way to come by servers.
type Provider string

const (
	// External uses the servers that ZK_SERVERS names. They cannot be killed,
	// frozen, restarted or wiped.
	External Provider = "external"
	// Docker runs each server in a container.
	Docker Provider = "docker"
	// Local runs each server as a Java process.
	Local Provider = "local"
)

// errUnavailable is wrapped by errors that say why a provider cannot be used
// on this machine, as opposed to a server that failed.
var errUnavailable = errors.New("not available here")

// errForced is wrapped where whoever runs the tests has ruled a provider out.
var errForced = errors.New("ruled out")

// spec is what a provider needs to start one server.
type spec struct {
	name   string
	dir    string // holds everything the server reads and writes
	config string // path of zoo.cfg
	log    string // path of the file that its output is appended to
	jvm    []string
}

// launcher starts servers of one version.
type launcher interface {
	String() string // for people: what runs, and from where
	launch(context.Context, spec) (process, error)
	close() error
}

// process is a server that was launched. It runs until kill.
type process interface {
	running() bool
	kill() error // returns when the process is gone; repeatable
	freeze() error
	thaw() error
}

// launchers are made once for each provider and version: finding out what this
// machine has, and preparing it, takes seconds.
var launchers struct {
	sync.Mutex
	made map[string]*madeLauncher
}

type madeLauncher struct {
	once sync.Once
	launcher
	err error
}

func newLauncher(p Provider, version string) (launcher, error) {
	launchers.Lock()
	if launchers.made == nil {
		launchers.made = make(map[string]*madeLauncher)
	}
	key := string(p) + " " + version
	m, ok := launchers.made[key]
	if !ok {
		m = new(madeLauncher)
		launchers.made[key] = m
	}
	launchers.Unlock()
	m.once.Do(func() { m.launcher, m.err = chooseLauncher(p, version) })
	return m.launcher, m.err
}

// closeLaunchers is called by Main when no server runs any more.
func closeLaunchers() error {
	launchers.Lock()
	defer launchers.Unlock()
	var errs []error
	for _, m := range launchers.made {
		if m.err == nil {
			errs = append(errs, m.close())
		}
	}
	launchers.made = nil
	return errors.Join(errs...)
}

// chooseLauncher takes what the test or ZK_PROVIDER names, else Docker where an
// engine answers, else local processes.
func chooseLauncher(p Provider, version string) (launcher, error) {
	forced := Provider(os.Getenv("ZK_PROVIDER"))
	if p != "" && forced != "" && p != forced {
		return nil, fmt.Errorf("zkserver: %w: the test needs %s, ZK_PROVIDER is %s", errForced, p, forced)
	}
	switch p = cmp.Or(p, forced); p {
	case Docker:
		return newDocker(version)
	case Local:
		return newLocal(version)
	case "":
		r, errDocker := newDocker(version)
		if !errors.Is(errDocker, errUnavailable) {
			return r, errDocker
		}
		l, errLocal := newLocal(version)
		if errLocal != nil {
			return nil, errors.Join(errDocker, errLocal)
		}
		return l, nil
	default:
		return nil, fmt.Errorf("zkserver: provider %q: must be docker or local", p)
	}
}

// external returns what ZK_SERVERS names, unless another provider is forced.
func external(p Provider) (connect string, ok bool) {
	connect = os.Getenv("ZK_SERVERS")
	p = cmp.Or(p, Provider(os.Getenv("ZK_PROVIDER")), External)
	return connect, connect != "" && p == External
}
