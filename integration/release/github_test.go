package release_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// form is a form for issues. A key that GitHub does not know is refused.
type form struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Labels      []string `yaml:"labels"`
	Body        []struct {
		Type       string `yaml:"type"`
		ID         string `yaml:"id"`
		Attributes struct {
			Label       string `yaml:"label"`
			Description string `yaml:"description"`
			Render      string `yaml:"render"`
		} `yaml:"attributes"`
		Validations struct {
			Required bool `yaml:"required"`
		} `yaml:"validations"`
	} `yaml:"body"`
}

// Workflows are looked at by make lint, which knows more of them.
func TestIssueFormsAreForms(t *testing.T) {
	files, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/*.yml")
	require.NoError(t, err)
	forms := 0
	for _, file := range files {
		if filepath.Base(file) == "config.yml" {
			continue
		}
		text, err := os.Open(file)
		require.NoError(t, err)
		defer text.Close()
		var f form
		dec := yaml.NewDecoder(text)
		dec.KnownFields(true)
		require.NoError(t, dec.Decode(&f), file)
		require.NotEmpty(t, f.Name, file)
		require.NotEmpty(t, f.Description, file)
		require.NotEmpty(t, f.Body, file)
		for _, part := range f.Body {
			require.Equal(t, "textarea", part.Type, file)
			require.NotEmpty(t, part.ID, file)
			require.NotEmpty(t, part.Attributes.Label, file)
		}
		forms++
	}
	require.Equal(t, 2, forms)
}

// What is asked for comes with what makes a fault comprehensible, and without
// secrets.
func TestFaultsAreAskedForWithWhatTheyNeed(t *testing.T) {
	text, err := os.ReadFile("../../.github/ISSUE_TEMPLATE/fault.yml")
	require.NoError(t, err)
	for _, what := range []string{"zkr doctor", "go version", "ZooKeeper", "recipes.WithLogger", "without credentials", "session ids of yours taken out", "zktest"} {
		require.True(t, strings.Contains(string(text), what), what)
	}
}
