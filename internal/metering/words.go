package metering

import (
	"cmp"
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// The words that labels take as their values: few, whatever happens.

// causes are those of recipes.Losses.
func causes() []string {
	var words []string
	for _, l := range recipes.Losses() {
		words = append(words, string(l))
	}
	return words
}

// WaitOutcome says what came of a call for a lease.
func WaitOutcome(err error) string {
	if err == nil {
		return "granted"
	}
	for _, of := range []struct {
		err  error
		word string
	}{
		{lock.ErrLocked, "locked"},
		{lock.ErrPlaceLost, "place_lost"},
		{recipes.ErrClosed, "closed"},
		{context.DeadlineExceeded, "timeout"},
		{context.Canceled, "canceled"},
	} {
		if errors.Is(err, of.err) {
			return of.word
		}
	}
	return "error"
}

// succeeded is the outcome of what succeeds or fails.
func succeeded(err error) string {
	if err != nil {
		return "failed"
	}
	return "ok"
}

// staleReasons are what staleReason returns.
var staleReasons = []string{"superseded", "repeated", "overtaken"}

// staleReason says why a write was refused: a later grant stands; the very write
// has taken effect before; or a later one of the same grant has.
func staleReason(e *fence.StaleError) string {
	switch {
	case e.Superseded():
		return "superseded"
	case e.Applied():
		return "repeated"
	}
	return "overtaken"
}

// KindWord is the kind of a lease; recipes of others need not say it.
func KindWord(k recipes.Kind) string { return cmp.Or(string(k), "other") }
