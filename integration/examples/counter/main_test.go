package main

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/peers"
	"github.com/zkrecipes/zkrecipes/integration/worker"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
	"github.com/zkrecipes/zkrecipes/recipes"
)

func TestMain(m *testing.M) { zkserver.Main(m) }

// patience bounds against hanging.
const patience = time.Minute

func TestGoAndJavaLoseNoCount(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	servers := zkserver.Shared(t).Connect()
	require.NoError(t, run(ctx, servers, 1)) // makes the znode, which Java expects

	const each, times = 2, 50
	says := func(w *worker.Worker, what string) {
		line, err := w.Receive(ctx)
		require.NoError(t, err)
		require.Equal(t, what, line)
	}
	var java []*worker.Worker
	for range each {
		java = append(java, worker.Start(t, peers.CuratorProgram(t, "Counter.java", servers, strconv.Itoa(times))))
	}
	for _, w := range java {
		says(w, "counting") // from here on side by side
	}
	ended := make(chan error, each)
	for range each {
		go func() { ended <- run(ctx, servers, times) }()
	}
	for _, w := range java {
		require.NoError(t, <-ended)
		says(w, "done")
	}
	require.Equal(t, strconv.Itoa(1+2*each*times), value(t, servers))
}

func value(t *testing.T, servers string) string {
	t.Helper()
	c, err := recipes.Dial(t.Context(), servers)
	require.NoError(t, err)
	defer c.Close()
	session, err := c.Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, session.Barrier(t.Context()))
	data, _, err := session.Get(t.Context(), valuePath)
	require.NoError(t, err)
	return string(data)
}
