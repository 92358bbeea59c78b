package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestKeptDiagramsAreWhatTheSourcesGive(t *testing.T) {
	sources, err := filepath.Glob("*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, source := range sources {
		svg, err := draw(source)
		require.NoError(t, err)
		kept, err := os.ReadFile(target(source))
		require.NoError(t, err, "go generate ./docs/diagrams")
		require.Equal(t, string(kept), string(svg), "go generate ./docs/diagrams")
	}
	kept, err := filepath.Glob("*.svg")
	require.NoError(t, err)
	require.Len(t, kept, len(sources), "a diagram without a source")
}

func TestWhatIsNotUnderstoodIsTold(t *testing.T) {
	for source, says := range map[string]string{
		"actor a A\na -> b: to nobody": "line 2, \"a -> b: to nobody\": no actor b",
		"end a":                        "no actor a",
		"actor a A\nend a":             "nothing has begun",
		"whatever":                     "not understood",
	} {
		_, err := parse(source)
		require.ErrorContains(t, err, says)
	}
}
