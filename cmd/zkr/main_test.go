//go:build unix

package main

import (
	"os"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

// asZkr makes the test binary be zkr. What matters about zkr is processes, so
// that most tests run it as one.
const asZkr = "ZKR_TEST_BINARY_IS_ZKR=1"

// inNoTime spares processes with the race detector a second at their end.
const inNoTime = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if (env{vars: os.Environ()}).get("ZKR_TEST_BINARY_IS_ZKR") != "" {
		main()
	}
	leakcheck.Main(m)
}
