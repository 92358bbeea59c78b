//go:build unix

package filefence_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

// The test binary is also the program that the tests kill.
func TestMain(m *testing.M) {
	if args := os.Getenv("FILEFENCE_CHILD"); args != "" {
		fmt.Fprintln(os.Stderr, child(args))
		os.Exit(1)
	}
	leakcheck.Main(m)
}
