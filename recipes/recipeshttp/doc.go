// Package recipeshttp serves a page that says what a process holds and waits for,
// and what has happened of late, in the manner of net/http/pprof and expvar:
//
//	page := recipeshttp.New()
//	c, err := recipes.Dial(ctx, servers, recipes.WithTrace(page.Trace()))
//	...
//	http.Handle("/debug/zookeeper", page)
//
// Where there is another Trace, such as that of promzkr, join them:
// recipes.WithTrace(recipes.JoinTraces(page.Trace(), metrics.Trace())).
//
// A browser gets a page that needs neither scripts nor anything from elsewhere;
// ?refresh=5 has it load itself again every five seconds. With ?format=json, or
// where the request accepts JSON and no HTML, it is JSON.
//
// # What it says
//
// What is held is asked of the clients at each request, so that it is what they
// themselves go by: a lease is listed while it holds by the lease clock, with how
// long it still does if nothing extends it. No list of leases is kept that could
// be wrong. So it is with sessions. [recipes.Session.ProvenFor] says what "proven"
// means there: an idle session needs no proof, and has none.
//
// Calls that wait are listed from their beginning to their return, with their
// place in the queue as they were last told it, and who was first then. Events are
// the last 100, and beside them the last 100 of those that are troubles, so that
// many locks that come and go do not push the one that was lost out. Counts are
// since New.
//
// # What it does not say
//
// It is a view of one process: other processes, and what the servers hold true,
// are for the command zkr. It is put together without stopping anything: a lock
// that is granted meanwhile may be in two of its lists, or in none. A lease that
// was lost is not listed any more, though a function that does not look at its
// context may still run under it; that it was lost stands among the events.
// Barriers are not listed.
//
// # Who may see it
//
// The page is not for the public. It has no credentials, no ACL, no chroot and no
// session passwords. But it has paths, identities, the addresses of servers, and
// the ids of sessions, and whoever can reach the servers can end a session of
// which he knows the id. Serve it where the process's other debug handlers are,
// behind an address or an authentication of its own: it asks for none. It changes
// nothing, and answers GET and HEAD alone. Its headers forbid scripts, forms and
// frames, and that it is kept.
//
// Paths and identities come from ZooKeeper, where others may have written them.
// They are escaped, what cannot be printed is shown as Go writes it in a string,
// and what is longer than some 300 bytes is cut in its middle; of leases, calls
// and sessions there are at most 500 each, and how many were left out is said.
//
// # What it costs
//
// A round of a lock takes two microseconds more (BenchmarkRound), under one mutex
// for all clients that share the page. Memory is for the calls that wait, and for
// the events. A request takes time for each lease and call there is.
package recipeshttp
