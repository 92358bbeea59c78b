package zktest

import (
	"fmt"
	"strings"
	"time"
)

// words are the four-letter words, which a connection may say in the place of
// a handshake. A real server allows only srvr unless told otherwise.
var words = map[string]func(*Member) string{
	"ruok": func(*Member) string { return "imok" },
	"srvr": (*Member).srvr,
	"stat": (*Member).stat,
	"mntr": (*Member).mntr,
	"cons": (*Member).cons,
	"wchs": (*Member).wchs,
}

func (c *conn) answerWord(word func(*Member) string) {
	c.srv.mu.Lock()
	answer := word(c.member)
	c.srv.mu.Unlock()
	if c.pass(ToClient) {
		_, _ = c.nc.Write([]byte(answer))
	}
}

const version = "3.8.0-zktest, built on 2022-02-25 08:49 UTC"

func (m *Member) mode() string {
	switch {
	case len(m.srv.members) == 1:
		return "standalone"
	case m.leads() || m.deposed:
		return "leader"
	}
	return "follower"
}

func (m *Member) srvr() string { return "Zookeeper version: " + version + "\n" + m.summary() }

func (m *Member) stat() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\nClients:\n", version)
	for c := range m.conns {
		b.WriteString(c.line(true) + "\n")
	}
	return b.String() + "\n" + m.summary()
}

func (m *Member) summary() string {
	received, sent, outstanding := m.traffic()
	return fmt.Sprintf("Latency min/avg/max: 0/0.0/0\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: %#x\nMode: %s\nNode count: %d\n",
		received, sent, len(m.conns), outstanding, m.tree.zxid, m.mode(), len(m.tree.nodes))
}

func (m *Member) traffic() (received, sent, outstanding int) {
	for c := range m.conns {
		received += c.last.received
		sent += c.sent()
		outstanding += len(c.pending)
	}
	return
}

func (m *Member) mntr() string {
	received, sent, outstanding := m.traffic()
	ephemerals, size := 0, 0
	for _, paths := range m.tree.ephemerals {
		ephemerals += len(paths)
	}
	for p, n := range m.tree.nodes {
		size += len(p) + len(n.data)
	}
	var b strings.Builder
	for _, line := range []struct {
		key   string
		value any
	}{
		{"version", version}, {"server_state", m.mode()}, {"ephemerals_count", ephemerals},
		{"num_alive_connections", len(m.conns)}, {"avg_latency", "0.0"}, {"outstanding_requests", outstanding},
		{"znode_count", len(m.tree.nodes)}, {"global_sessions", len(m.srv.sessions.byID)},
		{"packets_sent", sent}, {"packets_received", received},
		{"watch_count", m.watches.data.size() + m.watches.child.size()},
		{"min_latency", 0}, {"max_latency", 0}, {"approximate_data_size", size},
		{"local_sessions", 0}, {"uptime", time.Since(m.srv.started).Milliseconds()},
	} {
		fmt.Fprintf(&b, "zk_%s\t%v\n", line.key, line.value)
	}
	if m.leads() && len(m.srv.members) > 1 {
		fmt.Fprintf(&b, "zk_synced_followers\t%d\n", len(m.srv.members)-1)
	}
	return b.String()
}

func (m *Member) cons() string {
	var b strings.Builder
	for c := range m.conns {
		b.WriteString(c.line(false) + "\n")
	}
	return b.String() + "\n"
}

// line describes a connection.
func (c *conn) line(brief bool) string {
	line := fmt.Sprintf(" /%s[1](queued=%d,recved=%d,sent=%d", c.nc.RemoteAddr(), len(c.pending), c.last.received, c.sent())
	if !brief && c.session != 0 {
		line += fmt.Sprintf(",sid=%#x,lop=%s,est=%d,to=%d,lcxid=%#x,lzxid=%#x,lresp=0,llat=0,minlat=0,avglat=0,maxlat=0",
			c.session, lastOp(c), c.since.UnixMilli(), c.timeout.Milliseconds(), uint32(c.last.xid), c.last.zxid)
	}
	return line + ")"
}

func lastOp(c *conn) string {
	if c.last.received == 0 {
		return "SESS"
	}
	name := strings.ToUpper(c.last.op.String())
	return name[:min(4, len(name))]
}

func (c *conn) sent() int {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return c.out.sent
}

func (m *Member) wchs() string {
	conns := map[*conn]struct{}{}
	for c := range m.watches.data.conns {
		conns[c] = struct{}{}
	}
	for c := range m.watches.child.conns {
		conns[c] = struct{}{}
	}
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", len(conns),
		len(m.watches.data.paths)+len(m.watches.child.paths), m.watches.data.size()+m.watches.child.size())
}
