// Package record turns what workers print about what they do and believe into a
// history.
package record

import (
	"encoding/json"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/history"
)

// Event is what a line is about.
type Event string

// Events. Attempts go by an id that no other attempt of the storm has.
const (
	Ready Event = "ready" // the worker works
	Done  Event = "done"  // told to stop, it has given up everything
	Over  Event = "over"  // a session of the worker's ended

	// Of one attempt to hold something.
	Asked    Event = "asked"
	Queued   Event = "queued" // stands in the queue, of Path
	Gone     Event = "gone"   // gave up waiting
	Granted  Event = "granted"
	Looked   Event = "looked"   // a look found it held at At, and promised it to Until
	Lost     Event = "lost"     // a look has found it over
	Released Event = "released" // begins to give it up

	// Of one operation at a guarded resource.
	Called   Event = "called"
	Answered Event = "answered"

	// Of one stay at a double barrier.
	Entering Event = "entering"
	Entered  Event = "entered"
	Leaving  Event = "leaving"
	Left     Event = "left"
)

// Line is what a worker prints, as JSON.
type Line struct {
	Event Event         `json:"event"`
	At    time.Duration `json:"at"` // CLOCK_MONOTONIC
	ID    string        `json:"id,omitempty"`
	Path  string        `json:"path,omitempty"`  // of the lock, the barrier or the resource
	Paths []string      `json:"paths,omitempty"` // of a multi-lock's members

	Mode    history.Mode  `json:"mode,omitempty"`
	N       int           `json:"n,omitempty"`
	Limit   int           `json:"limit,omitempty"`
	Token   int64         `json:"token,omitempty"`
	Tokens  []int64       `json:"tokens,omitempty"` // of the members
	Session int64         `json:"session,omitempty"`
	Node    string        `json:"node,omitempty"`
	Until   time.Duration `json:"until,omitempty"`

	Kind    history.Kind    `json:"kind,omitempty"`
	Value   string          `json:"value,omitempty"`
	Outcome history.Outcome `json:"outcome,omitempty"`
	Err     string          `json:"err,omitempty"`
}

// String returns the line as it is printed.
func (l Line) String() string {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Parse reads a line.
func Parse(text string) (l Line, err error) {
	err = json.Unmarshal([]byte(text), &l)
	return l, err
}
