// Package jute is the wire protocol of ZooKeeper's clients: frames, headers,
// requests, replies, watch events, operation codes and error codes.
//
// It serves both ends. The in-process server of package zktest decodes
// requests and encodes replies; a bare client in a conformance suite does the
// reverse. A record therefore describes its fields once, in [Record.Fields],
// and an [Encoder] or a [Decoder] walks them: the two directions cannot drift
// apart.
//
// Decoding is safe on hostile input: nothing is allocated for a length before
// that many bytes are known to be there, and an error sticks, so that a record
// is decoded in one go and its error looked at once.
package jute
