package main

import (
	"os"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

// asReplica makes the test binary be a replica: what matters about replicas is
// that they are processes.
const asReplica = "CONTROLLER_TEST_BINARY_IS_A_REPLICA"

func TestMain(m *testing.M) {
	if os.Getenv(asReplica) != "" {
		main()
		os.Exit(0)
	}
	leakcheck.Main(m)
}
