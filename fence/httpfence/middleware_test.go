package httpfence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
)

// report is a service with one guarded text.
type report struct {
	guard fence.Guard
	text  string
}

func (s *report) middleware() *httpfence.Middleware {
	return &httpfence.Middleware{Guard: httpfence.One(s.guard), Logger: slog.New(slog.DiscardHandler)}
}

func (s *report) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.text = string(body)
	w.Header().Set("X-Length", fmt.Sprint(len(body)))
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "stored")
}

func request(method, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "/report", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func requireProblem(t *testing.T, resp *http.Response, status int) map[string]any {
	t.Helper()
	require.Equal(t, status, resp.StatusCode)
	require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	var doc map[string]any
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&doc))
	require.EqualValues(t, status, doc["status"])
	require.NotEmpty(t, doc["title"])
	return doc
}

func TestAdmittedWriteReachesTheHandlerAndItsAnswerTheClient(t *testing.T) {
	s := &report{guard: fence.NewMemory("report")}
	h := s.middleware().Write(http.HandlerFunc(s.put))
	resp := serve(h, request("PUT", "final", "Fencing-Token", "34", "Fencing-Seq", "1"))
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	require.Equal(t, "5", resp.Header.Get("X-Length"))
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "stored", string(body))
	require.Equal(t, "final", s.text)
}

func TestStaleWriteIs412WithBothStamps(t *testing.T) {
	s := &report{guard: fence.NewMemory("/srv/report"), text: "final"}
	const great = fence.Token(1)<<60 + 1 // no float64
	require.NoError(t, s.guard.Install(t.Context(), great))
	h := s.middleware().Write(http.HandlerFunc(s.put))
	resp := serve(h, request("PUT", "late", "Fencing-Token", "33", "Fencing-Seq", "7"))

	err := httpfence.CheckResponse(resp)
	var stale *fence.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, fence.Stamp{Token: 33, Seq: 7}, stale.Offered)
	require.Equal(t, fence.Stamp{Token: great}, stale.Standing)

	doc := requireProblem(t, resp, http.StatusPreconditionFailed)
	require.Equal(t, map[string]any{"token": "1152921504606846977"}, doc["standing"])
	require.NotContains(t, fmt.Sprint(doc), "/srv", "the resource's name is the server's own affair")
	require.Equal(t, "final", s.text)
}

func TestRequestsThatNoHolderSends(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"no token":          {nil, http.StatusPreconditionRequired},
		"a number alone":    {[]string{"Fencing-Seq", "1"}, http.StatusPreconditionRequired},
		"an empty token":    {[]string{"Fencing-Token", ""}, http.StatusBadRequest},
		"no number":         {[]string{"Fencing-Token", "0x22"}, http.StatusBadRequest},
		"zero":              {[]string{"Fencing-Token", "0"}, http.StatusBadRequest},
		"beyond 64 bit":     {[]string{"Fencing-Token", "9223372036854775808"}, http.StatusBadRequest},
		"another spelling":  {[]string{"Fencing-Token", "+34"}, http.StatusBadRequest},
		"two tokens":        {[]string{"Fencing-Token", "34", "Fencing-Token", "35"}, http.StatusBadRequest},
		"a bad seq":         {[]string{"Fencing-Token", "34", "Fencing-Seq", "0"}, http.StatusBadRequest},
		"two seqs":          {[]string{"Fencing-Token", "34", "Fencing-Seq", "1", "Fencing-Seq", "2"}, http.StatusBadRequest},
		"a seq in the list": {[]string{"Fencing-Token", "34, 35"}, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			s := &report{guard: fence.NewMemory("report")}
			for _, h := range []http.Handler{
				s.middleware().Write(http.HandlerFunc(s.put)),
				s.middleware().Read(http.HandlerFunc(s.put)),
				s.middleware().Install(),
			} {
				requireProblem(t, serve(h, request("PUT", "x", c.headers...)), c.status)
			}
			require.Empty(t, s.text)
			require.NoError(t, s.guard.Install(t.Context(), 1), "the guard was not troubled")
		})
	}
}

