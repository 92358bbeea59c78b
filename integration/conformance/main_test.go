package conformance_test

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/internal/notes"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// compared counts the operations that were run on the servers and compared.
var compared struct{ scripted, random atomic.Int64 }

// TestMain compares the same random histories each time, but where the storms
// run in full, which compares many that are new.
func TestMain(m *testing.M) {
	flag.Set("rapid.checks", proof.Size("60", "2000"))
	flag.Set("rapid.seed", proof.Size("1", "0")) // 0 is a new one each time, told on failure
	flag.Set("rapid.nofailfile", "true")
	zkserver.Main(m, func() { // which parses the command line: it wins
		notes.Say("conformance", fmt.Sprintf("compared %d operations of scripts and %d of random histories",
			compared.scripted.Load(), compared.random.Load()))
	})
}
