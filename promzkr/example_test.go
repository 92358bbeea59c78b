package promzkr_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/promzkr"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A server in this process stands in for an ensemble, and a registry of its own for
// the default one, which promhttp serves.
func Example() {
	ctx := context.Background()
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	defer srv.Close()

	metrics := promzkr.New()
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics)
	c, err := recipes.Dial(ctx, srv.ConnectString(), recipes.WithTrace(metrics.Trace()))
	if err != nil {
		panic(err)
	}
	defer c.Close()

	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		panic(err)
	}
	for range 3 {
		_ = mu.Do(ctx, func(context.Context, *recipes.Lease) error { return nil })
	}
	l, err := mu.Lock(ctx)
	if err != nil {
		panic(err)
	}
	show(reg, "zkr_lease_held", "zkr_session_timeout_seconds")
	_ = l.Release(ctx)
	// Output:
	// zkr_lease_held{kind="mutex"} 1
	// zkr_session_timeout_seconds 15
}

// Waits and leases by lock, where there are few. A lock for each customer is better
// called by what it is for.
func ExampleWithLockLabel() {
	ctx := context.Background()
	srv, err := zktest.New()
	if err != nil {
		panic(err)
	}
	defer srv.Close()

	metrics := promzkr.New(promzkr.WithLockLabel(func(path string) string {
		if strings.HasPrefix(path, "/customers/") {
			return "customer"
		}
		return path
	}))
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics)
	c, err := recipes.Dial(ctx, srv.ConnectString(), recipes.WithTrace(metrics.Trace()))
	if err != nil {
		panic(err)
	}
	defer c.Close()

	for _, path := range []string{"/customers/17", "/customers/18", "/locks/report"} {
		mu, err := lock.NewMutex(c, path)
		if err != nil {
			panic(err)
		}
		if _, err := mu.Lock(ctx); err != nil {
			panic(err)
		}
	}
	show(reg, "zkr_lease_held")
	// Output:
	// zkr_lease_held{kind="mutex",lock="/locks/report"} 1
	// zkr_lease_held{kind="mutex",lock="customer"} 2
}

// A write that comes too late is counted where it is refused.
func ExampleMetrics_Guard() {
	ctx := context.Background()
	metrics := promzkr.New()
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics)

	guard := metrics.Guard(fence.NewMemory("report")) // in a program one that outlives it, as of fence/sqlfence
	write := func(token fence.Token) error {
		return guard.Write(ctx, fence.Stamp{Token: token}, func(context.Context) error { return nil })
	}
	fmt.Println(write(34))
	fmt.Println(write(33))
	show(reg, "zkr_stale_writes_refused_total")
	// Output:
	// <nil>
	// fence: stale at report: offered 33, standing 34: a later grant stands
	// zkr_stale_writes_refused_total{reason="overtaken"} 0
	// zkr_stale_writes_refused_total{reason="repeated"} 0
	// zkr_stale_writes_refused_total{reason="superseded"} 1
}

// show prints metrics of a registry, in the form in which Prometheus reads them.
func show(reg prometheus.Gatherer, names ...string) {
	families, err := reg.Gather()
	if err != nil {
		panic(err)
	}
	for _, f := range families {
		for _, name := range names {
			if f.GetName() != name {
				continue
			}
			for _, m := range f.GetMetric() {
				var labels []string
				for _, l := range m.GetLabel() {
					labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
				}
				if len(labels) > 0 {
					name += "{" + strings.Join(labels, ",") + "}"
				}
				fmt.Println(name, m.GetGauge().GetValue()+m.GetCounter().GetValue())
				name = f.GetName()
			}
		}
	}
}
