package recipeshttp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPageComesInTheFormThatIsAskedFor(t *testing.T) {
	const (
		html = "text/html; charset=utf-8"
		json = "application/json"
	)
	for _, fact := range []struct {
		query  string
		accept []string
		want   string
	}{
		{"", nil, html},
		{"", []string{"*/*"}, html},
		{"", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, html},
		{"", []string{"application/json, text/html"}, html},
		{"", []string{"application/json, text/html;q=0"}, json},
		{"", []string{"application/json;q=0"}, html},
		{"", []string{"application/json;q=0.0, */*"}, html},
		{"", []string{"application/json"}, json},
		{"", []string{"text/plain", "Application/JSON; charset=utf-8"}, json},
		{"", []string{";;;,,q=,application/"}, html},
		{"?format=json", []string{"text/html"}, json},
		{"?format=html", []string{"application/json"}, html},
		{"?refresh=5&format=json", nil, json},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := ask(t, New(), method, fact.query, fact.accept...)
			require.Equal(t, http.StatusOK, w.Code)
			require.Equal(t, fact.want, w.Header().Get("Content-Type"), "%s %v", fact.query, fact.accept)
			length, err := strconv.Atoi(w.Header().Get("Content-Length"))
			require.NoError(t, err)
			require.NotZero(t, length)
			if method == http.MethodHead {
				length = 0
			}
			require.Equal(t, length, w.Body.Len())
		}
	}
}

func TestWhatIsNoReadingIsRefused(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "get"} {
		w := ask(t, New(), method, "")
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		requireHeaders(t, w)
	}
	for _, query := range []string{"?format=xml", "?refresh=0", "?refresh=-1", "?refresh=3601", "?refresh=5s", "?refresh=99999999999999999999", "?format=%3Cscript%3E"} {
		w := ask(t, New(), http.MethodGet, query)
		require.Equal(t, http.StatusBadRequest, w.Code, query)
		require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
		requireHeaders(t, w)
	}
}

func TestPageLoadsItselfAgainWhereItIsToldTo(t *testing.T) {
	require.NotContains(t, ask(t, New(), http.MethodGet, "").Body.String(), `http-equiv`)
	require.Contains(t, ask(t, New(), http.MethodGet, "?refresh=5").Body.String(), `<meta http-equiv="refresh" content="5">`)
}

// Nothing but the page's own style is let through, and that is: a browser finds
// the hash of what stands in the page among those that are allowed.
func TestHeadersForbidAllThatThePageDoesNotNeed(t *testing.T) {
	for _, query := range []string{"", "?format=json"} {
		requireHeaders(t, ask(t, New(), http.MethodGet, query))
	}
	page := ask(t, New(), http.MethodGet, "").Body.String()
	styles := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(page, -1)
	require.Len(t, styles, 1)
	sum := sha256.Sum256([]byte(styles[0][1]))
	require.Contains(t, policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	require.NotRegexp(t, `(?i)<script|<img|<link|<iframe|<form|\sstyle=|\son[a-z]+=|src=|https?:`, page)
}

func requireHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	h := w.Header()
	require.Equal(t, "no-store", h.Get("Cache-Control"))
	require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
	require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-")
	require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"))
	require.Equal(t, "no-referrer", h.Get("Referrer-Policy"))
}

// A page of which nothing is known yet has empty lists, and no null.
func TestPageThatKnowsNothingIsAPage(t *testing.T) {
	body := ask(t, New(), http.MethodGet, "?format=json").Body.Bytes()
	require.NotContains(t, string(body), "null")
	require.True(t, json.Valid(body))
	require.Contains(t, ask(t, New(), http.MethodGet, "").Body.String(), "none yet")
}
