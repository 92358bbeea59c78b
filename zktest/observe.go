package zktest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

type countKey struct {
	op      jute.Op
	session int64
}

// Requests returns how many requests for an operation a session has brought to
// all servers, since the beginning or the last ResetRequests. Op 0 stands for
// all operations, pings included, and session 0 for all sessions. What a hook
// keeps is counted when the server sees it, and what it loses before, never.
func (s *Server) Requests(op Op, session int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for k, n := range s.counts {
		if (op == 0 || op == k.op) && (session == 0 || session == k.session) {
			total += n
		}
	}
	return total
}

// ResetRequests counts from zero again.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.counts)
}

// Watches returns how many watches are set on a path, on all servers, for data
// and for children; "" stands for all paths.
func (s *Server) Watches(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, m := range s.members {
		if path == "" {
			total += m.watches.data.size() + m.watches.child.size()
		} else {
			total += len(m.watches.data.paths[path]) + len(m.watches.child.paths[path])
		}
	}
	return total
}

// A SessionInfo describes a session as the leader knows it.
type SessionInfo struct {
	ID         int64
	Timeout    time.Duration // as first negotiated
	ExpiresIn  time.Duration // unless its client is heard of or the servers are down
	Connected  bool          // to any of the servers
	Addr       string        // of the server that its client is at, if known
	Ephemerals []string
}

// Sessions lists the sessions in the order of their ids.
func (s *Server) Sessions() []SessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var infos []SessionInfo
	for _, e := range s.sessions.byID {
		info := SessionInfo{
			ID: e.id, Timeout: e.timeout, Ephemerals: s.leader.tree.ephemeralsOf(e.id),
			ExpiresIn: s.sessions.left(e),
		}
		if e.owner != nil {
			info.Addr = e.owner.addr
		}
		info.Connected = s.connected(e.id)
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b SessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	return infos
}

func (s *Server) connected(id int64) bool {
	for _, m := range s.members {
		for c := range m.conns {
			if c.session == id {
				return true
			}
		}
	}
	return false
}

// A Znode describes a znode.
type Znode struct {
	Path      string
	Data      []byte
	Stat      Stat
	ACL       []ACL
	Container bool
	TTL       time.Duration // 0 if it has none
}

// Get returns the znode that the leader has at a path.
func (s *Server) Get(path string) (Znode, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leader.get(path)
}

// Get returns the znode that this member has at a path.
func (m *Member) Get(path string) (Znode, bool) {
	m.srv.mu.Lock()
	defer m.srv.mu.Unlock()
	return m.get(path)
}

func (m *Member) get(path string) (Znode, bool) {
	n := m.tree.nodes[path]
	if n == nil {
		return Znode{}, false
	}
	z := Znode{Path: rootName(path), Data: slices.Clone(n.data), Stat: n.stat(), ACL: slices.Clone(n.acl)}
	switch ownerKind(n.owner) {
	case ownerContainer:
		z.Container = true
	case ownerTTL:
		z.TTL = time.Duration(n.owner&maxTTL) * time.Millisecond
	}
	return z, true
}

// Tree returns the leader's znodes in the order of their paths, without those
// of ZooKeeper itself.
func (s *Server) Tree() []Znode {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Znode
	for _, p := range slices.Sorted(maps.Keys(s.leader.tree.nodes)) {
		if p != "" && !strings.HasPrefix(p, "/zookeeper") {
			z, _ := s.leader.get(p)
			all = append(all, z)
		}
	}
	return all
}

// Children returns the names of a znode's children, sorted.
func (s *Server) Children(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.leader.tree.nodes[path]
	if n == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(n.children))
}

// Dump shows sessions and znodes as text.
func (s *Server) Dump() string {
	var b strings.Builder
	for _, e := range s.Sessions() {
		fmt.Fprintf(&b, "session %#x timeout %v expires in %v connected %v ephemerals %d\n",
			e.ID, e.Timeout, e.ExpiresIn, e.Connected, len(e.Ephemerals))
	}
	for _, z := range s.Tree() {
		fmt.Fprintf(&b, "%s %q czxid %#x mzxid %#x version %d cversion %d", z.Path, z.Data, z.Stat.Czxid, z.Stat.Mzxid, z.Stat.Version, z.Stat.Cversion)
		switch {
		case z.Stat.EphemeralOwner != 0:
			fmt.Fprintf(&b, " ephemeral of %#x", z.Stat.EphemeralOwner)
		case z.Container:
			b.WriteString(" container")
		case z.TTL != 0:
			fmt.Fprintf(&b, " ttl %v", z.TTL)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
