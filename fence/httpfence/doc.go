// Package httpfence carries fencing tokens over HTTP: a [Middleware] for the
// service that guards something, a [Transport] for those who call it.
//
// # Guarantee
//
// A handler behind [Middleware.Write] runs within its guard's one step, so what
// it does through the guard takes effect together with the request's stamp or
// not at all. Its answer is held back until then: nobody is told of a success
// that is rolled back. The request's body is read before, and the answer sent
// after, so that a slow or paused client keeps nobody waiting at the guard.
//
// # What is not guaranteed
//
// A request that the Transport lets go may arrive after its lease is over; the
// guard refuses it then. A path to the resource without the middleware is not
// fenced. The headers are no authentication.
//
// # On the wire
//
// Fencing-Token is the token in decimal, Fencing-Seq, if the holder numbers its
// writes, the number. A missing token is answered with 428, a malformed header
// with 400, a stale stamp with 412, each with a problem document (RFC 9457);
// that of 412 tells the offered and the standing stamp, tokens as strings since
// they exceed what JSON's readers take for exact numbers.
package httpfence

// Names of the headers.
const (
	TokenHeader = "Fencing-Token"
	SeqHeader   = "Fencing-Seq"
)
