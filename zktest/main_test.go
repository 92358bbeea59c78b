package zktest_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

// TestMain fails if a goroutine of the package outlives the tests: Close joins
// them all.
func TestMain(m *testing.M) { leakcheck.Main(m) }
