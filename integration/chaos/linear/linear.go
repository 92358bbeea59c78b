// Package linear tells whether what was done at a guarded register can have
// happened one after the other, each operation at one instant between its call
// and its return, by the rules of a fence.
package linear

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zkrecipes/zkrecipes/internal/history"
)

// Fence is how a register refuses.
type Fence int

const (
	// ByToken admits every token that is not smaller than the greatest that it
	// has seen, and refuses the others: fence.Guard.
	ByToken Fence = iota
	// ByContender admits what comes while the writer's znode exists. It may
	// refuse any write, and admits tokens in their order: Lease.Txn.
	ByContender
)

// state is what a register holds.
type state struct {
	token int64
	value string
}

// Check returns nil if the operations at one register are linearizable. What was
// applied with an unknown outcome is found in effects; what is not there was
// not. It gives up after patience.
func Check(fence Fence, ops []history.Operation, effects []history.Effect, patience time.Duration) error {
	events := settled(ops, effects)
	switch porcupine.CheckOperationsTimeout(model(fence), events, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("linear: no answer on %d operations within %v", len(events), patience)
	default:
		return fmt.Errorf("linear: %d operations have no order in which they can have happened", len(events))
	}
}

// settled turns the record into operations that have happened, or may have: an
// installation without an answer may have had its effect at any later time, or at
// the end of time, where it is of no matter. A read without an answer tells
// nothing.
func settled(ops []history.Operation, effects []history.Effect) []porcupine.Operation {
	applied := make(map[string]bool)
	for _, e := range effects {
		applied[e.Value] = true
	}
	clients := make(map[string]int)
	var events []porcupine.Operation
	for _, o := range ops {
		end := int64(o.Return)
		switch {
		case o.Outcome == history.Failed:
			continue
		case o.Outcome == history.Unknown && o.Kind == history.Install:
			end = math.MaxInt64
		case o.Outcome == history.Unknown && o.Kind == history.Write && applied[o.Value]:
			o.Outcome, end = history.Applied, math.MaxInt64
		case o.Outcome == history.Unknown:
			continue
		}
		if _, ok := clients[o.Who]; !ok {
			clients[o.Who] = len(clients)
		}
		events = append(events, porcupine.Operation{
			ClientId: clients[o.Who], Input: o, Output: o, Call: int64(o.Call), Return: end,
		})
	}
	return events
}

func model(fence Fence) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, in, _ any) (bool, any) { return step(fence, s.(state), in.(history.Operation)) },
		DescribeOperation: func(in, _ any) string {
			o := in.(history.Operation)
			return fmt.Sprintf("%s %s %q under %d: %s", o.Who, o.Kind, o.Value, o.Token, o.Outcome)
		},
	}
}

func step(fence Fence, s state, o history.Operation) (ok bool, next state) {
	admits := o.Token >= s.token
	switch o.Outcome {
	case history.Refused:
		return !admits || fence == ByContender, s
	case history.Unknown:
		return true, state{max(s.token, o.Token), s.value}
	}
	switch o.Kind {
	case history.Read:
		return o.Value == s.value, s
	case history.Install:
		return admits, state{o.Token, s.value}
	default:
		return admits, state{o.Token, o.Value}
	}
}
