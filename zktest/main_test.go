package zktest_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails if a goroutine of the package outlives the tests: Close joins
// them all.
func TestMain(m *testing.M) {
	code := m.Run()
	if leaked := leaks(); code == 0 && leaked != "" {
		fmt.Fprintln(os.Stderr, "goroutines that outlived the tests:\n"+leaked)
		code = 1
	}
	os.Exit(code)
}

func leaks() string {
	var left string
	for range 50 {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		left = ""
		for _, g := range strings.Split(string(buf), "\n\n")[1:] {
			if strings.Contains(g, "zktest") || strings.Contains(g, "go-zookeeper") {
				left += g + "\n\n"
			}
		}
		if left == "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return left
}
