package httpfence_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
)

// The cost of the middleware, without the network.
func BenchmarkWrite(b *testing.B) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	m := &httpfence.Middleware{Guard: httpfence.One(fence.NewMemory("report"))}
	for name, h := range map[string]http.Handler{"unguarded": next, "guarded": m.Write(next)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest("PUT", "/report", strings.NewReader("a line of text\n"))
				httpfence.SetStamp(r.Header, fence.Stamp{Token: 34})
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}
