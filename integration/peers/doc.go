// Package peers runs implementations of the recipes as programs beside a test:
// Apache Curator's, kazoo's, the lock of the client library that this one stands
// on, and this one.
//
//	c := peers.Curator(t, srv.ConnectString())
//	held := c.Do(ctx, "lock a /locks/x") // participant a of this process
//	c.Send("lock b /locks/x")            // b will wait
//	c.Do(ctx, "release a")
//	next := c.Await(ctx, "b")            // next.From ≥ the time at which a let go
//
// # Commands
//
// A peer is one process with one session. Its participants go by names and act
// side by side; each obeys its own commands in their order.
//
//	lock NAME PATH · rlock, wlock: a mutex, or one side of a read/write lock
//	trylock NAME PATH MILLIS · tryrlock, trywlock: for so long
//	acquire NAME PATH LIMIT · tryacquire NAME PATH LIMIT MILLIS: a permit of a semaphore
//	lead NAME PATH: an election, a LeaderLatch at Curator
//	enter NAME PATH N: a double barrier
//	release NAME: gives up what is held, leaves the barrier
//	set NAME PATH · remove NAME PATH · wait NAME PATH: a barrier
//	lockall NAME PATH,PATH…: several mutexes together
//	loop NAME TURNS MILLIS VERB …: take and give so often, and hold for so long,
//	  what the command without its name says, as loop a 10 5 acquire /sem 2
//	revocable NAME PATH: lock, ready to be asked for it back
//	revoke NAME ZNODE: ask a holder
//	downgrade NAME: what is held for writing is held for reading from now on
//	participants NAME PATH: lists the contenders for a mutex
//
// # Answers
//
// Each is a line EVENT NAME TOKEN FROM TO TEXT, with times of CLOCK_MONOTONIC in
// nanoseconds, to be compared with those of other processes of the machine. All
// that is held is held from FROM, read after it was granted, at least to the TO
// or FROM read before it was given up: what peers believe overlaps only if these
// intervals do. TOKEN is the czxid of the contender, 0 where the recipe has none.
//
//	held     since FROM
//	busy     the time to try was over
//	released was given up, begun at FROM and done at TO
//	turn     of a loop, held from FROM to TO; held comes before it, done ends the
//	         loop
//	revoked, asked: at the one who holds, and at the one who wants
//	participant a contender, its identity in TEXT; done ends the list
//	suspended the connection is lost, at FROM, for NAME -: who holds something
//	         may not rely on it any longer; Curator's state in TEXT, SUSPENDED
//	         or, later, LOST
//	set, removed (begun at FROM), passed: of a barrier
//	failed   why is on standard error
//	ready    comes first of all, for NAME -, with the session's id as TOKEN
package peers
