package monitoring

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/notes"
)

// folder is what this package tests.
const folder = "../../docs/monitoring"

// promtool runs it, and skips the test where there is none.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		notes.Say("monitoring", "SKIPPED "+t.Name()+": "+err.Error())
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "promtool", args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %s\n%s", strings.Join(args, " "), out)
}

func TestRulesAreRules(t *testing.T) { promtool(t, "check", "rules", "alerts.yml") }

func TestRulesFireOnWhatTheyAreForAndOnNothingElse(t *testing.T) {
	promtool(t, "test", "rules", "alerts_test.yml")
}

// Grafana's variables, as it would fill them in.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$job", ".*", "$instance", ".*")

func TestQueriesOfTheDashboardAreQueries(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for _, q := range dashboardQueries(t) {
		rules.WriteString("  - record: a:query\n    expr: '" + strings.ReplaceAll(variables.Replace(q), "'", "''") + "'\n")
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	promtool(t, "check", "rules", "--lint=none", file)
}
