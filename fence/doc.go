// Package fence is the resource's side of a distributed lock.
//
// A lock gives liveness: of those who ask, one goes ahead. It cannot give safety
// alone, because a holder that was paused wakes up still believing that it
// holds. What keeps data safe is a token that grows with every grant, sent along
// with every write and checked where the data lives. The package imports nothing
// but the standard library, so that a guarded service need not know of
// ZooKeeper. Guards for SQL databases, HTTP services and files are the packages
// below it; [Memory] is one for tests and for data that lives in one process.
//
// # Guarantee
//
// A [Guard] keeps, as durably as the resource itself, the highest stamp that it
// has admitted. It compares a write's stamp with that and applies the write in
// one atomic step, so once a grant's token stands there, by its first write or by
// [Install], no write of an earlier grant takes effect, however late it arrives.
//
// # What is not guaranteed
//
// A grant of which the resource has not heard protects nothing there: until its
// token stands, the holder before it may still write. Install it before the
// first look at what you are going to change. A resource belongs to one lock:
// tokens of different locks are numbers of one series, but the greater one is
// not the one that may write. A fence covers what its guard
// covers: a second way to the data that does not ask the guard is not fenced,
// and neither is what leaves the resource, such as an e-mail that was sent.
// Tokens are no secrets and no credentials: who may call the guard at all is for
// the resource's own authentication to say.
//
// # Failures
//
// A write that is refused with [ErrStale] has changed nothing. One that ends in
// [ErrOutcomeUnknown] has taken effect or not; a numbered one can be sent again
// under the same stamp, and [StaleError.Applied] tells that it had. A guard whose
// storage goes back, restored from a backup or failed over to a replica that
// lags, goes back with it: earlier tokens pass again until a current one is
// installed.
package fence
