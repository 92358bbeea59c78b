package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bench builds and runs tests of the root module, mutated or not.
type bench struct {
	root   string // of the repository
	folder string // for what it makes
}

// hang bounds one test. The longest takes a few seconds.
const hang = 2 * time.Minute

// overlay lays the mutation over the source, and returns the file that says so.
func (b bench) overlay(m Mutation) (string, error) {
	sources := map[string]string{}
	for _, h := range m.Hunks {
		source, ok := sources[h.File]
		if !ok {
			text, err := os.ReadFile(filepath.Join(b.root, h.File))
			if err != nil {
				return "", err
			}
			source = string(text)
		}
		mutated, err := h.Apply(source)
		if err != nil {
			return "", err
		}
		sources[h.File] = mutated
	}
	replace := map[string]string{}
	for file, source := range sources {
		laid := filepath.Join(b.folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(laid, []byte(source), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(b.root, file)] = laid
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(b.folder, "overlay.json")
	return list, os.WriteFile(list, text, 0o600)
}

// build makes the test binary of a package, with an overlay or "".
func (b bench) build(ctx context.Context, pkg, overlay string) (binary string, err error) {
	binary = filepath.Join(b.folder, strings.ReplaceAll(pkg, "/", "_")+".test")
	args := []string{"test", "-c", "-ldflags=-s -w", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+pkg)...)
	cmd.Dir = b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
}

// verdict is what became of a test.
type verdict int

const (
	passed verdict = iota
	failed
	hung
	missing
)

func (v verdict) String() string { return [...]string{"passes", "fails", "hangs", "is not there"}[v] }

// run runs one test by itself, in its package's folder as go test does.
func (b bench) run(ctx context.Context, binary string, test Test) (verdict, string, error) {
	cmd := exec.CommandContext(ctx, binary,
		"-test.run", "^"+test.Name+"$", "-test.v", "-test.failfast", "-test.timeout", hang.String())
	cmd.Dir = filepath.Join(b.root, test.Package)
	text, err := cmd.CombinedOutput()
	out := string(text)
	var exit *exec.ExitError
	switch {
	case err == nil && strings.Contains(out, "\n--- PASS: "+test.Name+" "):
		return passed, out, nil
	case err == nil:
		return missing, out, nil
	case !errors.As(err, &exit) || exit.ExitCode() < 0:
		return 0, out, err
	case strings.Contains(out, "panic: test timed out"):
		return hung, out, nil
	}
	return failed, out, nil
}
