// Package promzkr is what zkrecipes tells Prometheus: how long locks are waited
// for and held, what is held now, why leases are lost, how near to their end they
// come, and for how long the process was paused.
//
//	metrics := promzkr.New()
//	prometheus.MustRegister(metrics)
//	c, err := recipes.Dial(ctx, servers, recipes.WithTrace(metrics.Trace()))
//
// One Metrics serves all clients of a process, beside another Trace, such as that
// of the page of recipes/recipeshttp, joined to it by recipes.JoinTraces. It is a module of its own, so that
// zkrecipes itself does not depend on Prometheus. Its name is made like those of
// Prometheus's own packages, such as promhttp: the system of metrics first, then
// what it is about, under the prefix that the metrics have.
//
// # Metrics
//
// All times are in seconds. kind is mutex, writer, reader, permit or candidate, or
// other for a lease of a recipe of one's own that does not say.
//
//	zkr_wait_duration_seconds{kind,outcome}   histogram: calls for a lease, by what came of them:
//	                                          granted, locked (of a Try), timeout, canceled,
//	                                          place_lost, closed, error
//	zkr_wait_active{kind}                     calls that wait now
//	zkr_wait_longest_seconds{kind}            the longest of their waits, so far
//	zkr_hold_duration_seconds{kind,outcome}   histogram: leases that ended: released, lost
//	zkr_lease_held{kind}                      leases that are held
//	zkr_lease_remaining_seconds               how long the lease holds that ends first if nothing
//	                                          extends it; there is none where none is held
//	zkr_lease_lost_total{kind,cause}          leases lost: unproven, disconnected, expired,
//	                                          deleted, suspended, closed, as recipes.Loss says
//	zkr_renewal_duration_seconds{outcome}     histogram: committed writes that extend leases: ok, failed
//	zkr_session_open{state}                   sessions: connected, suspended
//	zkr_session_ended_total{outcome}          sessions over: lost, closed
//	zkr_session_timeout_seconds               the session timeout that was granted
//	zkr_session_suspended_seconds_total       how long sessions were in doubt
//	zkr_timer_lateness_seconds                histogram: how late the timer of leases was
//	zkr_pause_longest_seconds                 the greatest of that since the process began
//	zkr_stale_writes_refused_total{reason}    writes that guards refused: superseded, repeated,
//	                                          overtaken; see Guard and Refused
//	zkr_cleanups_total{outcome}               znodes deleted in the background, those of released
//	                                          leases included: ok, failed
//	zkr_overruns_total                        leaders' functions that ignored the end of their context
//	zkr_strangers_total                       znodes that make Curator peers wait for ever
//
// Counters of what has not happened yet are 0, so that their first growth shows.
//
// zkr_pause_longest_seconds is the figure to choose the session timeout by: a
// process that pauses for longer than what is left of a lease, 0.4 of the timeout
// with a known tick and 0.23 otherwise, loses it. Pauses are told up to a
// thirty-second of the timeout shorter than they were.
//
// # Labels
//
// No label holds a path unless WithLockLabel says which: then the metrics of
// waits, holds and leases have a label lock, whose values are what its function
// makes of the paths of locks, and at most a hundred of these; what comes later is
// "other". Names of znodes, which have numbers, are never among them, nor are
// sessions, tokens or identities: those are in the log.
//
// # What is not told
//
// A process that is paused tells nothing; Prometheus sees its metrics end, or come
// late. What is read of a lease, such as zkr_lease_remaining_seconds, is what holds
// at that moment, and is no reason to go on without asking the lease itself.
//
// Alert rules and a dashboard for Grafana on these metrics are in docs/monitoring of
// the repository.
package promzkr
