// Package filefence guards the contents of a file.
//
//	f, err := filefence.New("/var/lib/report/latest")
//	err = f.Update(ctx, fence.Stamp{Token: lease.Token()}, func(old []byte) ([]byte, error) {
//		return render(old), nil
//	})
//
// # Guarantee
//
// Stamp and contents are one file, which is replaced as a whole: written beside
// it, flushed, renamed over it, the folder flushed. Whatever kills the process or
// stops the machine at any point leaves the old stamp with the old contents or
// the new with the new. Processes, and goroutines of one, take turns by a lock
// on a second file, the name followed by .lock, which the system lets go of when
// its holder dies.
//
// # What is not guaranteed
//
// Only what goes through this package is fenced. The file begins with a line of
// the package's own, so that others read it by [File.Contents]. Locks are those of
// a local file system; a network file system may know them on one machine only.
// Where flock is unknown (Windows), everything returns errors.ErrUnsupported.
//
// # Failures
//
// A file that was deleted has lost its fence: write empty contents instead. One
// that is damaged is refused with [ErrDamaged] and not taken for an unfenced one.
// A process that is stopped within an update keeps the others waiting until
// their contexts end. If the folder cannot be flushed after the rename, the
// update is a fence.ErrOutcomeUnknown.
package filefence
