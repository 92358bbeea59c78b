package zkrecipes_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page has a section for each module, and in it a row for each requirement.
var sectionsOfModules = map[string]string{".": "The library", "promzkr": "promzkr", "otelzkr": "otelzkr", "integration": "integration"}

func TestPageOfDependenciesReviewsExactlyWhatIsRequired(t *testing.T) {
	page, err := os.ReadFile("docs/dependencies.md")
	require.NoError(t, err)
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	modules := strings.Fields(regexp.MustCompile(`(?m)^MODULES *:= (.*)$`).FindStringSubmatch(string(makefile))[1])
	require.Len(t, sectionsOfModules, len(modules))
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| [^|]+ \\| [^|]+ \\| [^|]+ \\|$")
	for _, dir := range modules {
		_, section, found := strings.Cut(string(page), "\n## "+sectionsOfModules[dir]+"\n")
		require.True(t, found, dir)
		section, _, _ = strings.Cut(section, "\n## ")
		var reviewed []string
		for _, m := range row.FindAllStringSubmatch(section, -1) {
			reviewed = append(reviewed, m[1])
		}
		require.ElementsMatch(t, directOf(t, dir), reviewed, dir)
	}
}

// directOf returns what a module requires itself, this repository's modules aside.
func directOf(t *testing.T, dir string) (direct []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "-C", dir, "mod", "edit", "-json").Output()
	require.NoError(t, err)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	for _, r := range mod.Require {
		if !r.Indirect && r.Path != module && !strings.HasPrefix(r.Path, module+"/") {
			direct = append(direct, r.Path)
		}
	}
	return direct
}
