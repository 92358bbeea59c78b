// Package conformance holds the in-process server of package zktest to what
// real ZooKeeper servers of version 3.8 and 3.9 do.
//
// Each test states a fact, plays a script on every server with the same bare
// client, and writes down all that the clients see: replies with their codes,
// Stats and bodies, watch events, and the order of all of these. The
// transcripts must be equal. Times are left out, sessions go by names, and
// transaction ids count from the script's start, so that a transaction more or
// less is seen. A history of random operations from several sessions is
// compared in the same way, and shrunk to the few that matter where it differs.
//
// zktest follows 3.8. Where 3.9 differs from it, the test says so.
package conformance
