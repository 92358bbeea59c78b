// Package peers runs other implementations of the recipes, Apache Curator's and
// kazoo's, as programs beside a test.
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
//	loop NAME PATH TURNS: take and give a mutex so often
//
// # Answers
//
// Each is a line EVENT NAME TOKEN FROM TO, with times of CLOCK_MONOTONIC in
// nanoseconds, to be compared with those of other processes of the machine. All
// that is held is held from FROM, read after it was granted, at least to the TO
// or FROM read before it was given up: what peers believe overlaps only if these
// intervals do. TOKEN is the czxid of the contender, 0 where the recipe has none.
//
//	held     since FROM
//	busy     the time to try was over
//	released was given up, begun at FROM and done at TO
//	turn     of a loop, held from FROM to TO; done ends the loop
//	set, removed (begun at FROM), passed: of a barrier
//	failed   why is on standard error
//	ready    comes first of all, for NAME -, with the session's id as TOKEN
package peers
