package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/internal/notes"
	"github.com/zkrecipes/zkrecipes/integration/internal/ports"
	"github.com/zkrecipes/zkrecipes/integration/worker"
)

// etcdServer is a server that keeps its data beside ZooKeeper's.
type etcdServer struct{ addr string }

// startEtcd starts an etcd server; nil where there is none to start.
func startEtcd(t testing.TB, parent string) *etcdServer {
	t.Helper()
	bin, err := exec.LookPath("etcd")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("bench: no etcd (etcd-server): %v", err)
		}
		notes.Say("bench", "SKIPPED etcd: "+err.Error())
		return nil
	}
	dir, err := os.MkdirTemp(parent, "etcd-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var urls []string
	for range 2 {
		port, err := ports.Reserve()
		require.NoError(t, err)
		t.Cleanup(port.Release)
		urls = append(urls, "http://"+port.Addr())
	}
	args := []string{
		"--data-dir", filepath.Join(dir, "data"), "--log-level", "error",
		"--listen-client-urls", urls[0], "--advertise-client-urls", urls[0],
		"--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1], "--initial-cluster", "default=" + urls[1],
	}
	if parent != "" {
		args = append(args, "--unsafe-no-fsync")
	}
	worker.Start(t, exec.Command(bin, args...))
	e := &etcdServer{addr: strings.TrimPrefix(urls[0], "http://")}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if _, err := e.counts(ctx); err == nil {
			return e
		}
		select {
		case <-ctx.Done():
			t.Fatalf("bench: etcd does not serve: %v", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// counts returns what clients have had of the server.
func (e *etcdServer) counts(ctx context.Context) (counts, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+e.addr+"/metrics", nil)
	if err != nil {
		return counts{}, err
	}
	req.Close = true // leaves no goroutine
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return counts{}, err
	}
	defer res.Body.Close()
	var c counts
	known := false
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case strings.HasPrefix(name, "grpc_server_msg_received_total"):
			known = true
			c.requests += value
		case name == "etcd_network_client_grpc_sent_bytes_total":
			c.bytes += value
		}
	}
	if !known {
		return c, fmt.Errorf("bench: etcd at %s does not count: %w", e.addr, lines.Err())
	}
	return c, nil
}
