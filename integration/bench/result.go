package bench

import (
	"slices"
	"time"
)

// result is what one run has found.
type result struct {
	Date    string `json:"date"`
	CPUs    int    `json:"cpus"`
	Go      string `json:"go"`
	Server  string `json:"server"`
	Rounds  int    `json:"rounds"`
	Rows    []row  `json:"rows"`
	Singles []fact `json:"facts"`
	Goals   []goal `json:"goals"`

	// Load averages of the last minute when it began and ended.
	LoadBefore string `json:"load_before"`
	LoadAfter  string `json:"load_after"`
}

// row is one entrant in one case that is run in rounds.
type row struct {
	Storage    string        `json:"storage"`
	Case       string        `json:"case"`
	Contenders int           `json:"contenders,omitempty"`
	Entrant    string        `json:"entrant"`
	P50        time.Duration `json:"p50_ns"`              // median over the rounds of the medians of each
	Low        time.Duration `json:"low_ns"`              // of the rounds
	High       time.Duration `json:"high_ns"`             // of the rounds
	Ratio      float64       `json:"ratio,omitempty"`     // to the floor's median
	LowRatio   float64       `json:"low_ratio,omitempty"` // of the best rounds of both
	Rate       float64       `json:"per_second,omitempty"`
	Requests   float64       `json:"requests"`
	Events     float64       `json:"watch_events"`
	Bytes      float64       `json:"bytes_to_client"`
	Allocs     float64       `json:"allocs,omitempty"`
	AllocBytes float64       `json:"alloc_bytes,omitempty"`
	Memory     float64       `json:"memory_each,omitempty"`
}

// fact is a figure of a case that is run once.
type fact struct {
	Storage string  `json:"storage"`
	Case    string  `json:"case"`
	Entrant string  `json:"entrant"`
	N       int     `json:"n"`
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
}

// goal is what was to be reached.
type goal struct {
	Storage  string  `json:"storage"`
	Goal     string  `json:"goal"`
	Limit    float64 `json:"limit"`
	Measured float64 `json:"measured"`
	Met      bool    `json:"met"`
}

func (r *result) find(storage, name, entrant string, contenders int) (row, bool) {
	i := slices.IndexFunc(r.Rows, func(w row) bool {
		return w.Storage == storage && w.Case == name && w.Entrant == entrant && w.Contenders == contenders
	})
	if i < 0 {
		return row{}, false
	}
	return r.Rows[i], true
}

func (r *result) fact(storage, name, entrant, what string, n int) (float64, bool) {
	i := slices.IndexFunc(r.Singles, func(f fact) bool {
		return f.Storage == storage && f.Case == name && f.Entrant == entrant && f.What == what && f.N == n
	})
	if i < 0 {
		return 0, false
	}
	return r.Singles[i].Value, true
}

// divide fills in the ratios to the floor.
func (r *result) divide() {
	for i, w := range r.Rows {
		if base, ok := r.find(w.Storage, w.Case, theFloor.title, w.Contenders); ok {
			r.Rows[i].Ratio = float64(w.P50) / float64(base.P50)
			r.Rows[i].LowRatio = float64(w.Low) / float64(base.Low)
		}
	}
}

func middle[T int64 | float64](of []T) T {
	of = slices.Clone(of)
	slices.Sort(of)
	return of[len(of)/2]
}
