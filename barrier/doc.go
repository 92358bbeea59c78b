// Package barrier gives barriers on ZooKeeper: one that holds everybody back
// while it is set, and one through which a number of participants go together.
//
// # Guarantee
//
// [Barrier.Wait] returns when a barrier that was set when it was called, or has
// been set since, was removed, or when none was set. [Double.Enter] returns
// without an error only after so many participants were there at one instant.
// Nothing else lets anybody through: no event of the connection, no other znode,
// and nothing that a server shows which lags behind.
//
// A participant that gives up or dies is not counted, and nobody waits for it; one
// that comes again is counted once. No call leaves a participant's znode behind:
// it is deleted in the background when the call fails, until it is gone or its
// session is over. The mark of a round under way may be left behind where all of
// the round die; it lets nobody in, and the next to come delete it.
//
// # What is not guaranteed
//
// A participant that dies is seen to be dead when its session is over, up to the
// session timeout and two ticks later; until then it counts. One that gives up in
// the instant in which a round is completed may have been counted: the others go
// through, as if it had died right behind the barrier. A barrier protects
// nothing; what must not be written by two needs a lock and its token.
//
// # Failure model
//
// It is that of package recipes. Calls go on over lost connections and sessions
// until their context ends.
//
// # Peers
//
// The znodes are those of Apache Curator's DistributedBarrier and
// DistributedDoubleBarrier and of kazoo's Barrier and DoubleBarrier. Theirs and
// ours wait for each other; their own flaws stay theirs.
package barrier
