package database

import (
	"os/exec"
	"path/filepath"
)

var mariaDB = kind{
	name: "MariaDB",
	find: func() (programs, error) {
		serve, err := exec.LookPath("mariadbd")
		if err != nil {
			serve, err = exec.LookPath("/usr/sbin/mariadbd") // not in every user's path
		}
		if err != nil {
			return programs{}, err
		}
		prepare, err := exec.LookPath("mariadb-install-db")
		return programs{prepare: prepare, serve: serve}, err
	},
	prepare: func(dir string) []string {
		return []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--auth-root-authentication-method=normal", "--skip-test-db"}
	},
	serve: func(dir string) []string {
		return []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--skip-networking",
			"--socket=" + filepath.Join(dir, "socket"), "--pid-file=" + filepath.Join(dir, "pid"),
			"--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=1"}
	},
	ready:   "ready for connections",
	version: "SELECT version()",
	driver:  "mysql",
	source: func(dir, database string) string {
		return "root@unix(" + filepath.Join(dir, "socket") + ")/" + database
	},
}
