package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// rule is an alert rule.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	return text
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.Unmarshal(readFile(t, "alerts.yml"), &file))
	require.Len(t, file.Groups, 1)
	require.NotEmpty(t, file.Groups[0].Rules)
	return file.Groups[0].Rules
}

// dashboardQueries returns everything that the dashboard asks Prometheus.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	var dashboard any
	require.NoError(t, json.Unmarshal(readFile(t, "dashboard.json"), &dashboard))
	queries := stringsUnder(dashboard, "expr")
	require.NotEmpty(t, queries)
	return queries
}

// stringsUnder finds the strings that stand under a key, at any depth.
func stringsUnder(v any, key string) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if s, ok := inner.(string); ok && k == key {
				found = append(found, s)
			}
			found = append(found, stringsUnder(inner, key)...)
		}
	case []any:
		for _, inner := range v {
			found = append(found, stringsUnder(inner, key)...)
		}
	}
	return found
}

func TestEveryAlertHasItsTestAndItsRunbook(t *testing.T) {
	tests := string(readFile(t, "alerts_test.yml"))
	page := string(readFile(t, "README.md"))
	runbook, err := os.ReadFile("../../docs/operating.md")
	require.NoError(t, err)
	for _, r := range rules(t) {
		require.Regexp(t, `(?s)alertname: `+r.Alert+`\n\s+exp_alerts:\n\s+- exp_labels`, tests, "%s is seen to fire", r.Alert)
		require.Contains(t, tests, "alertname: "+r.Alert+"}", "%s is seen not to", r.Alert)
		require.Contains(t, page, "| "+r.Alert+" |")
		require.True(t, strings.HasSuffix(r.Annotations["runbook_url"], "docs/operating.md#"+strings.ToLower(r.Alert)), r.Alert)
		require.Regexp(t, regexp.MustCompile(`(?m)^#+ `+r.Alert+`$`), string(runbook))
		for _, key := range []string{"summary", "description"} {
			require.NotEmpty(t, r.Annotations[key], "%s of %s", key, r.Alert)
		}
		require.NotEmpty(t, r.Labels["severity"], r.Alert)
	}
}

func TestPanelsOfTheDashboardAreToldApart(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal(readFile(t, "dashboard.json"), &dashboard))
	ids, taken := make(map[int]bool), make(map[[2]int]string)
	for _, p := range dashboard.Panels {
		require.False(t, ids[p.ID], p.Title)
		ids[p.ID] = true
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	var names []string
	for _, v := range dashboard.Templating.List {
		names = append(names, v.Name)
	}
	require.Equal(t, []string{"datasource", "job", "instance"}, names)
}
