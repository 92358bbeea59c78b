package electionhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/electionhttp"
	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestHandlerAnswersByTheHealthOfTheParticipant(t *testing.T) {
	zkrtest.Bubble(t, func(t *testing.T, srv *zktest.Server) {
		c := zkrtest.Dial(t, srv)
		e, err := election.New(c, "/election/x")
		require.NoError(t, err)
		h := electionhttp.Handler(e, 5*time.Second)
		probe := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
			return w
		}
		require.Equal(t, http.StatusOK, probe().Code, "does not lead")

		ctx, cancel := context.WithCancel(t.Context())
		proceed := make(chan struct{})
		done := zkrtest.Go(func() (struct{}, error) {
			return struct{}{}, e.Run(ctx, func(context.Context, *election.Term) error {
				<-proceed // whatever its context says
				return nil
			})
		})
		synctest.Wait()
		require.Equal(t, http.StatusOK, probe().Code, "leads")
		require.Equal(t, "ok\n", probe().Body.String())

		srv.ExpireSession(zkrtest.Session(t, c).ID())
		time.Sleep(10 * time.Second)
		w := probe()
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Contains(t, w.Body.String(), "still acts as the leader")
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))

		cancel()
		close(proceed)
		require.NoError(t, (<-done).Err)
		require.Equal(t, http.StatusOK, probe().Code)
	})
}
