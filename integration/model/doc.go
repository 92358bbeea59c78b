// Package model has spin search the models in docs/model to their end: as they
// are nothing may be wrong in any state, and broken in any of the ways that they
// name there must be a counter-example.
//
//	go test -v ./model   # prints how many states there were, and the counter-examples
package model
