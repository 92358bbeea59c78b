package zkrecipes_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var _ = saveReport // is there to be compiled

// Each Go block of README.md is a file of this package, less its package clause,
// so that what people copy compiles. Where one of the two changes, so must the
// other.
func TestGoBlocksOfTheReadmeAreFilesOfThisPackage(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindAllStringSubmatch(string(readme), -1)
	files := []string{"readme_lock_test.go", "readme_zktest_test.go"}
	require.Len(t, blocks, len(files))
	for i, file := range files {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		_, body, ok := strings.Cut(string(code), "package zkrecipes_test\n\n")
		require.True(t, ok, file)
		require.Equal(t, body, blocks[i][1], file)
	}
}
