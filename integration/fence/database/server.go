package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/internal/child"
)

// errMissing is wrapped where a server's programs are not installed.
var errMissing = errors.New("not installed")

// startTimeout bounds the start of a server, recovery included, against hanging.
const startTimeout = 2 * time.Minute

// kind is how servers of one make are run.
type kind struct {
	name string
	// find returns the programs that make a server's data and run it.
	find func() (programs, error)
	// prepare and serve are the commands' arguments for a server's folder.
	prepare, serve func(dir string) []string
	ready          string // what the server prints when it takes connections
	driver         string
	version        string                            // asks for it
	source         func(dir, database string) string // "" is the server's own database
}

type programs struct{ prepare, serve string }

var kinds = map[sqlfence.Dialect]kind{sqlfence.PostgreSQL: postgreSQL, sqlfence.MySQL: speaksMySQL()}

// server is one of a kind, with a folder of its own.
type server struct {
	kind
	programs
	dir       string
	process   *child.Process
	databases int
}

// install makes the data of a server that does not run yet.
func install(d sqlfence.Dialect) (*server, error) {
	k := kinds[d]
	found, err := k.find()
	if err != nil {
		return nil, fmt.Errorf("database: %s: %w: %w", k.name, errMissing, err)
	}
	// Short, for the path of a Unix socket is bounded.
	dir, err := os.MkdirTemp("", "zkrdb")
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	s := &server{kind: k, programs: found, dir: dir}
	if err := s.prepareData(); err != nil {
		s.remove()
		return nil, fmt.Errorf("database: %s: %w", k.name, err)
	}
	return s, nil
}

func (s *server) prepareData() error {
	cmd, err := s.command(s.programs.prepare, s.kind.prepare(s.dir))
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", s.programs.prepare, err, out)
	}
	return nil
}

// command runs as an unprivileged user, whose the server's folder becomes: no
// such server runs as root.
func (s *server) command(program string, args []string) (*exec.Cmd, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	if os.Geteuid() != 0 {
		return cmd, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(nobody.Gid)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return cmd, os.Chown(s.dir, uid, gid)
}

// start returns when the server takes connections.
func (s *server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cmd, err := s.command(s.programs.serve, s.kind.serve(s.dir))
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	out := newWatch(s.ready)
	cmd.Stdout, cmd.Stderr = out, out
	s.process, err = child.Start(cmd)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	select {
	case <-out.seen:
		return nil
	case <-s.process.Done():
		return fmt.Errorf("database: %s ended: %w\n%s", s.programs.serve, s.process.Err(), out)
	case <-ctx.Done():
		s.kill()
		return fmt.Errorf("database: %s: %w\n%s", s.programs.serve, ctx.Err(), out)
	}
}

// kill returns when all processes of the server are gone: they hold its output,
// which is read to its end. PostgreSQL's lead process groups of their own, so
// they are killed one by one.
func (s *server) kill() {
	for _, pid := range s.children() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	s.process.Kill()
}

// children are safe to kill: the server reaps them, and it is stopped meanwhile.
func (s *server) children() (pids []int) {
	if s.process.Signal(syscall.SIGSTOP) != nil {
		return nil
	}
	pid := strconv.Itoa(s.process.PID())
	list, _ := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
	for _, field := range strings.Fields(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// remove ends the server and deletes its data.
func (s *server) remove() {
	if s.process != nil {
		s.kill()
	}
	_ = os.RemoveAll(s.dir)
}

// newDatabase makes a further database, connects to it, and tells by what.
func (s *server) newDatabase(ctx context.Context) (db *sql.DB, source string, err error) {
	admin, err := sql.Open(s.driver, s.source(s.dir, ""))
	if err != nil {
		return nil, "", fmt.Errorf("database: %w", err)
	}
	defer admin.Close()
	s.databases++
	name := fmt.Sprintf("t%d", s.databases)
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, "", fmt.Errorf("database: %w", err)
	}
	source = s.source(s.dir, name)
	db, err = sql.Open(s.driver, source)
	return db, source, err
}
