package monitoring

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/otelzkr"
	"github.com/zkrecipes/zkrecipes/promzkr"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// life has clients do a little of everything, and returns what a registry holds
// then.
func life(t *testing.T, reg *prometheus.Registry, trace recipes.Trace) (families map[string]*dto.MetricFamily) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		srv := zktest.Start(t, zktest.WithInMemory())
		c, err := recipes.Dial(ctx, srv.ConnectString(), recipes.WithDialer(srv.DialContext),
			recipes.WithClock(recipes.MonotonicClock()), recipes.WithTrace(trace))
		require.NoError(t, err)
		defer c.Close()
		mu, err := lock.NewMutex(c, "/x")
		require.NoError(t, err)
		require.NoError(t, mu.Do(ctx, func(context.Context, *recipes.Lease) error { return nil }))
		_, err = mu.Lock(ctx)
		require.NoError(t, err)
		e, err := election.New(c, "/e")
		require.NoError(t, err)
		_, err = e.Campaign(ctx)
		require.NoError(t, err)
		time.Sleep(recipes.DefaultSessionTimeout) // of virtual time, with renewals
		all, err := reg.Gather()
		require.NoError(t, err)
		families = make(map[string]*dto.MetricFamily)
		for _, f := range all {
			families[f.GetName()] = f
		}
	})
	return families
}

func promFamilies(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	metrics, reg := promzkr.New(), prometheus.NewRegistry()
	reg.MustRegister(metrics)
	return life(t, reg, metrics.Trace())
}

// labels are those of a family.
func labels(f *dto.MetricFamily) []string {
	all := make(map[string]bool)
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			all[l.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

var (
	used     = regexp.MustCompile(`(zkr_[a-z_]+)(?:\{([^}]*)\})?`)
	matched  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|!~|=)`)
	grouping = regexp.MustCompile(`\b(?:by|on|without) \(([^)]*)\)`)
)

// scraped are labels that Prometheus adds.
var scraped = []string{"instance", "job"}

// requireTold fails the test where a query asks for what nobody tells.
func requireTold(t *testing.T, families map[string]*dto.MetricFamily, query string) {
	t.Helper()
	known := slices.Clone(scraped)
	for _, m := range used.FindAllStringSubmatch(query, -1) {
		name, of := m[1], families[m[1]]
		if base, ok := strings.CutSuffix(name, "_bucket"); ok || of == nil {
			base = regexp.MustCompile(`_(sum|count)$`).ReplaceAllString(base, "")
			of = families[base]
			require.NotNil(t, of, "nobody tells %s: %s", name, query)
			require.Equal(t, dto.MetricType_HISTOGRAM, of.GetType(), "%s: %s", name, query)
			known = append(known, "le")
		} else {
			require.NotEqual(t, dto.MetricType_HISTOGRAM, of.GetType(), "%s: %s", name, query)
		}
		require.Equal(t, of.GetType() == dto.MetricType_COUNTER, strings.HasSuffix(name, "_total"), query)
		its := append(labels(of), scraped...)
		known = append(known, its...)
		for _, l := range matched.FindAllStringSubmatch(m[2], -1) {
			require.Contains(t, its, l[1], "%s has no such label: %s", name, query)
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(query, -1) {
		for _, l := range strings.Split(g[1], ",") {
			require.Contains(t, known, strings.TrimSpace(l), query)
		}
	}
}

func TestRulesAndDashboardAskForWhatIsTold(t *testing.T) {
	families := promFamilies(t)
	asked := dashboardQueries(t)
	for _, r := range rules(t) {
		asked = append(asked, r.Expr)
	}
	seen := make(map[string]bool)
	for _, q := range asked {
		requireTold(t, families, q)
		for _, m := range used.FindAllStringSubmatch(q, -1) {
			seen[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(m[1], "")] = true
		}
	}
	for name := range families {
		require.True(t, seen[name], "%s is told, and nobody asks for it", name)
	}
}

// What OpenTelemetry's exporter to Prometheus makes of the names: promzkr's, with
// labels under a prefix.
func TestBothAdaptersTellTheSame(t *testing.T) {
	reg := prometheus.NewRegistry()
	exporter, err := otelprom.New(otelprom.WithRegisterer(reg), otelprom.WithoutTargetInfo(), otelprom.WithoutScopeInfo())
	require.NoError(t, err)
	tel, err := otelzkr.New(otelzkr.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))))
	require.NoError(t, err)
	defer tel.Close()
	otel, prom := life(t, reg, tel.Trace()), promFamilies(t)
	require.Equal(t, slices.Sorted(maps.Keys(prom)), slices.Sorted(maps.Keys(otel)))
	for name, f := range prom {
		require.Equal(t, f.GetType(), otel[name].GetType(), name)
		require.Equal(t, f.GetHelp(), otel[name].GetHelp(), name)
		var prefixed []string
		for _, l := range labels(f) {
			prefixed = append(prefixed, "zkr_"+l)
		}
		require.Equal(t, prefixed, labels(otel[name]), name)
	}
}

// The package docs list every metric, with its labels.
func TestManualsListWhatIsTold(t *testing.T) {
	prom := string(readFile(t, "../../promzkr/doc.go"))
	otel := string(readFile(t, "../../otelzkr/doc.go"))
	for name, f := range promFamilies(t) {
		with := name
		if l := labels(f); len(l) > 0 {
			slices.SortFunc(l, func(a, b string) int { return order(a) - order(b) })
			with += "{" + strings.Join(l, ",") + "}"
		}
		require.Contains(t, prom, "//	"+with+" ")
		dotted := regexp.MustCompile(`(_seconds)?(_total)?$`).ReplaceAllString(name, "")
		require.Regexp(t, `(?m)^//\t`+strings.ReplaceAll(regexp.QuoteMeta(dotted), "_", "[._]")+`[ {]`, otel)
	}
}

// order puts the kind first.
func order(label string) int { return slices.Index([]string{"kind", label}, label) }
