package database

import (
	"io"
	"log"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

func init() {
	// It would print each connection that a crash cuts.
	_ = mysql.SetLogger(log.New(io.Discard, "", 0))
}
