package zkrecipes_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each test that SECURITY.md names is in the package that stands before it there.
func TestTestsNamedInTheSecurityPageExist(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	item := regexp.MustCompile("`([a-z/]+)` (?:Test|Fuzz)|\\b((?:Test|Fuzz)\\w+)")
	named := 0
	for line := range strings.Lines(string(text)) {
		pkg := ""
		for rest := line; ; {
			at := item.FindStringSubmatchIndex(rest)
			if at == nil {
				break
			}
			if at[2] >= 0 { // a package, whose tests follow
				pkg = rest[at[2]:at[3]]
				rest = rest[at[3]:]
				continue
			}
			name := rest[at[4]:at[5]]
			rest = rest[at[5]:]
			require.NotEmpty(t, pkg, "no package before %s", name)
			require.True(t, strings.Contains(codeOfTests(t, pkg), "\nfunc "+name+"("), "%s in %s", name, pkg)
			named++
		}
	}
	require.Greater(t, named, 40)
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
