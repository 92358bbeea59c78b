// Package fence is the resource's side of a distributed lock.
//
// A lock gives liveness: of those who ask, one goes ahead. It cannot give
// safety alone, because a holder that was paused wakes up still believing that
// it holds. What keeps data safe is a token that grows with every grant, sent
// along with every write and checked where the data lives: a write with an
// older token than one already seen is refused.
//
// The package imports nothing but the standard library, so that a guarded
// service need not know of ZooKeeper.
package fence
