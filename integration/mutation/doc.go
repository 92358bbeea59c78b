// Package mutation shows that the tests can fail. Each file in mutations breaks
// the library in one place, as somebody might who finds the code too careful,
// and names the tests that notice.
//
// The library carries no hooks for this: a mutation is laid over its source with
// go test -overlay. One that does not fit the source any more, that does not
// compile, or that no test notices fails the test. What a mutation looks like:
//
//	Whoever may read this learns what goes wrong.
//
//	fails lock TestThatNoticesIt
//	storm lock TestThatTakesLong
//
//	@@ lock/file.go
//	 a line that stays
//	-a line that goes
//	+a line that comes
//
// The lines that stay and go must be in the file exactly once, one after the
// other. Tests under storm run where the storms run in full.
package mutation
