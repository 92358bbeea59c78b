// Package election elects leaders on ZooKeeper.
//
// # Guarantee
//
// At most one candidate of an election leads at any time, as every leader's own
// clock tells: a term ends before any server may let somebody else lead.
// Candidates lead in the order in which they came. Each term has a fencing token
// greater than that of every earlier term of the same path.
//
// Where [Election.Run] leads, the end of a term has one order: the function's
// context ends, the function returns, the place is given up, the next leader
// begins. A term that begins ends, also when the client is closed or the
// function panics; closing the client keeps the order for a function that
// returns within two seconds.
//
// # What is not guaranteed
//
// Order holds where the place is given up. Where it is lost, with the session or
// with its znode, nothing can hold the next leader back until a function returns
// that ignores its context. Nor does a process that was paused past the end of
// its term know, until it looks. Then only the token protects: send [Term.Token]
// along with what you write, and check it where you write; see package fence.
//
// There are no priorities. They fight with the order of arrival, and a candidate
// that is to lead sooner would have to make another one stop.
//
// What [Election.Leader], [Election.Candidates] and [Election.Observe] show is
// the view of one server, which may lag behind. The first in line is shown as
// the leader from the moment it is first, which is before it knows. It is for
// finding a leader and for people; whether to act as the leader, only the term
// says.
//
// # Failure model
//
// It is that of package recipes. A leader that dies is followed within the
// session timeout and two ticks; where the leader of the ensemble changes at the
// same time, the session's time begins anew. A leader that gives up is followed
// within a round trip or two.
//
// # Peers
//
// Candidates are named as Apache Curator names them, after its LeaderLatch or its
// LeaderSelector, or as kazoo's Election does; see [WithLayout]. Their
// candidates and ours stand in one queue, and each shows the others' ids.
package election
