package database

import (
	"os"
	"os/exec"
	"path/filepath"
)

// MySQL itself, which scripts/mysql-server.sh fetches, is run in MariaDB's place
// where ZKR_MYSQLD names its server.
func speaksMySQL() kind {
	program := os.Getenv("ZKR_MYSQLD")
	if program == "" {
		return mariaDB
	}
	k := mariaDB
	k.name = "MySQL"
	k.find = func() (programs, error) {
		path, err := exec.LookPath(program)
		return programs{prepare: path, serve: path}, err
	}
	k.prepare = func(dir string) []string {
		return []string{"--no-defaults", "--initialize-insecure", "--datadir=" + filepath.Join(dir, "data")}
	}
	k.serve = func(dir string) []string {
		return append(mariaDB.serve(dir), "--mysqlx=OFF", "--secure-file-priv=NULL")
	}
	return k
}
