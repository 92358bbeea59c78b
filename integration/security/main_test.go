package security_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func TestMain(m *testing.M) { zkserver.Main(m) }

// patience bounds against hanging what takes seconds.
const patience = time.Minute

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// dial returns a client that is closed at the test's end.
func dial(t *testing.T, addr string, opts ...recipes.Option) *recipes.Client {
	t.Helper()
	c, err := recipes.Dial(within(t, patience), addr, opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func session(t *testing.T, c *recipes.Client) *recipes.Session {
	t.Helper()
	s, err := c.Session(within(t, patience))
	require.NoError(t, err)
	return s
}
