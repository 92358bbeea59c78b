package sqlfence

import (
	"fmt"
	"strconv"
	"strings"
)

// Dialect is the SQL that a database speaks.
type Dialect int

const (
	PostgreSQL Dialect = iota + 1
	MySQL              // MariaDB too
	SQLite             // from 3.35 on
)

// String returns the database's name.
func (d Dialect) String() string {
	if n, ok := names[d]; ok {
		return n
	}
	return fmt.Sprintf("Dialect(%d)", int(d))
}

var names = map[Dialect]string{PostgreSQL: "PostgreSQL", MySQL: "MySQL", SQLite: "SQLite"}

// statements of one dialect, written with ? for parameters and {fences} for
// the name of the table.
type statements struct {
	schema               string
	create               string // makes a resource's row where it is missing, with no stamp
	lock                 string // the row's stamp, its lock held for writing until the end of the transaction
	share                string // the same, its lock shared with other readers
	insert, look, update string
}

var dialects = map[Dialect]statements{
	PostgreSQL: {
		schema: `CREATE TABLE IF NOT EXISTS {fences} (
	resource VARCHAR(255) COLLATE "C" PRIMARY KEY,
	token BIGINT NOT NULL,
	seq BIGINT NOT NULL
)`,
		create: `INSERT INTO {fences} (resource, token, seq) VALUES (?, 0, 0) ON CONFLICT (resource) DO NOTHING`,
		// An update, not SELECT … FOR UPDATE: above READ COMMITTED a transaction
		// reads as of its first statement, before that has waited for the lock.
		// It must fail then rather than go on with what it can see, and only a
		// row that was changed makes it fail.
		lock:  `UPDATE {fences} SET token = token WHERE resource = ? RETURNING token, seq`,
		share: `SELECT token, seq FROM {fences} WHERE resource = ? FOR SHARE`,
	},
	MySQL: {
		// VARBINARY compares byte by byte; the usual collations take "A" for "a",
		// and most of them "a " for "a".
		schema: `CREATE TABLE IF NOT EXISTS {fences} (
	resource VARBINARY(255) NOT NULL PRIMARY KEY,
	token BIGINT NOT NULL,
	seq BIGINT NOT NULL
) ENGINE=InnoDB`,
		create: `INSERT INTO {fences} (resource, token, seq) VALUES (?, 0, 0) ON DUPLICATE KEY UPDATE token = token`,
		// InnoDB's transactions read as of their first plain SELECT, which comes
		// after this.
		lock:  `SELECT token, seq FROM {fences} WHERE resource = ? FOR UPDATE`,
		share: `SELECT token, seq FROM {fences} WHERE resource = ? LOCK IN SHARE MODE`,
	},
	SQLite: {
		schema: `CREATE TABLE IF NOT EXISTS {fences} (
	resource TEXT NOT NULL PRIMARY KEY,
	token INTEGER NOT NULL,
	seq INTEGER NOT NULL
)`,
		create: `INSERT INTO {fences} (resource, token, seq) VALUES (?, 0, 0) ON CONFLICT (resource) DO NOTHING`,
		// A transaction that begins by reading cannot write once somebody else
		// has; one that begins by writing waits for its turn.
		lock:  `UPDATE {fences} SET token = token WHERE resource = ? RETURNING token, seq`,
		share: `SELECT token, seq FROM {fences} WHERE resource = ?`, // a transaction's reads are of one moment
	},
}

// Statements that all dialects share.
const (
	insert = `INSERT INTO {fences} (resource, token, seq) VALUES (?, ?, ?)`
	look   = `SELECT token, seq FROM {fences} WHERE resource = ?`
	update = `UPDATE {fences} SET token = ?, seq = ? WHERE resource = ?`
)

// complete returns the dialect's statements for the table of that name.
func (d Dialect) complete(table string) statements {
	s := dialects[d]
	s.insert, s.look, s.update = insert, look, update
	for _, text := range []*string{&s.schema, &s.create, &s.insert, &s.lock, &s.share, &s.look, &s.update} {
		*text = d.rebind(strings.ReplaceAll(*text, "{fences}", table))
	}
	return s
}

// rebind numbers the parameters where the dialect has no question marks.
func (d Dialect) rebind(query string) string {
	if d != PostgreSQL {
		return query
	}
	var b strings.Builder
	for n, part := range strings.Split(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
	}
	return b.String()
}
