// Package notes tells whoever runs the tests what must not be overlooked: what
// ran, what was skipped, how much was compared.
package notes

import (
	"fmt"
	"os"
	"sync"
)

// said holds what was said already.
var said sync.Map

// Say says something once. Go hides the output of packages that pass, so it
// also goes to the file that ZKR_NOTES names, which make prints at the end.
func Say(by, text string) {
	line := by + ": " + text
	if _, before := said.LoadOrStore(line, true); before {
		return
	}
	fmt.Fprintln(os.Stderr, line)
	name := os.Getenv("ZKR_NOTES")
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		return
	}
	defer f.Close()
	_, _ = fmt.Fprintln(f, line) // stderr has it
}
