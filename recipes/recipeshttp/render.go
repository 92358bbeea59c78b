package recipeshttp

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/harmless"
)

var (
	//go:embed page.css
	style string
	//go:embed page.html
	layout string
)

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(style) },
	"name":  text.name,
	"clock": func(t time.Time) string { return t.Format("15:04:05.000") },
	"when":  func(t time.Time) string { return t.Format(time.RFC3339Nano) },
	"day":   func(t time.Time) string { return t.Format("2006-01-02 15:04:05 MST") },
	"ago":   func(now, t time.Time) seconds { return seconds(now.Sub(t)) },
}).Parse(layout))

// policy lets the page's own style through and nothing else.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

func setHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Vary", "Accept")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

func writeHTML(w http.ResponseWriter, r *http.Request, v *view) {
	var body bytes.Buffer
	if err := page.Execute(&body, v); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	write(w, r, "text/html; charset=utf-8", body.Bytes())
}

func writeJSON(w http.ResponseWriter, r *http.Request, v *view) {
	body, err := harmless.JSON(v)
	if err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	write(w, r, "application/json", []byte(body+"\n"))
}

// write answers with a whole body, or with its headers alone.
func write(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}
