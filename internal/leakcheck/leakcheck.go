// Package leakcheck fails a package's tests if goroutines outlive them.
//
// Every goroutine of this module has an owner that stops and joins it. A TestMain
// that calls Main shows so for all tests of a package at once.
package leakcheck

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Main runs the tests and then fails for every goroutine that is still there.
func Main(m *testing.M) {
	code := m.Run()
	if leaked := Leaked(); code == 0 && leaked != "" {
		fmt.Fprintln(os.Stderr, "leakcheck: goroutines that outlived the tests:\n"+leaked)
		code = 1
	}
	os.Exit(code)
}

// patience is how long a goroutine that was told to stop may take to be gone:
// one that has signalled its end may not have returned yet.
const patience = 2 * time.Second

// Leaked returns the stacks of the goroutines beside the caller's own and those
// of the testing package and the runtime, "" if there is none.
func Leaked() string {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := strings.Join(others(), "\n\n")
		if left == "" || time.Now().After(end) {
			return left
		}
	}
}

func others() []string {
	var left []string
	for _, stack := range stacks()[1:] { // the first is the caller's
		if !expected(stack) {
			left = append(left, stack)
		}
	}
	return left
}

// stacks returns the stacks of all goroutines.
func stacks() []string {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Split(string(buf[:n]), "\n\n")
		}
		buf = make([]byte, 2*len(buf))
	}
}

// expected tells the goroutines that belong to the test binary itself.
func expected(stack string) bool {
	for _, of := range []string{
		"main.main()", "created by testing.", "created by runtime", "created by os/signal.", "created by internal/synctest.",
		"runtime.goexit0", "runtime.ensureSigM", "testing.(*F).Fuzz",
	} {
		if strings.Contains(stack, of) {
			return true
		}
	}
	return false
}
