package recipeshttp

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// request is how a page is asked for.
type request struct {
	json    bool
	refresh int // seconds, 0 for never
}

// maxRefresh bounds how rarely a page loads itself again, in seconds.
const maxRefresh = 3600

func readRequest(r *http.Request) (request, error) {
	q := r.URL.Query()
	var want request
	switch format := q.Get("format"); format {
	case "":
		want.json = prefersJSON(r.Header.Values("Accept"))
	case "json":
		want.json = true
	case "html":
	default:
		return want, fmt.Errorf("format %q: want html or json", format)
	}
	if text := q.Get("refresh"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxRefresh {
			return want, fmt.Errorf("refresh %q: want 1 to %d seconds", text, maxRefresh)
		}
		want.refresh = n
	}
	return want, nil
}

// prefersJSON reports whether JSON is accepted and HTML is not asked for: browsers
// ask for HTML, and whoever says nothing gets it.
func prefersJSON(accept []string) bool {
	json := false
	for _, part := range strings.Split(strings.Join(accept, ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil || strings.TrimLeft(params["q"], "0.") == "" && params["q"] != "" {
			continue // not understood, or not wanted
		}
		switch kind {
		case "text/html", "application/xhtml+xml":
			return false
		case "application/json":
			json = true
		}
	}
	return json
}
