// Package zkrecipes is the root of a library of distributed coordination on
// Apache ZooKeeper; it holds no code of its own.
//
//   - recipes: connections, sessions, leases
//   - lock: distributed locks
//   - election: leader election
//   - barrier: barriers
//   - fence: the check of fencing tokens at the resource, with guards for SQL
//     databases, HTTP services and files below it
//   - zktest: a ZooKeeper server inside the test process
//   - cmd/zkr: the command line
package zkrecipes
