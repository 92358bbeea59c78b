// Package lock gives distributed locks on ZooKeeper.
//
// [Mutex] is held by one at a time, [RWMutex] by any number of readers or one
// writer, [Semaphore] by a limited number; [Multi] takes several mutexes
// together. All of them give out leases of package recipes.
//
// # Guarantee
//
// Two leases that exclude each other do not overlap, as every holder's own clock
// tells: a lease ends before any server may give the lock to somebody else.
// Who comes first is served first. Each exclusive grant, of a Mutex, a writer or
// a Multi, has a fencing token greater than that of every earlier exclusive
// grant of the same path. A call returns a lease that is held, or an error and
// nothing that stays behind.
//
// # What is not guaranteed
//
// A process that is paused past the end of its lease wakes up believing, until
// it looks at the lease. Send the token along with what you write, and check it
// where you write: see package fence. What else is excluded, package recipes
// says.
//
// # Many waiters in one process
//
// Each call stands in the queue for itself, as if it came from another process,
// so that other processes have their turn where they came. That costs a znode, a
// watch, and a read of the whole queue on arrival, which those of a process that
// come together share. At its turn it reads the queue again only if the one
// before it was of another process, or of another Mutex of the same path, or gave
// up. 1,000 goroutines on one path cost three requests and half a kilobyte of
// answers for each hand-over, and each some 13 KiB of memory while it waits, 25
// KiB where there are 10,000, its stack included. Where thousands of one process
// want one lock, let them queue for a local one first.
//
// # Peers
//
// Contenders are named as Apache Curator names them, so that its recipes and
// go-zookeeper's Lock on the same path exclude ours and the other way round.
// kazoo's contenders are counted by ours; kazoo counts ours only where its lock
// is made with extra_lock_patterns=["lock-"], or ours with [WithKazooNames], and
// Curator does not count kazoo's. The README has the table of who excludes whom.
package lock
