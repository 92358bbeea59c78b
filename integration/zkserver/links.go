package zkserver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/proxy"
)

// peerPatience is how long a follower tries to reach a leader that does not
// listen yet (five times, 100 ms apart). One that was accepted and then reset
// begins a new election at once, and the leader waits initLimit for it in vain.
const peerPatience = 500 * time.Millisecond

// pair is an ordered pair of servers, by id.
type pair struct{ from, to int }

// channel is the two proxies through which one server dials another: its
// quorum port, on which a follower talks to its leader, and its election port.
type channel struct{ quorum, election *proxy.Proxy }

func (c channel) each(f func(*proxy.Proxy)) { f(c.quorum); f(c.election) }

// Link is what flows from one server to another, over the quorum and the
// election connections between the two, whichever of them dialled.
type Link struct{ flows []*proxy.Flow }

// Pass, Stall, Blackhole and Delay do what the methods of [proxy.Flow] do.
func (l Link) Pass() { l.each((*proxy.Flow).Pass) }

// Stall holds back everything until Pass, losing nothing.
func (l Link) Stall() { l.each((*proxy.Flow).Stall) }

// Blackhole swallows everything until Pass.
func (l Link) Blackhole() { l.each((*proxy.Flow).Blackhole) }

// Delay delivers everything d later.
func (l Link) Delay(d time.Duration) { l.each(func(f *proxy.Flow) { f.Delay(d) }) }

func (l Link) each(f func(*proxy.Flow)) {
	for _, flow := range l.flows {
		f(flow)
	}
}

// channel returns how one server dials another. It panics where from and to are
// not two servers of an ensemble that this package started.
func (e *Ensemble) channel(from, to *Server) channel {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, ok := e.channels[pair{from.ID, to.ID}]
	if !ok {
		panic(fmt.Sprintf("zkserver: no link from %s to %s", from, to))
	}
	return c
}

// Link returns the direction of traffic from one server to another.
func (e *Ensemble) Link(from, to *Server) Link {
	var l Link
	e.channel(from, to).each(func(p *proxy.Proxy) { l.flows = append(l.flows, p.ToServer()) })
	e.channel(to, from).each(func(p *proxy.Proxy) { l.flows = append(l.flows, p.ToClient()) })
	return l
}

// CutLinks resets the connections between two servers; they may dial again.
func (e *Ensemble) CutLinks(a, b *Server) {
	e.channel(a, b).each((*proxy.Proxy).Cut)
	e.channel(b, a).each((*proxy.Proxy).Cut)
}

// RefuseLinks refuses new connections between two servers until Heal; running
// ones go on.
func (e *Ensemble) RefuseLinks(a, b *Server) {
	e.channel(a, b).each((*proxy.Proxy).Refuse)
	e.channel(b, a).each((*proxy.Proxy).Refuse)
}

// Isolate swallows everything between s and the other servers, as a partition
// does. Its clients stay.
func (e *Ensemble) Isolate(s *Server) {
	for _, other := range e.Servers {
		if other != s {
			e.Link(s, other).Blackhole()
			e.Link(other, s).Blackhole()
		}
	}
}

// Heal makes every link between servers and every client proxy pass, and new
// connections welcome.
func (e *Ensemble) Heal() error {
	for _, s := range e.Servers {
		for _, p := range s.proxies() {
			p.Pass()
			if err := p.Accept(); err != nil {
				return err
			}
		}
	}
	return nil
}

// listenChannel makes the proxies through which server from dials server to.
func (e *Ensemble) listenChannel(from, to *Server) error {
	quorum, err := to.listen(to.quorum.Addr(), proxy.Patient(peerPatience))
	if err != nil {
		return err
	}
	election, err := to.listen(to.election.Addr(), proxy.Patient(peerPatience), proxy.RewriteFirst(func(hello []byte) []byte {
		return announce(hello, e.channel(to, from).election.Addr())
	}))
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.channels[pair{from.ID, to.ID}] = channel{quorum, election}
	return nil
}

// peer is a server line of a zoo.cfg.
type peer struct {
	id   int
	line string
}

// peers returns the ensemble as s sees it: itself at its own ports, every other
// server behind the proxies of s to it. A single server has no such lines.
func (e *Ensemble) peers(s *Server) []peer {
	if len(e.Servers) == 1 {
		return nil
	}
	var peers []peer
	for _, other := range e.Servers {
		quorum, election := other.quorum.Addr(), other.election.Addr()
		if other != s {
			c := e.channel(s, other)
			quorum, election = c.quorum.Addr(), c.election.Addr()
		}
		_, electionPort, _ := bytes.Cut([]byte(election), []byte(":"))
		peers = append(peers, peer{other.ID, fmt.Sprintf("%s:%s", quorum, electionPort)})
	}
	return peers
}

// announce replaces the address in the message that opens an election
// connection.
//
// A server that is dialled by one of lower id closes that connection and dials
// back, to the address that the other has announced: its own port. Left alone,
// that would bypass the proxy. The message is: version (8 bytes, negative),
// server id (8), length of the address (4), address.
func announce(hello []byte, addr string) []byte {
	const head = 8 + 8 + 4
	if len(hello) < head {
		return nil
	}
	end := head + int(binary.BigEndian.Uint32(hello[head-4:]))
	if len(hello) < end {
		return nil
	}
	out := bytes.Clone(hello[:head-4])
	out = binary.BigEndian.AppendUint32(out, uint32(len(addr)))
	out = append(out, addr...)
	return append(out, hello[end:]...)
}
