// Package database runs the databases that the tests of package fence write to:
// PostgreSQL and MariaDB as processes of their own, SQLite in the test's.
//
// A server listens on a Unix socket in its own folder and nowhere else, runs as
// an unprivileged user, flushes what it commits, and dies with the test binary.
// Nothing of the machine's own database services is used or touched. Where a
// server is not installed, its tests are skipped, or fail where CI is set.
package database
