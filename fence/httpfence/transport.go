package httpfence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/zkrecipes/zkrecipes/fence"
)

// ErrNoHolder is returned when a request's context carries no grant. Nothing was
// sent.
var ErrNoHolder = errors.New("httpfence: the request's context carries no fence.Holder")

// Transport sends requests under the grant that their context carries, see
// fence.WithHolder: it adds the token, and refuses to send once the grant is
// over, with an error that wraps the holder's. Number a write by SetStamp or by
// the header itself; a retry keeps its number.
type Transport struct {
	// Base sends the requests. The default is http.DefaultTransport.
	Base http.RoundTripper

	_ struct{}
}

// RoundTrip is http.RoundTripper's.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	holder := fence.HolderFrom(r.Context())
	if err := holds(holder); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as RoundTrip must
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set(TokenHeader, holder.Token().String())
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return base.RoundTrip(r)
}

func holds(h fence.Holder) error {
	if h == nil {
		return ErrNoHolder
	}
	if err := h.Err(); err != nil {
		return fmt.Errorf("httpfence: not sent: the grant of token %v is over: %w", h.Token(), err)
	}
	return nil
}

// Remote installs tokens at a service, where Middleware.Install serves URL.
type Remote struct {
	URL string

	// Client sends the requests, and not through a Transport. The default is
	// http.DefaultClient.
	Client *http.Client

	_ struct{}
}

var _ fence.Installer = (*Remote)(nil)

// Install is fence.Installer's. Any error but a fence.ErrStale leaves it unknown
// whether the token stands; installing it again does no harm.
func (r *Remote) Install(ctx context.Context, token fence.Token) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, nil)
	if err != nil {
		return fmt.Errorf("httpfence: %w", err)
	}
	SetStamp(req.Header, fence.Stamp{Token: token})
	client := r.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("httpfence: %w", err)
	}
	defer resp.Body.Close()
	if err := CheckResponse(resp); err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxProblem) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("httpfence: install at %s: %s", r.URL, resp.Status)
	}
	return nil
}
