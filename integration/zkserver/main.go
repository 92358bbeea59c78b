package zkserver

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// leakPatience bounds the wait for goroutines that are on their way out.
const leakPatience = 10 * time.Second

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
	if left := leaked(leakPatience); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "zkserver: %d goroutines left:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// leaked returns the stacks of goroutines that are neither this one nor the
// standard library's own, once there are none or the patience has ended.
func leaked(patience time.Duration) []string {
	deadline := time.Now().Add(patience)
	for {
		left := goroutines()
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(10 * time.Millisecond) // the runtime has no event for a goroutine's end
	}
}

func goroutines() []string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for i, stack := range strings.Split(string(buf), "\n\n") {
		own := i == 0 // the first one is the caller
		if !own && !strings.Contains(stack, "os/signal.") && !strings.Contains(stack, "testing.(*M).startAlarm") {
			left = append(left, stack)
		}
	}
	return left
}
