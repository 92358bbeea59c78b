// Package electionhttp tells over HTTP whether a participant of an election is
// in good health, for the liveness probes of whoever starts it anew.
package electionhttp

import (
	"net/http"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
)

// Handler answers 200 while e is in good health, and 503 with the reason when it
// goes on acting as the leader of a term that ended more than margin ago. See
// election.Election.Check. A participant that does not lead is in good health.
func Handler(e *election.Election, margin time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := e.Check(margin); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
}
