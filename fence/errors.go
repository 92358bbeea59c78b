package fence

import (
	"errors"
	"fmt"
)

// Errors of guards. They may be wrapped: ask with errors.Is.
var (
	// ErrStale is returned when a later write has overtaken the one offered,
	// which has then changed nothing. The error is a *StaleError.
	ErrStale = errors.New("fence: stale")

	// ErrNoToken is returned when a write comes with a token or a number that
	// no holder can have.
	ErrNoToken = errors.New("fence: not a stamp")

	// ErrOutcomeUnknown is returned when the resource broke down in the moment
	// in which effect and stamp become lasting: both did or neither.
	ErrOutcomeUnknown = errors.New("fence: outcome unknown")
)

// StaleError says what was offered and what stands. It is an ErrStale.
type StaleError struct {
	Resource string // "" where the guard knows no name
	Offered  Stamp
	Standing Stamp // as the guard saw it; by now it may be a later one
}

// Superseded tells that a later grant stands. The holder is one no more,
// whatever it believes.
func (e *StaleError) Superseded() bool { return e.Standing.Token > e.Offered.Token }

// Applied tells that the very write that was offered has taken effect before. It
// is false where it is not sure: a write whose number has been overtaken within
// its own grant may have been applied in its turn or never.
func (e *StaleError) Applied() bool { return e.Offered.Seq > 0 && e.Standing == e.Offered }

// Error tells both stamps and which of the reasons it was.
func (e *StaleError) Error() string {
	at := ""
	if e.Resource != "" {
		at = " at " + e.Resource
	}
	why := "superseded or already applied"
	switch {
	case e.Superseded():
		why = "a later grant stands"
	case e.Applied():
		why = "already applied"
	}
	return fmt.Sprintf("%v%s: offered %v, standing %v: %s", ErrStale, at, e.Offered, e.Standing, why)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }
