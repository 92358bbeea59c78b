package fence_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/fence/database"
)

// The test binary is also the program that a test kills.
func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		fmt.Fprintln(os.Stderr, writeForever(path))
		os.Exit(1)
	}
	database.Main(m)
}
