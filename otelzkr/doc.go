// Package otelzkr is what zkrecipes tells OpenTelemetry: metrics of how long locks
// are waited for and held, what is held now, why leases are lost, how near to their
// end they come, and for how long the process was paused; and a span for each call
// for a lease and one for each lease.
//
//	tel, err := otelzkr.New()
//	if err != nil {
//		return err
//	}
//	defer tel.Close()
//	c, err := recipes.Dial(ctx, servers, recipes.WithTrace(tel.Trace()))
//
// One Telemetry serves all clients of a process. It is a module of its own, so that
// zkrecipes itself does not depend on OpenTelemetry. Its name is made as
// OpenTelemetry asks for of packages that instrument another one
// (opentelemetry-go-contrib, instrumentation/README.md): otel, and then what they
// are about, which here is the prefix that the metrics have.
//
// # Metrics
//
// All times are in seconds. Names are of OpenTelemetry's form, and what its
// exporters to Prometheus make of them are the names that package promzkr has
// (zkr.lease.lost becomes zkr_lease_lost_total); labels have the prefix zkr_ there.
//
//	zkr.wait.duration{zkr.kind,zkr.outcome}   histogram: calls for a lease, by what came of them:
//	                                          granted, locked (of a Try), timeout, canceled,
//	                                          place_lost, closed, error
//	zkr.wait.active{zkr.kind}                 calls that wait now
//	zkr.wait.longest{zkr.kind}                the longest of their waits, so far
//	zkr.hold.duration{zkr.kind,zkr.outcome}   histogram: leases that ended: released, lost
//	zkr.lease.held{zkr.kind}                  leases that are held
//	zkr.lease.remaining                       how long the lease holds that ends first if nothing
//	                                          extends it; there is none where none is held
//	zkr.lease.lost{zkr.kind,zkr.cause}        leases lost: unproven, disconnected, expired,
//	                                          deleted, suspended, closed, as recipes.Loss says
//	zkr.renewal.duration{zkr.outcome}         histogram: committed writes that extend leases: ok, failed
//	zkr.session.open{zkr.state}               sessions: connected, suspended
//	zkr.session.ended{zkr.outcome}            sessions over: lost, closed
//	zkr.session.timeout                       the session timeout that was granted
//	zkr.session.suspended                     how long sessions were in doubt
//	zkr.timer.lateness                        histogram: how late the timer of leases was
//	zkr.pause.longest                         the greatest of that since the process began
//	zkr.stale_writes.refused{zkr.reason}      writes that guards refused: superseded, repeated,
//	                                          overtaken; see Guard and Refused
//	zkr.cleanups{zkr.outcome}                 znodes deleted in the background, those of released
//	                                          leases included: ok, failed
//	zkr.overruns                              leaders' functions that ignored the end of their context
//	zkr.strangers                             znodes that make Curator peers wait for ever
//
// zkr.kind is mutex, writer, reader, permit or candidate, or other for a lease of a
// recipe of one's own that does not say. No attribute of a metric holds a path unless
// WithLockAttribute says which.
//
// # Spans
//
// "acquire mutex", with the kind that it is, is a call for a lease: of the kind
// client, and a child of the span in the call's context. Its error.type is the
// outcome where that is not granted, and its status is an error unless the call was
// a Try, or its context ended.
//
// "hold mutex" begins when that call returns a lease, with the same parent, and ends
// with the lease: it stands beside what is done under the lease. It is exported when
// it ends, which for a leader may be weeks later. Its status is an error where the
// lease was lost; zkr.cause says why.
//
// Attributes of spans, unlike those of metrics, tell them apart: zkr.path, of the
// lock, and zkr.token, the fencing token. Session ids and identities are in no span
// and no metric: see SECURITY.md of the repository for what an id is good for. The
// log has them.
//
// # What is not told
//
// A process that is paused tells nothing. What is read of a lease, such as
// zkr.lease.remaining, is what holds at that moment, and is no reason to go on
// without asking the lease itself. Leases of recipes of one's own, which call
// Session.Grant, have no spans.
package otelzkr
