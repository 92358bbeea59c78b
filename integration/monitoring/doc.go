// Package monitoring tests what docs/monitoring has against what the adapters to
// Prometheus and OpenTelemetry really tell, and the alert rules with promtool.
package monitoring
