// Package metering turns the events of a recipes.Trace into measurements: what
// the adapters to systems of metrics have in common. It decides what is measured,
// under which names and labels, and in which steps; an adapter says only how its
// system is told.
package metering
