package recipeshttp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// T is the session timeout of the tests on virtual time.
const T = zkrtest.Timeout

// ask asks for the page.
func ask(t testing.TB, p *Page, method, query string, accept ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/debug/zookeeper"+query, nil)
	r.Header["Accept"] = accept
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// said is the JSON, as somebody else would read it.
type said struct {
	Held     lines[saidLease]
	Waiting  lines[saidCall]
	Sessions lines[saidSession]
	Events   []saidEvent
	Counts   struct {
		Calls, Granted, Released, Renewals, Deleted uint64
		NotGranted                                  uint64 `json:"not_granted"`
		Lost                                        map[string]uint64
	}
}

type lines[T any] struct {
	Total int
	Rows  []T
}

type saidLease struct {
	Path, Kind, Token, Session, State, Znode string
	Shared                                   bool
	Remaining                                float64 `json:"remaining_seconds"`
	Held                                     float64 `json:"held_seconds"`
	Guards                                   []string
}

type saidCall struct {
	Path, Kind, Session, Behind, Znode string
	Waiting                            float64 `json:"waiting_seconds"`
	Queued                             bool
	Position                           int
	First                              struct {
		Identity, Znode, Session string
		Holds                    bool
	}
}

type saidSession struct {
	Identity, Session, State, Cause, Server string
	Since                                   float64 `json:"state_seconds"`
	Timeout                                 float64 `json:"timeout_seconds"`
	Proven                                  float64 `json:"proven_seconds"`
	Leases                                  int
}

type saidEvent struct {
	What, Path, Token, Session, Text string
	Trouble                          bool
}

func asJSON(t testing.TB, p *Page) (s said) {
	t.Helper()
	w := ask(t, p, http.MethodGet, "?format=json")
	require.Equal(t, http.StatusOK, w.Code)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &s))
	return s
}

// whats are the kinds of the events, the newest first.
func (s said) whats() (all []string) {
	for _, e := range s.Events {
		all = append(all, e.What)
	}
	return all
}

// join gives a client that the page knows of.
func join(t testing.TB, p *Page, srv *zktest.Server, opts ...recipes.Option) *recipes.Client {
	t.Helper()
	return zkrtest.Dial(t, srv, append([]recipes.Option{recipes.WithTrace(p.Trace())}, opts...)...)
}

func mutex(t testing.TB, c *recipes.Client, path string, opts ...lock.MutexOption) *lock.Mutex {
	t.Helper()
	mu, err := lock.NewMutex(c, path, opts...)
	require.NoError(t, err)
	return mu
}

func hold(t testing.TB, c *recipes.Client, path string, opts ...lock.MutexOption) *recipes.Lease {
	t.Helper()
	l, err := mutex(t, c, path, opts...).Lock(t.Context())
	require.NoError(t, err)
	return l
}
