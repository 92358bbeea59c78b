// Package family_test lets the locks of this library contend with those of
// Apache Curator, kazoo and the client library for the same paths of a real
// server.
package family_test

import (
	"flag"
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// The contests wait for sessions to end most of the time, so that more of them
// go on side by side than there are processors, unless the flag says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	zkserver.Main(m)
}
