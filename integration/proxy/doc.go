// Package proxy puts a fault-injecting TCP proxy before a server.
//
// A [Proxy] forwards every connection that it accepts to one target. Its two
// [Flow]s, to the server and to the client, each pass, stall, swallow or delay
// what goes in their direction, for all connections at once and independently
// of each other; [Proxy.Cut] resets the connections, [Proxy.Refuse] turns new
// ones away. To control one client alone, give it a proxy of its own.
//
// A proxy that was made with [ZooKeeper] also follows ZooKeeper's client
// protocol: it counts requests and watch events, and it cuts a connection at a
// chosen request, before the server has seen it or after the server has
// answered it ([Proxy.CutBefore], [Proxy.CutAfter], [Proxy.Intercept]).
//
// # What a silent network is
//
// A flow that swallows bytes also swallows the end of a connection, as a
// network that drops packets does: neither side learns that the other has
// closed. Bytes that were swallowed are gone, and TCP never delivers a stream
// with a hole. So a connection that has lost bytes is reset as soon as its flow
// stops swallowing; one that had nothing to say meanwhile goes on.
//
// A stalled flow loses nothing. What was sent during the stall arrives in order
// when the flow passes again; beyond what the proxy and the kernel buffer
// (a few MiB), the sender's writes block.
package proxy
