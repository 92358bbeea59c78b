package electionhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/electionhttp"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A liveness probe: one that stands by is in good health, and so is a leader. One
// that goes on for more than a second after its term has ended is not.
func ExampleHandler() {
	ctx := context.Background()
	srv, err := zktest.New() // in a program: a real ensemble
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := recipes.Dial(ctx, srv.ConnectString())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	e, err := election.New(c, "/election/controller")
	if err != nil {
		fmt.Println(err)
		return
	}

	mux := http.NewServeMux()
	mux.Handle("/healthz", electionhttp.Handler(e, time.Second))
	probe := httptest.NewRecorder()
	mux.ServeHTTP(probe, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	fmt.Println(probe.Code)
	// Output: 200
}
