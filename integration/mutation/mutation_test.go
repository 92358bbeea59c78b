package mutation

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
)

// A test that fails on the library as it is would notice every mutation.
func TestNamedTestsPassWithoutAMutation(t *testing.T) {
	byPackage := map[string][]Test{}
	for _, m := range load(t) {
		for _, test := range wanted(m) {
			if !slices.Contains(byPackage[test.Package], test) {
				byPackage[test.Package] = append(byPackage[test.Package], test)
			}
		}
	}
	b := newBench(t)
	for pkg, tests := range byPackage {
		binary, err := b.build(t.Context(), pkg, "")
		require.NoError(t, err)
		for _, test := range tests {
			v, out, err := b.run(t.Context(), binary, test)
			require.NoError(t, err)
			require.Equal(t, passed, v, "%s %s\n%s", pkg, test.Name, out)
		}
	}
}

func TestEveryMutationIsNoticed(t *testing.T) {
	report := proof.New(t, "mutations", "Ways to break the library, and the tests that notice")
	var mu sync.Mutex
	var rows [][]string
	start := time.Now()
	t.Run("all", func(t *testing.T) {
		for _, m := range load(t) {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				noticed := notice(t, m)
				mu.Lock()
				defer mu.Unlock()
				rows = append(rows, []string{m.Title, strings.Join(noticed, "<br>")})
			})
		}
	})
	slices.SortFunc(rows, slices.Compare)
	report.Table(append([][]string{{"mutation", "fails"}}, rows...))
	report.Printf("%d mutations in %v", len(rows), time.Since(start).Round(time.Second))
}

// notice runs the tests that a mutation is to fail, and returns them.
func notice(t *testing.T, m Mutation) (noticed []string) {
	b := newBench(t)
	overlay, err := b.overlay(m)
	require.NoError(t, err)
	binaries := map[string]string{}
	for _, test := range wanted(m) {
		if binaries[test.Package] == "" {
			binaries[test.Package], err = b.build(t.Context(), test.Package, overlay)
			require.NoError(t, err, "a mutation that does not compile shows nothing")
		}
		start := time.Now()
		v, out, err := b.run(t.Context(), binaries[test.Package], test)
		require.NoError(t, err)
		t.Logf("%s %s %v after %v: %s", test.Package, test.Name, v, time.Since(start).Round(time.Millisecond), complaint(out))
		if v != failed {
			t.Errorf("%s: %s %s in spite of it", m.Title, test.Name, v)
		}
		noticed = append(noticed, fmt.Sprintf("`%s` %s", test.Package, test.Name))
	}
	return noticed
}

// wanted returns the tests to run: the long ones where the storms run in full.
func wanted(m Mutation) []Test {
	return slices.DeleteFunc(slices.Clone(m.Tests), func(t Test) bool { return t.Storm && !proof.Full() })
}

// complaint picks what a failed test says first.
func complaint(out string) string {
	lines := strings.Split(out, "\n")
	at := slices.IndexFunc(lines, func(l string) bool {
		return strings.Contains(l, "_test.go:") || strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ")
	})
	if at < 0 {
		return "nothing"
	}
	var said []string
	for _, l := range lines[at:min(at+8, len(lines))] {
		said = append(said, strings.TrimSpace(l))
	}
	return strings.Join(said, " ")
}

func load(t *testing.T) []Mutation {
	t.Helper()
	all, err := Load("mutations")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

func newBench(t *testing.T) bench {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	return bench{root: root, folder: t.TempDir()}
}