func TestHandlerThatFailsInstallsNothing(t *testing.T) {
	s := &report{guard: fence.NewMemory("report")}
	h := s.middleware().Write(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such chapter", http.StatusNotFound)
	}))
	resp := serve(h, request("PUT", "", "Fencing-Token", "34"))
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "no such chapter\n", string(body))
	require.NoError(t, s.guard.Install(t.Context(), 33))
}

func TestHandlerThatPanicsInstallsNothing(t *testing.T) {
	s := &report{guard: fence.NewMemory("report")}
	h := s.middleware().Write(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("bug") }))
	require.PanicsWithValue(t, "bug", func() { serve(h, request("PUT", "", "Fencing-Token", "34")) })
	require.NoError(t, s.guard.Install(t.Context(), 33))
}

// failing applies the effect and then cannot keep it.
type failing struct {
	fence.Guard
	err error
}

func (f failing) Write(ctx context.Context, s fence.Stamp, effect func(context.Context) error) error {
	_ = f.Guard.Write(ctx, s, effect)
	return f.err
}

func TestNobodyIsToldOfASuccessThatWasNotKept(t *testing.T) {
	for status, err := range map[int]error{
		http.StatusServiceUnavailable:  errors.New("secret: commit refused"),
		http.StatusInternalServerError: fmt.Errorf("%w: secret", fence.ErrOutcomeUnknown),
	} {
		s := &report{guard: failing{Guard: fence.NewMemory("report"), err: err}}
		doc := requireProblem(t, serve(s.middleware().Write(http.HandlerFunc(s.put)), request("PUT", "x", "Fencing-Token", "34")), status)
		require.NotContains(t, fmt.Sprint(doc), "secret")
		require.NotContains(t, fmt.Sprint(doc), "stored")
	}
}

func TestReadersAreCheckedAndNeverStand(t *testing.T) {
	s := &report{guard: fence.NewMemory("report"), text: "final"}
	get := s.middleware().Read(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s.text) }))
	require.NoError(t, s.guard.Install(t.Context(), 34))
	require.Equal(t, http.StatusOK, serve(get, request("GET", "", "Fencing-Token", "40")).StatusCode)
	requireProblem(t, serve(get, request("GET", "", "Fencing-Token", "33")), http.StatusPreconditionFailed)
	require.NoError(t, s.guard.Install(t.Context(), 35), "the reader's 40 does not stand")
}

func TestBodyIsReadBeforeTheGuardIsAsked(t *testing.T) {
	s := &report{guard: fence.NewMemory("report")}
	h := s.middleware().Write(http.HandlerFunc(s.put))
	r := request("PUT", "", "Fencing-Token", "33")
	// The client is slow: 34 comes and goes before the body does.
	r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
		require.NoError(t, s.guard.Install(t.Context(), 34))
		return 0, io.EOF
	}))
	requireProblem(t, serve(h, r), http.StatusPreconditionFailed)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestBodyThatDoesNotArriveOrIsTooLargeChangesNothing(t *testing.T) {
	s := &report{guard: fence.NewMemory("report")}
	m := s.middleware()
	m.MaxBody = 4
	h := m.Write(http.HandlerFunc(s.put))
	requireProblem(t, serve(h, request("PUT", "12345", "Fencing-Token", "34")), http.StatusRequestEntityTooLarge)
	r := request("PUT", "", "Fencing-Token", "34")
	r.Body = io.NopCloser(iotest.ErrReader(errors.New("reset")))
	requireProblem(t, serve(h, r), http.StatusBadRequest)
	require.NoError(t, s.guard.Install(t.Context(), 33))
	require.Empty(t, s.text)
}

func TestUnknownResourceIs404(t *testing.T) {
	m := &httpfence.Middleware{Guard: func(*http.Request) fence.Guard { return nil }}
	requireProblem(t, serve(m.Install(), request("POST", "", "Fencing-Token", "34")), http.StatusNotFound)
}
