package belief

import (
	"encoding/json"
	"time"
)

// Line is what a holder's process prints, as JSON.
type Line struct {
	Event    string        `json:"event"` // Granted, Over, …
	Name     string        `json:"name,omitempty"`
	At       time.Duration `json:"at,omitempty"`
	Interval *Interval     `json:"interval,omitempty"`
	Session  int64         `json:"session,omitempty"`
	N        int           `json:"n,omitempty"`
	Err      string        `json:"err,omitempty"`
	Lost     bool          `json:"lost,omitempty"` // Err is an ErrLost
}

// Events.
const (
	Ready    = "ready"
	Granted  = "granted"
	Over     = "over" // the lease, seen by a look
	Answered = "answered"
	Done     = "done"
)

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
