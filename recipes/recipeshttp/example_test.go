package recipeshttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/recipes/recipeshttp"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A program gives the page's Trace to its client, and the page to the server that
// has its other debug handlers:
//
//	http.Handle("/debug/zookeeper", page)
func Example() {
	ctx := context.Background()
	srv, err := zktest.New() // in a program the servers are others
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	page := recipeshttp.New()
	c, err := recipes.Dial(ctx, srv.ConnectString(), recipes.WithTrace(page.Trace()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	mu, err := lock.NewMutex(c, "/locks/report")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = mu.Do(ctx, func(ctx context.Context, l *recipes.Lease) error {
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", "/debug/zookeeper?format=json", nil))
		var said struct {
			Held struct {
				Rows []struct {
					Path, Kind, Token string
					Remaining         float64 `json:"remaining_seconds"`
				}
			}
			Events []struct{ What, Path string }
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil {
			return err
		}
		for _, h := range said.Held.Rows {
			fmt.Println(h.Kind, h.Path, h.Token == l.Token().String(), h.Remaining > 0)
		}
		fmt.Println(said.Events[0].What, said.Events[0].Path)
		return nil
	})
	fmt.Println(err)
	// Output:
	// mutex /locks/report true true
	// granted /locks/report
	// <nil>
}
