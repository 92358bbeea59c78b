package zkconn

import "math/rand/v2"

// hosts hands out the servers in turn, in a random order of its own. It keeps
// names as they are: they are resolved anew with every dial, and TLS can check
// the certificate against them.
//
// The client library uses it from one goroutine.
type hosts struct {
	g       *guard
	servers []string
	next    int
	tries   int // since a connection last worked
}

func newHosts(g *guard) *hosts {
	h := &hosts{g: g, servers: append([]string(nil), g.cfg.Servers...)}
	rand.Shuffle(len(h.servers), func(i, j int) {
		h.servers[i], h.servers[j] = h.servers[j], h.servers[i]
	})
	return h
}

// Init ignores the client library's list, which is the same in another order.
func (h *hosts) Init([]string) error { return nil }

func (h *hosts) Len() int { return len(h.servers) }

// Next returns the next server. retryStart makes the client library fail what
// is queued, pause for a second, and look whether it was closed; it is said
// after each round in vain, never right after a connection that worked.
func (h *hosts) Next() (server string, retryStart bool) {
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	retryStart = h.tries > 0 && h.tries%len(h.servers) == 0
	h.tries++
	return server, retryStart || h.g.reason() != nil
}

// Connected is called when a handshake has succeeded.
func (h *hosts) Connected() { h.tries = 0 }
