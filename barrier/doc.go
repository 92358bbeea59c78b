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
//
// That goes for more participants than n, too: whoever comes when a round is under
// way joins it, and none of ours goes out before all who are in have set out. But
// theirs join without a trace, and wait on their way out until nobody is there; and
// kazoo's take away what tells that a round is under way as soon as one of them
// sets out. So ours wait on their way out for all of theirs that were there, and
// with kazoo's for all of ours, too, whether these have got in or not; and theirs
// wait for who has come for the next round. In this way some may wait for each
// other until a context of ours ends, or a time limit of theirs. Then the others go
// on: give both calls a deadline there, and enter again. A kazoo that comes just as
// a round ends may wait for ever (2.8), and then all others wait for it until their
// deadlines.
package barrier
