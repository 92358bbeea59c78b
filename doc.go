// Package zkrecipes is the root of a library of distributed coordination on
// Apache ZooKeeper; it holds no code of its own.
//
//   - recipes: connections, sessions, leases
//   - lock: distributed locks
//   - fence: the check of fencing tokens at the resource
//   - zktest: a ZooKeeper server inside the test process
//   - cmd/zkr: the command line
package zkrecipes
