package zkrecipes_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each test that these pages name is in the package that stands before it there,
// in the same line.
func TestTestsNamedInThePagesExist(t *testing.T) {
	code := make(map[string]string) // by package
	for page, atLeast := range map[string]int{
		"README.md": 20, "SECURITY.md": 40,
		"docs/faults.md": 150, "docs/proof.md": 1, "docs/scaling.md": 1,
	} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		named := 0
		for line := range strings.Lines(string(text)) {
			for _, test := range namedTests(line) {
				require.NotEmpty(t, test.pkg, "%s: no package before %s", page, test.name)
				if code[test.pkg] == "" {
					code[test.pkg] = codeOfTests(t, test.pkg)
				}
				require.True(t, strings.Contains(code[test.pkg], "\nfunc "+test.name+"("),
					"%s: %s is not in %s", page, test.name, test.pkg)
				named++
			}
		}
		require.GreaterOrEqual(t, named, atLeast, page)
	}
}

// No case that others have met is without a test, and none without its source.
func TestEveryCaseOfOthersHasItsTests(t *testing.T) {
	text, err := os.ReadFile("docs/faults.md")
	require.NoError(t, err)
	cases := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if _, err := strconv.Atoi(strings.TrimPrefix(cells[0], "| ")); err != nil {
			continue
		}
		cases++
		require.Equal(t, "| "+strconv.Itoa(cases), cells[0])
		require.Len(t, cells, 5, line)
		require.Contains(t, cells[2], "](https://", line)
		require.NotEmpty(t, namedTests(cells[4]), line)
	}
	require.GreaterOrEqual(t, cases, 70)
}

type namedTest struct{ pkg, name string }

var nameOfTest = regexp.MustCompile("`([a-z/]+)` (?:Test|Fuzz)|\\b((?:Test|Fuzz)[A-Z]\\w*)")

// namedTests finds the tests that a line names. Those behind a package, until the
// next one, are of that package. A line of code names none.
func namedTests(line string) (tests []namedTest) {
	if strings.HasPrefix(line, "func ") {
		return nil
	}
	pkg := ""
	for {
		at := nameOfTest.FindStringSubmatchIndex(line)
		if at == nil {
			return tests
		}
		if at[2] >= 0 { // a package, whose tests follow
			pkg = line[at[2]:at[3]]
			line = line[at[3]:]
			continue
		}
		tests = append(tests, namedTest{pkg, line[at[4]:at[5]]})
		line = line[at[5]:]
	}
}

// codeOfTests returns the test files of a package.
func codeOfTests(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, f := range files {
		code, err := os.ReadFile(f)
		require.NoError(t, err)
		all.Write(code)
	}
	return all.String()
}
