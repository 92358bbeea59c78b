package httpfence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
)

// A service guards its report; holders write to it through a client that sends
// their token along.
func Example() {
	guard := fence.NewMemory("report")
	fenced := &httpfence.Middleware{Guard: httpfence.One(guard)}
	mux := http.NewServeMux()
	mux.Handle("PUT /report", fenced.Write(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "stored %q", text)
	})))
	mux.Handle("POST /report/fence", fenced.Install())
	srv := httptest.NewServer(mux)
	defer srv.Close()

	client := &http.Client{Transport: &httpfence.Transport{Base: srv.Client().Transport}}
	put := func(holder fence.Holder, text string) {
		ctx := fence.WithHolder(context.Background(), holder) // a *recipes.Lease is a Holder
		req, _ := http.NewRequestWithContext(ctx, "PUT", srv.URL+"/report", strings.NewReader(text))
		resp, err := client.Do(req)
		if err != nil {
			fmt.Println("not sent:", errors.Is(err, errLost))
			return
		}
		defer resp.Body.Close()
		if err := httpfence.CheckResponse(resp); err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		fmt.Println(resp.StatusCode, string(body))
	}

	paused := &grant{token: 33}
	put(paused, "draft")
	remote := &httpfence.Remote{URL: srv.URL + "/report/fence", Client: srv.Client()}
	fmt.Println(fence.Install(context.Background(), 34, remote))
	put(paused, "late draft") // it still believes
	paused.err = errLost      // and now it has looked
	put(paused, "late draft")
	// Output:
	// 200 stored "draft"
	// <nil>
	// fence: stale at /report: offered 33, standing 34: a later grant stands
	// not sent: true
}

var errLost = errors.New("lease lost")
