package httpfence_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
)

// asked notes the stamps that reach a guard.
type asked struct{ stamps []fence.Stamp }

func (a *asked) Write(ctx context.Context, s fence.Stamp, effect func(context.Context) error) error {
	a.stamps = append(a.stamps, s)
	return effect(ctx)
}

func (a *asked) Read(context.Context, fence.Token, func(context.Context) error) error { return nil }
func (a *asked) Install(context.Context, fence.Token) error                           { return nil }

// Whatever stands in the headers, a guard is asked with a stamp that they spell in
// the one way there is, or the request is refused and nothing is asked.
func FuzzHeaders(f *testing.F) {
	f.Add("34", "", false)
	f.Add("34", "1", false)
	f.Add("34", "1", true)
	f.Add("+34", "01", false)
	f.Add("0", "-1", false)
	f.Add("9223372036854775808", "1e3", false)
	f.Add("34\r\nFencing-Seq: 7", " 1", false)
	f.Fuzz(func(t *testing.T, token, seq string, twice bool) {
		guard := &asked{}
		r := request(http.MethodPut, "x")
		r.Header["Fencing-Token"] = []string{token}
		if seq != "" {
			r.Header["Fencing-Seq"] = []string{seq}
		}
		if twice {
			r.Header.Add("Fencing-Token", token)
		}
		m := &httpfence.Middleware{Guard: httpfence.One(guard)}
		resp := serve(m.Write(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {})), r)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		if len(guard.stamps) == 0 {
			require.Contains(t, []int{http.StatusBadRequest, http.StatusPreconditionRequired}, resp.StatusCode)
			require.Less(t, len(body), 4<<10)
			return
		}
		require.False(t, twice, "which of the two would be meant?")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		again := http.Header{}
		httpfence.SetStamp(again, guard.stamps[0])
		require.Equal(t, token, again.Get("Fencing-Token"))
		require.Equal(t, seq, again.Get("Fencing-Seq"))
		require.Positive(t, guard.stamps[0].Token)
	})
}
