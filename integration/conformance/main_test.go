package conformance_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// compared counts the operations that were run on every server and compared.
var compared atomic.Int64

func TestMain(m *testing.M) { zkserver.Main(m) }

// report says how many operations have been compared so far.
func report() {
	fmt.Fprintf(os.Stderr, "conformance: %d operations compared on %d servers\n", compared.Load(), len(kinds))
}
