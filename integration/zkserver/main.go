package zkserver

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

// Main is a package's TestMain: it runs the tests and what is to follow them,
// closes what they shared, and fails if a goroutine is left.
func Main(m *testing.M, then ...func()) {
	code := m.Run()
	for _, f := range then {
		f()
	}
	if err := errors.Join(closeShared(), closeLaunchers()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if stacks := leaked(); code == 0 && stacks != "" {
		fmt.Fprintln(os.Stderr, "zkserver: goroutines that outlived the tests:\n"+stacks)
		code = 1
	}
	os.Exit(code)
}

// leaked is more patient than the library's own tests: a client whose handshake
// hangs takes seconds to notice that it was closed.
func leaked() (stacks string) {
	for range 5 {
		if stacks = leakcheck.Leaked(); stacks == "" {
			break
		}
	}
	return stacks
}
