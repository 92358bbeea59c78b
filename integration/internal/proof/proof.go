// Package proof keeps the figures of tests that measure: it prints them always,
// and writes them down where the storm runs in full, to the folder that
// ZKR_REPORTS names or else to docs/proof.
package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Full tells whether the storms run in full: ZKR_STORM=full.
func Full() bool { return os.Getenv("ZKR_STORM") == "full" }

// Size returns small, or full where the storms run in full.
func Size[T any](small, full T) T {
	if Full() {
		return full
	}
	return small
}

// Report is one test's figures.
type Report struct {
	t     testing.TB
	name  string
	title string
	start time.Time

	mu    sync.Mutex
	lines []string
}

// New begins the report of t, which ends with the test. name becomes the file's
// name.
func New(t testing.TB, name, title string) *Report {
	r := &Report{t: t, name: name, title: title, start: time.Now()}
	t.Cleanup(r.end)
	return r
}

// Printf adds a line.
func (r *Report) Printf(format string, args ...any) {
	r.t.Helper()
	line := fmt.Sprintf(format, args...)
	r.t.Log(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

// Table adds a table; the first row is its head.
func (r *Report) Table(rows [][]string) {
	r.t.Helper()
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}
	r.Printf("\n%s", b.String())
}

// Attach keeps a file beside the report, of its name and this extension, and
// links it.
func (r *Report) Attach(ext string, data []byte) {
	r.t.Helper()
	if !Full() {
		return
	}
	dir, err := folder()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, r.name+"."+ext), data, 0o644)
	}
	if err != nil {
		r.t.Errorf("proof: %v", err)
		return
	}
	r.Printf("![%s](%s.%s)", r.title, r.name, ext)
}

func (r *Report) end() {
	if !Full() || r.t.Skipped() {
		return
	}
	path, err := r.write()
	if err != nil {
		r.t.Errorf("proof: %v", err)
		return
	}
	r.t.Logf("report written: %s", path)
}

func (r *Report) write() (string, error) {
	dir, err := folder()
	if err != nil {
		return "", err
	}
	verdict := "passed"
	if r.t.Failed() {
		verdict = "FAILED"
	}
	text := fmt.Sprintf("# %s\n\n`ZKR_STORM=full go test %s-run '^%s$' ./%s` in `integration`, %s, %d CPUs, %s: %s after %v.\n\n%s\n",
		r.title, raceFlag, r.t.Name(), packageName(), time.Now().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(),
		verdict, time.Since(r.start).Round(time.Second), strings.Join(r.lines, "\n\n"))
	path := filepath.Join(dir, r.name+".md")
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// folder returns where reports go. The repository is above the module of these
// tests, which run in their package's folder.
func folder() (string, error) {
	if dir := os.Getenv("ZKR_REPORTS"); dir != "" {
		return dir, os.MkdirAll(dir, 0o755)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for filepath.Base(dir) != "integration" {
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no folder integration above the working folder")
		}
		dir = filepath.Dir(dir)
	}
	dir = filepath.Join(filepath.Dir(dir), "docs", "proof")
	return dir, os.MkdirAll(dir, 0o755)
}

func packageName() string {
	dir, err := os.Getwd()
	if err != nil {
		return "…"
	}
	return filepath.Base(dir)
}
