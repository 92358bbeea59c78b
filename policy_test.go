package zkrecipes_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/zkrecipes/zkrecipes"

// Importers inherit what the root module requires, so it requires next to
// nothing. A further entry needs a reason in DESIGN.md.
var allowedRequirements = []string{
	"github.com/go-zookeeper/zk",
	"github.com/stretchr/testify",
}

// What a package of this module may import of it, outside of tests. Packages
// that are missing here may import nothing of it.
var allowedImports = map[string][]string{
	"fence/filefence":   {"fence"},
	"fence/httpfence":   {"fence"},
	"fence/sqlfence":    {"fence"},
	"fence/zkfence":     {"fence", "recipes"},
	"internal/zkconn":   {"internal/leaseclock"},
	"recipes":           {"fence", "internal/backoff", "internal/leaseclock", "internal/zkconn"},
	"internal/queue":    {"fence", "recipes"},
	"internal/metering": {"fence", "recipes", "lock"},
	"lock":              {"fence", "recipes", "internal/queue"},
	"election":          {"fence", "recipes", "internal/backoff", "internal/queue"},
	"barrier":           {"fence", "recipes"},
	"zktest":            {"internal/jute"},
	"cmd/zkr":           {"fence", "recipes", "internal/backoff", "internal/harmless", "internal/queue", "lock", "election", "zktest"},

	"election/electionhttp": {"election"},
	"recipes/recipeshttp":   {"internal/harmless", "recipes"},
	"examples/controller":   {"recipes", "election", "election/electionhttp"},
	"examples/cron":         {"fence", "fence/zkfence", "recipes", "lock"},
	"examples/partitions":   {"recipes", "lock"},
}

// Packages that only tests import.
var testOnly = map[string]bool{
	"internal/docpages":   true,
	"internal/recipetest": true,
	"internal/zkrtest":    true,
}

// Third-party packages, and who may import them outside of tests.
var thirdParty = map[string][]string{
	"github.com/go-zookeeper/zk": {"internal/zkconn", "recipes"},
}

type pkg struct {
	ImportPath   string
	Dir          string
	Doc          string
	Imports      []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json", "./...").Output()
	require.NoError(t, err)
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		require.NoError(t, err)
		pkgs = append(pkgs, p)
	}
}

func TestModuleRequiresNothingBeyondTheAllowedList(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json").Output()
	require.NoError(t, err)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []any
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	require.ElementsMatch(t, allowedRequirements, direct)
	require.Empty(t, mod.Replace, "a replaced dependency is not what importers get")
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if testOnly[name] {
			continue
		}
		for _, imp := range p.Imports {
			if inner, ok := strings.CutPrefix(imp, module+"/"); ok {
				require.Contains(t, allowedImports[name], inner, "%s imports %s", name, inner)
				continue
			}
			if strings.Contains(strings.Split(imp, "/")[0], ".") {
				require.Contains(t, thirdParty[imp], name, "%s imports %s", name, imp)
			}
		}
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 {
			require.NotEmpty(t, p.Doc, "%s has no package doc", p.ImportPath)
		}
	}
}

// Packages that start no goroutines.
var pure = map[string]bool{
	"":                    true,
	"fence":               true,
	"internal/harmless":   true,
	"internal/jute":       true,
	"internal/leaseclock": true,
}

// A file of tests without the goroutine check would let a leak pass.
func TestEveryTestedPackageChecksForLeaks(t *testing.T) {
	for _, p := range packages(t) {
		tests := append(append([]string(nil), p.TestGoFiles...), p.XTestGoFiles...)
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if len(tests) == 0 || pure[name] {
			continue
		}
		found := false
		for _, f := range tests {
			text, err := os.ReadFile(filepath.Join(p.Dir, f))
			require.NoError(t, err)
			found = found || strings.Contains(string(text), "func TestMain(")
		}
		require.True(t, found, "%s has tests and no TestMain that checks for goroutine leaks", p.ImportPath)
	}
}
