package zkrecipes_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Adapters to systems that the library is not to depend on are modules of their
// own. What each may require, beside the library and what its tests need.
var adapters = map[string][]string{
	"promzkr": {"github.com/prometheus/client_golang"},
	"otelzkr": {
		"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/metric", "go.opentelemetry.io/otel/trace",
		"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/sdk/metric", // in tests
	},
}

func TestAdaptersStandOnTheLibraryAndOnWhatTheyAdaptTo(t *testing.T) {
	for adapter, allowed := range adapters {
		out, err := exec.CommandContext(t.Context(), "go", "-C", adapter, "mod", "edit", "-json").Output()
		require.NoError(t, err)
		var mod struct {
			Module  struct{ Path string }
			Require []struct {
				Path     string
				Indirect bool
			}
		}
		require.NoError(t, json.Unmarshal(out, &mod))
		require.Equal(t, module+"/"+adapter, mod.Module.Path)
		var direct []string
		for _, r := range mod.Require {
			if !r.Indirect {
				direct = append(direct, r.Path)
			}
		}
		require.ElementsMatch(t, append([]string{module, "github.com/stretchr/testify"}, allowed...), direct, adapter)
		requireAdapter(t, adapter)
	}
}

// requireAdapter looks at the files: go list would download what the module needs.
func requireAdapter(t *testing.T, adapter string) {
	t.Helper()
	files, err := filepath.Glob(adapter + "/*.go")
	require.NoError(t, err)
	var doc, leaks bool
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		doc = doc || strings.HasPrefix(string(text), "// Package "+adapter+" ")
		leaks = leaks || strings.Contains(string(text), "leakcheck.Main(")
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		for _, line := range strings.Split(string(text), "\n") {
			if inner, ok := strings.CutPrefix(strings.TrimSpace(line), `"`+module+"/"); ok {
				require.Contains(t, []string{"fence", "recipes", "internal/metering"}, strings.TrimSuffix(inner, `"`), f)
			}
		}
	}
	require.True(t, doc, "%s has no package doc", adapter)
	require.True(t, leaks, "%s has no TestMain that checks for goroutine leaks", adapter)
}
