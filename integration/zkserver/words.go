package zkserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Mode is what a server says that it is.
type Mode string

// The modes of a server that serves.
const (
	Standalone Mode = "standalone"
	Leader     Mode = "leader"
	Follower   Mode = "follower"
)

// wordTimeout bounds a four-letter word where the context does not: a frozen
// server accepts the connection and never answers.
const wordTimeout = 2 * time.Second

// Word sends a four-letter word (srvr, mntr, cons, dump, wchs, …) past all
// proxies and returns the answer.
func (s *Server) Word(ctx context.Context, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, wordTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.DirectAddr())
	if err != nil {
		return "", fmt.Errorf("zkserver: %s: %s: %w", s, word, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", fmt.Errorf("zkserver: %s: %s: %w", s, word, err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return "", fmt.Errorf("zkserver: %s: %s: %w", s, word, err)
	}
	return string(answer), nil
}

// Mode returns what srvr says; an error where the server does not serve.
func (s *Server) Mode(ctx context.Context) (Mode, error) {
	answer, err := s.Word(ctx, "srvr")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(answer) {
		if mode, ok := strings.CutPrefix(line, "Mode: "); ok {
			return Mode(strings.TrimSpace(mode)), nil
		}
	}
	return "", fmt.Errorf("zkserver: %s does not serve: %s", s, strings.TrimSpace(answer))
}

// Metrics returns mntr's numbers by their names there, like zk_packets_received
// or zk_ephemerals_count. Each four-letter word counts as a packet itself;
// requests are counted exactly by [proxy.Proxy.Counts].
func (s *Server) Metrics(ctx context.Context) (map[string]float64, error) {
	answer, err := s.Word(ctx, "mntr")
	if err != nil {
		return nil, err
	}
	m := make(map[string]float64)
	lines := bufio.NewScanner(strings.NewReader(answer))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "\t")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			m[name] = n
		}
	}
	if len(m) == 0 {
		return nil, fmt.Errorf("zkserver: %s: mntr: %s", s, strings.TrimSpace(answer))
	}
	return m, nil
}
