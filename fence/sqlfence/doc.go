// Package sqlfence guards what lives in an SQL database: PostgreSQL, MariaDB or
// MySQL, SQLite. It stands on database/sql and on no driver.
//
//	fences, err := sqlfence.New(sqlfence.PostgreSQL)
//	err = fences.Verify(ctx, db) // once, at start: the table does what a fence needs
//	err = fences.Install(ctx, db, "report", lease.Token())
//	err = fences.Tx(ctx, db, "report", fence.Stamp{Token: lease.Token()}, func(tx *sql.Tx) error {
//		_, err := tx.ExecContext(ctx, "UPDATE report SET body = $1", body)
//		return err
//	})
//
// # Guarantee
//
// Each resource has a row in the table of fences, with the highest stamp that
// was admitted. [Fences.Tx] takes that row's lock, compares, and runs the
// caller's statements in the same transaction, so that stamp and effect commit
// together or not at all, and the writes of a resource follow one another. It
// holds at every isolation level: the lock is taken by the first statement, a
// writing or locking one, so that whatever the function reads it reads as the
// write before it left it. (Above READ COMMITTED, PostgreSQL refuses a
// transaction instead that had to wait for another.)
//
// A table with a fence column of its own does without transaction and row:
// [Column].
//
// # What is not guaranteed
//
// Nothing is retried. Deadlocks, serialization failures and a busy SQLite come
// back as the driver's error; nothing was changed then, and whether the function
// may run again only the caller knows. Nothing is fenced that the function does
// outside of its transaction: MySQL's DDL, which commits by itself, belongs
// there too.
//
// # Failures
//
// A holder that is paused within the transaction keeps the row locked, and the
// next one waiting, until the database gives up on it: set
// idle_in_transaction_session_timeout (PostgreSQL), idle_transaction_timeout
// (MariaDB) or wait_timeout (MySQL, where it ends idle connections too), and give
// the waiting side's context an end. A commit whose answer was lost is a fence.ErrOutcomeUnknown. The fence lasts as long as a commit of
// that database does: with synchronous_commit off, or after a failover to a
// replica that lags, it goes back together with the data that it guarded, and
// the current holder has to install its token again.
package sqlfence
