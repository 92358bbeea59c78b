// Package recipes connects to Apache ZooKeeper and gives the packages lock,
// election and barrier, and recipes of your own, the ground to stand on:
// sessions that end once, operations that keep to their context, and leases
// that end in time.
//
// # Guarantees
//
// A [Session] is one ZooKeeper session. It ends once and never comes back; what
// succeeds on it happened in it, and what is asked of it afterwards fails with
// [ErrSessionExpired]. Every call takes a context and returns near its end,
// whatever the server does.
//
// A [Lease] is one grant. It ends, at the latest, before any server may give
// the same grant to somebody else, as long as the process runs and its clock
// goes at a sane rate; no packet needs to arrive for that. Only a write that the
// ensemble committed extends it: a follower cut off from its leader answers
// reads and pings and proves nothing.
//
// No lock, election or barrier leaves a znode behind that nobody owns. What was
// created without anybody knowing is found and deleted in the background, until
// it is gone or its session is over. [Session.Create] says what it does itself.
//
// # What is not guaranteed
//
// A process that is paused past the end of its lease wakes up believing in it
// until it looks. Nothing on the client's side can help that: send
// [Lease.Token] along with what you write, and check it where you write, with
// package fence. The same holds for the moment between a look at the lease and
// the write it was meant for.
//
// The first grant on an idle session rests on a single write until it is proven
// by the next one, for an eighth of the session timeout at most;
// [WithStrictGrant] waits for the proof instead. An operator who deletes the
// znode of a holder takes the lock from it at once; the holder learns of it
// within the round trip of a watch, which is set a thirty-second of the session
// timeout after the grant at the latest, so that short sections need none.
// Whoever can reach the servers can end another client's session; network rules
// and TLS client certificates are against that, and the fence.
//
// # For authors of recipes
//
// What is named Owned, Created, Protected, Exchange, Claim and Deletion, with the
// methods that take or return them, is what the packages above stand on. It is
// there for recipes of your own, and asks for care: [Session.Grant] believes its
// caller that nobody stands before a contender. Users of locks, elections and
// barriers need none of it.
//
// # Failure model
//
// Messages are lost, late, or stuck for any time; connections, servers and the
// leader of the ensemble fail and come back; processes stop and go on. A
// majority of servers keeps what it has committed, and tickTime is the same on
// all of them and known, or at most half the smallest session timeout they
// grant (the servers' default is exactly half; see [WithTickTime]). Servers may
// grant different timeouts, and others after a restart: a session is shown to a
// server only once that has said what it grants, over a second connection, for
// which maxClientCnxns has to leave room. Servers behind one address have to grant
// the same, and none is told by JMX to grant less while it runs.
package recipes
