package database

import (
	"cmp"
	"os/exec"
	"path/filepath"
)

var postgreSQL = kind{
	name: "PostgreSQL",
	find: func() (programs, error) {
		// Debian keeps them out of the path, in a folder for each version.
		var dir string
		if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) > 0 {
			dir = filepath.Dir(found[len(found)-1])
		}
		serve, err := exec.LookPath(filepath.Join(dir, "postgres"))
		if err != nil {
			return programs{}, err
		}
		prepare, err := exec.LookPath(filepath.Join(dir, "initdb"))
		return programs{prepare: prepare, serve: serve}, err
	},
	prepare: func(dir string) []string {
		return []string{"-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}
	},
	serve: func(dir string) []string {
		return []string{"-D", filepath.Join(dir, "data"), "-c", "listen_addresses=", "-c", "unix_socket_directories=" + dir}
	},
	ready:   "database system is ready to accept connections",
	version: "SHOW server_version",
	driver:  "pgx",
	source: func(dir, database string) string {
		return "host=" + dir + " user=postgres sslmode=disable dbname=" + cmp.Or(database, "postgres")
	},
}
