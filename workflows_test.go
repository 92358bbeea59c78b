package zkrecipes_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a workflow does, people can do: it calls the Makefile. That the files are
// workflows at all is for make lint.
func TestWorkflowsCallTheMakefile(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	files, err := filepath.Glob(".github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		calls := regexp.MustCompile(`(?m)run: make ([a-z-]+)$`).FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, calls, file)
		for _, call := range calls {
			require.Contains(t, string(makefile), "\n"+call[1]+": ", file)
		}
	}
}
