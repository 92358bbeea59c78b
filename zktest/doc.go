// Package zktest is a ZooKeeper server that runs inside a test.
//
// It speaks the real protocol, so that any client works on it, and follows a
// real server of version 3.8 in what clients can see: results, Stats, error
// codes, the order of events and replies, the numbering of transactions, the
// expiry of sessions. It needs no JVM, starts in no time, can be put through
// every kind of failure at a chosen moment, and runs on virtual time.
//
//	func TestMyService(t *testing.T) {
//		srv := zktest.Start(t)
//		conn, _, err := zk.Connect(srv.Addrs(), 10*time.Second)
//		...
//	}
//
// # What it is not
//
// It is for tests and demonstrations. It keeps everything in memory and
// nothing on disk, has no TLS, SASL, quotas or reconfiguration, and anybody who
// reaches its port can use it. Its servers agree by sharing a lock: it shows
// how clients fare when an ensemble fails, not whether an ensemble can.
//
// Where it differs from a real server that clients could tell: it limits neither
// connections per address nor requests under way; the client of a session that
// expires is not told of its own events before its connection closes; children
// come in another order, as arbitrary; four-letter words are all allowed, and
// there are six. A write is done as soon as the leader has it, so that no two
// overlap there. Sequential names given out at once where the numbers end turn
// negative on a real server, and stick here, but for those of one multi (see
// SetCreateCounter); and a part of a multi that it cannot read to its end shows,
// now and then, to what is sent right behind it to a real server of 3.8, never
// here.
//
// It follows 3.8.0 where later versions differ: there exists needs the
// permission to read, events carry their transaction, and a watch set once does
// not replace a persistent one.
//
// # Virtual time
//
// With WithInMemory the server runs in a testing/synctest bubble together with
// the clients: the expiry of a session of 30 s takes a millisecond, to the
// nanosecond when it should. Clients reach it through Server.Dial, which is a
// dialer as go-zookeeper takes it:
//
//	synctest.Test(t, func(t *testing.T) {
//		srv := zktest.Start(t, zktest.WithInMemory())
//		conn, _, err := zk.Connect(srv.Addrs(), 30*time.Second, zk.WithDialer(srv.Dial))
//		...
//		time.Sleep(time.Minute) // of virtual time
//	})
//
// Time stands still when the test's function and its cleanups have returned:
// what sleeps then never wakes, and the bubble fails. A test has to see to the
// end of all that it has begun, and to wait for what ends by itself. A
// recipes.Dial in vain is such a thing: it closes its connection in the
// background, one to two seconds after it has failed.
//
// # Faults
//
// A Hook waits for a certain request and loses it, or its reply, delays it,
// answers with an error, or calls a function:
//
//	srv.On(zktest.Match{Op: zktest.OpCreate, Path: "/locks/*"}).DropReply()
//
// An EventHook does the like to a watch event. A Cable joins one client to the
// servers and can be slow, cut, stalled or made to lose what it carries, in either
// direction. Server.ExpireSession, Cut, Freeze, Down, Restart, Wipe, Refuse and
// Isolate are the catastrophes; Create, Delete and SetCreateCounter what an
// operator may do.
//
// With WithFollowers there are several servers. A Member can lag, be cut off
// from its leader while it goes on to serve reads, or be deposed without
// noticing. The leader's clock of a session moves as in a real ensemble: only
// by the follower's answers to its pings, each half tick, and never by a
// request that the follower forwards.
//
// # What it costs
//
// As go test -bench . measures it in this package, the client's side and the
// kernel's included: a read on loopback takes 22 µs of processor time, a write
// 24 µs; 10,000 sessions with 50,000 ephemerals take 150 MB with their
// connections, in memory.
//
// # When a test fails
//
// Start logs what the server has seen of late: requests, replies, events,
// faults. Dump, Tree, Sessions, Requests and Watches show what is. A hook that
// was never hit fails the test, for then it did not test what it says; so does
// a session that ends with more ephemerals than a real ensemble survives.
package zktest
