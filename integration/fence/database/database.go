package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

// Database is an empty database of a running server, for one test.
type Database struct {
	*sql.DB
	Name    string // of the product: what speaks MySQL's dialect is MariaDB, or MySQL where ZKR_MYSQLD is set
	Dialect sqlfence.Dialect
	Source  string // to open it by in another process; "" for SQLite

	server *server // nil for SQLite
}

// Each runs the test on each kind of database.
func Each(t *testing.T, test func(t *testing.T, db *Database)) {
	for _, d := range []sqlfence.Dialect{sqlfence.PostgreSQL, sqlfence.MySQL, sqlfence.SQLite} {
		t.Run(Name(d), func(t *testing.T) { test(t, Open(t, d)) })
	}
}

// EachServer runs the test on each kind that can be killed apart from it.
func EachServer(t *testing.T, test func(t *testing.T, db *Database)) {
	for _, d := range []sqlfence.Dialect{sqlfence.PostgreSQL, sqlfence.MySQL} {
		t.Run(Name(d), func(t *testing.T) { test(t, Open(t, d)) })
	}
}

// Name returns the name of the product that runs here for the dialect.
func Name(d sqlfence.Dialect) string {
	if k, ok := kinds[d]; ok {
		return k.name
	}
	return d.String()
}

// Open returns an empty database for the test. Tests of a package share the
// servers, so they must not run in parallel where one of them crashes any.
func Open(t testing.TB, d sqlfence.Dialect) *Database {
	t.Helper()
	if d == sqlfence.SQLite {
		return &Database{Name: Name(d), Dialect: d, DB: OpenSQLite(t, filepath.Join(t.TempDir(), "db"))}
	}
	s, err := shared(d)
	requireServer(t, err)
	return open(t, d, s)
}

// OpenAlone returns an empty database on a server of its own, for packages whose
// TestMain is not Main.
func OpenAlone(t testing.TB, d sqlfence.Dialect) *Database {
	t.Helper()
	s, err := launch(d)
	requireServer(t, err)
	t.Cleanup(s.remove)
	return open(t, d, s)
}

// requireServer skips the test where the server is not installed.
func requireServer(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errMissing) && os.Getenv("CI") == "" {
		note("SKIPPED " + t.Name() + ": " + err.Error())
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, d sqlfence.Dialect, s *server) *Database {
	t.Helper()
	db, source, err := s.newDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return &Database{Name: Name(d), Dialect: d, DB: db, Source: source, server: s}
}

// OpenSQLite opens the database in the file of that name, which it makes if it
// must, until the end of the test.
func OpenSQLite(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", SQLiteName(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// SQLiteName is what to open with the driver sqlite: writers wait for each
// other, and commits are flushed.
func SQLiteName(path string) string {
	return "file:" + path + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
}

// Version returns the product's name and version.
func (d *Database) Version(t testing.TB) string {
	t.Helper()
	query := "SELECT sqlite_version()"
	if d.server != nil {
		query = d.server.version
	}
	var v string
	if err := d.QueryRowContext(t.Context(), query).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return d.Name + " " + v
}

// Crash kills the server, every process of it, without a warning. SQLite has
// none to kill.
func (d *Database) Crash() { d.server.kill() }

// Restart starts the server again and returns when it has recovered.
func (d *Database) Restart(ctx context.Context) error { return d.server.start(ctx) }

// servers are the ones that a package's tests share, started at first need.
var servers struct {
	sync.Mutex
	running map[sqlfence.Dialect]*server
}

func shared(d sqlfence.Dialect) (*server, error) {
	servers.Lock()
	defer servers.Unlock()
	if s := servers.running[d]; s != nil {
		return s, nil
	}
	s, err := launch(d)
	if err != nil {
		return nil, err
	}
	if servers.running == nil {
		servers.running = make(map[sqlfence.Dialect]*server)
	}
	servers.running[d] = s
	return s, nil
}

// launch installs and starts a server.
func launch(d sqlfence.Dialect) (*server, error) {
	s, err := install(d)
	if err != nil {
		return nil, err
	}
	if err := s.start(context.Background()); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// Main is a package's TestMain: it runs the tests, stops what they shared, and
// fails if a goroutine is left.
func Main(m *testing.M) {
	code := m.Run()
	for _, s := range servers.running {
		s.remove()
	}
	if left := leakcheck.Leaked(); code == 0 && left != "" {
		fmt.Fprintln(os.Stderr, "database: goroutines left:\n"+left)
		code = 1
	}
	os.Exit(code)
}
