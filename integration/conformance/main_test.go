package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// compared counts the operations that were run on the servers and compared.
var compared struct{ scripted, random atomic.Int64 }

// TestMain compares the same random histories each time, but for ZKR_STORM=full,
// which compares many that are new.
func TestMain(m *testing.M) {
	histories, seed := "60", "1"
	if os.Getenv("ZKR_STORM") == "full" {
		histories, seed = "2000", "0" // 0 is a new one each time, printed on failure
	}
	flag.Set("rapid.checks", histories)
	flag.Set("rapid.seed", seed)
	flag.Set("rapid.nofailfile", "true")
	zkserver.Main(m, func() { // which parses the command line: it wins
		fmt.Fprintf(os.Stderr, "conformance: compared %d operations of scripts and %d of random histories\n",
			compared.scripted.Load(), compared.random.Load())
	})
}
