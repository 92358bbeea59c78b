package httpfence_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
)

type grant struct {
	token fence.Token
	err   error
}

func (g *grant) Token() fence.Token { return g.token }
func (g *grant) Err() error         { return g.err }

// recorded remembers the requests that were sent.
type recorded []*http.Request

func (r *recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	*r = append(*r, req)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

func TestTransportAddsTheTokenAndKeepsTheNumber(t *testing.T) {
	var sent recorded
	client := &http.Client{Transport: &httpfence.Transport{Base: &sent}}
	ctx := fence.WithHolder(t.Context(), &grant{token: 34})
	req, err := http.NewRequestWithContext(ctx, "PUT", "http://service/report", strings.NewReader("x"))
	require.NoError(t, err)
	httpfence.SetStamp(req.Header, fence.Stamp{Token: 1, Seq: 7})
	_, err = client.Do(req)
	require.NoError(t, err)
	require.Equal(t, "34", sent[0].Header.Get("Fencing-Token"), "the holder's, whatever was there")
	require.Equal(t, "7", sent[0].Header.Get("Fencing-Seq"))
	require.Equal(t, "1", req.Header.Get("Fencing-Token"), "the caller's request is left alone")
}

type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error {
	c.closed = true
	return nil
}

func TestTransportSendsNothingWithoutALiveGrant(t *testing.T) {
	lost := errors.New("recipes: lease lost")
	holder := &grant{token: 33, err: lost}
	for name, c := range map[string]struct {
		with func(*http.Request) *http.Request
		want error
	}{
		"no grant":             {func(r *http.Request) *http.Request { return r }, httpfence.ErrNoHolder},
		"a grant that is over": {func(r *http.Request) *http.Request { return r.WithContext(fence.WithHolder(r.Context(), holder)) }, lost},
	} {
		t.Run(name, func(t *testing.T) {
			var sent recorded
			body := &closer{Reader: strings.NewReader("x")}
			req, err := http.NewRequestWithContext(t.Context(), "PUT", "http://service/report", body)
			require.NoError(t, err)
			_, err = (&http.Client{Transport: &httpfence.Transport{Base: &sent}}).Do(c.with(req))
			require.ErrorIs(t, err, c.want)
			require.Empty(t, sent)
			require.True(t, body.closed)
		})
	}
}

func TestRemoteInstallsAtTheService(t *testing.T) {
	guard := fence.NewMemory("report")
	srv := httptest.NewServer((&httpfence.Middleware{Guard: httpfence.One(guard)}).Install())
	defer srv.Close()
	remote := &httpfence.Remote{URL: srv.URL + "/report", Client: srv.Client()}
	require.NoError(t, fence.Install(t.Context(), 34, remote))
	require.NoError(t, remote.Install(t.Context(), 34))

	err := remote.Install(t.Context(), 33)
	var stale *fence.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, fence.StaleError{Resource: "/report", Offered: fence.Stamp{Token: 33}, Standing: fence.Stamp{Token: 34}}, *stale)
	require.ErrorIs(t, guard.Install(t.Context(), 33), fence.ErrStale)
}

func TestRemoteTellsOtherRefusals(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	err := (&httpfence.Remote{URL: srv.URL, Client: srv.Client()}).Install(t.Context(), 34)
	require.ErrorContains(t, err, "404")
	require.NotErrorIs(t, err, fence.ErrStale)
}

func TestCheckResponseLeavesForeignAnswersAlone(t *testing.T) {
	answer := func(status int, media, body string) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(strings.NewReader(body))}
	}
	for name, resp := range map[string]*http.Response{
		"success":            answer(200, "application/problem+json", "{}"),
		"another 412":        answer(412, "text/plain", "etag"),
		"another problem":    answer(412, "application/problem+json", `{"type":"https://example.com/etag"}`),
		"not even a problem": answer(412, "application/problem+json", `{`),
	} {
		t.Run(name, func(t *testing.T) {
			want, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			resp.Body = io.NopCloser(strings.NewReader(string(want)))
			require.NoError(t, httpfence.CheckResponse(resp))
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}
