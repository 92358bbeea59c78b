// Package lock gives distributed locks on ZooKeeper.
//
// # Guarantee
//
// A [Mutex] is held by at most one lease at a time, as every holder's own clock
// tells: a lease ends before any server may give the lock to somebody else.
// Waiters are served in the order in which they came. Each grant has a fencing
// token greater than that of every earlier grant of the same path.
//
// # What is not guaranteed
//
// A process that is paused past the end of its lease wakes up believing, until
// it looks at the lease. Send the token along with what you write, and check it
// where you write: see package fence. What else is excluded, package recipes
// says.
//
// # Peers
//
// Contenders are named as Apache Curator names them, so that its
// InterProcessMutex and go-zookeeper's Lock on the same path exclude ours and
// the other way round. kazoo's contenders are counted by ours; kazoo counts ours
// only where its lock is made with extra_lock_patterns=["lock-"], and Curator
// does not count kazoo's.
package lock
