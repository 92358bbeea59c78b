// Package chaos shows that the recipes keep their promises under faults: worker
// processes use all of them at once on an ensemble of three, while servers,
// network, workers and an operator do their worst, by a seed. What the workers
// did and believed is written down on the machine's monotonic clock, and judged
// afterwards by the rules of internal/history and, for the guarded registers, by
// package linear.
//
//	go test -race ./chaos                          # two short storms, one of them by a fresh seed
//	CHAOS_SEED=7 go test -race -run Storm ./chaos  # that one again
//	make soak SOAK=1h                              # a long one on each version, with a report
//
// A seed fixes what is struck in which order and for how long, and what workers
// choose; when threads run and packets arrive it does not.
package chaos
