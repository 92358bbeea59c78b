package model

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/notes"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
)

const models = "../../docs/model"

// broken says what is to be wrong with a model that is broken in one of the ways
// that it names.
var broken = map[string]map[string]string{
	"clock": {
		"ANSWER":    "proven<=left",
		"LASTWRITE": "proven<=left",
		"NOGAP":     "proven<=left",
	},
	"lock": {
		"NOFENCE":   ">=newest",
		"NOPROOF":   "lease[0]",
		"OUTLIVE":   "lease[0]",
		"EXISTS":    "invalid end state",
		"KEEP":      "invalid end state",
		"NOBARRIER": "invalid end state",
	},
}

// find searches a model, and skips the test where there is no spin.
func find(t *testing.T, s search, model string, defines ...string) verdict {
	t.Helper()
	for _, program := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			notes.Say("model", "SKIPPED "+t.Name()+": "+err.Error())
			t.Skip(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	v, err := s.find(ctx, filepath.Join(models, model+".pml"), t.TempDir(), defines...)
	require.NoError(t, err)
	return v
}

func TestNothingIsWrongInAnyState(t *testing.T) {
	report := proof.New(t, "model", "States that spin has searched")
	rows := [][]string{{"model", "looked for", "states", "errors"}}
	note := func(model, what string, v verdict) {
		rows = append(rows, []string{model, what, fmt.Sprint(v.states), fmt.Sprint(v.errors)})
	}
	for model := range broken {
		t.Run(model, func(t *testing.T) {
			v := find(t, everyState, model)
			note(model, "assertions, no way on", v)
			require.Zero(t, v.errors, "%s\n%s", v.complaint, v.story)
			require.True(t, v.complete)
			require.Empty(t, v.unused, "what never happens is not searched")
		})
	}
	t.Run("lock in a circle", func(t *testing.T) {
		// How many effects a holder has makes no difference to who waits for whom.
		v := find(t, everyCircle, "lock", "-DEFFECTS=1")
		note("lock, one effect of each holder", "a way in a circle", v)
		require.Zero(t, v.errors, "%s\n%s", v.complaint, v.story)
		require.True(t, v.complete)
	})
	slices.SortFunc(rows[1:], slices.Compare)
	report.Table(rows)
}

func TestABrokenModelHasACounterExample(t *testing.T) {
	for model, ways := range broken {
		for way, complaint := range ways {
			t.Run(model+"/"+way, func(t *testing.T) {
				v := find(t, everyState, model, "-D"+way)
				t.Logf("%s after %d states:\n%s", v.complaint, v.states, v.story)
				require.Equal(t, 1, v.errors)
				require.Contains(t, v.complaint, complaint)
				require.NotEmpty(t, v.story)
			})
		}
	}
}

// A way that a model names and nobody tries shows nothing.
func TestEveryWayToBreakAModelIsTried(t *testing.T) {
	named := regexp.MustCompile(`(?m)^ \*   -D([A-Z]+) `)
	for model, ways := range broken {
		source, err := os.ReadFile(filepath.Join(models, model+".pml"))
		require.NoError(t, err)
		var names []string
		for _, m := range named.FindAllStringSubmatch(string(source), -1) {
			names = append(names, m[1])
			require.Regexp(t, `(?m)^#ifn?def `+m[1]+`$`, string(source))
		}
		tried := make([]string, 0, len(ways))
		for way := range ways {
			tried = append(tried, way)
		}
		require.ElementsMatch(t, names, tried, model)
	}
}

// The counter-examples that are kept as documentation are those that spin finds.
func TestDocumentedCounterExamplesAreFound(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(models, "README.md"))
	require.NoError(t, err)
	for model, way := range map[string]string{"lock": "NOFENCE", "clock": "NOGAP"} {
		v := find(t, everyState, model, "-D"+way)
		var lines []string
		for line := range strings.Lines(v.story) {
			lines = append(lines, "1. "+strings.TrimSpace(line))
		}
		require.Contains(t, string(readme), strings.Join(lines, "\n"), way)
	}
}
