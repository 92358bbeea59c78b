package zkrecipes_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where a reader may begin: what these packages make or answer with.
var entryPoint = regexp.MustCompile(`^(New|Dial$|Handler$|Install$)`)

// Each function with which one begins to use a package is called in an example
// that runs, and shows what it prints.
func TestEveryEntryPointIsInAnExample(t *testing.T) {
	found := 0
	for _, pkg := range []string{
		"recipes", "recipes/recipeshttp", "lock", "election", "election/electionhttp", "barrier", "zktest",
		"fence", "fence/sqlfence", "fence/httpfence", "fence/filefence", "fence/zkfence",
	} {
		examples := runningExamples(t, pkg)
		for _, name := range exportedFunctions(t, pkg) {
			if !entryPoint.MatchString(name) || pkg == "recipes" && name == "NewUUID" {
				continue
			}
			found++
			require.Contains(t, examples, path.Base(pkg)+"."+name+"(", "an example of %s", pkg)
		}
	}
	require.Greater(t, found, 15)
}

func exportedFunctions(t *testing.T, pkg string) (names []string) {
	t.Helper()
	for _, file := range goFiles(t, pkg) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// runningExamples returns the files of a package's examples that have an output.
func runningExamples(t *testing.T, pkg string) string {
	t.Helper()
	var all strings.Builder
	for _, file := range goFiles(t, pkg) {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(code), "\nfunc Example") && strings.Contains(string(code), "// Output:") {
			all.Write(code)
		}
	}
	return all.String()
}

func goFiles(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	require.NoError(t, err)
	return files
}
