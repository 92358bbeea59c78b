package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// benchJSON is what --json says of a case. Times are in milliseconds.
type benchJSON struct {
	Case   string  `json:"case"`
	Rounds int     `json:"rounds"`
	P50    float64 `json:"p50_ms"`
	P95    float64 `json:"p95_ms"`
	P99    float64 `json:"p99_ms"`
	Max    float64 `json:"max_ms"`
	Floors float64 `json:"floors,omitempty"` // of a lock: its median over that of the floor
}

func newBenchJSON(c *benchCase) benchJSON {
	at := func(percent int) float64 { return float64(percentile(c.took, percent)) / float64(time.Millisecond) }
	return benchJSON{Case: c.name, Rounds: len(c.took), P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
}

// percentile returns what that many of 100 samples do not exceed. The samples are
// sorted.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// report prints what was measured.
func (b *bencher) report(cases []*benchCase) error {
	var rows []benchJSON
	floor := 0.0
	for _, c := range cases {
		if len(c.took) == 0 {
			continue
		}
		slices.Sort(c.took)
		row := newBenchJSON(c)
		switch c.name {
		case "floor":
			floor = row.P50
		case "lock":
			row.Floors = row.P50 / floor
		}
		rows = append(rows, row)
	}
	if err := b.print(rows); err != nil {
		return err
	}
	if len(rows) < len(cases) || rows[len(rows)-1].Rounds < int(b.rounds) {
		if len(rows) == 0 {
			return errors.New("nothing could be measured in time; see --for")
		}
		fmt.Fprintf(b.env.stderr, "zkr: bench: stopped after %v, before all %d rounds; see --for\n", b.most, b.rounds)
	}
	return nil
}

func (b *bencher) print(rows []benchJSON) error {
	if b.json {
		for _, row := range rows {
			if err := printJSON(b.env.stdout, row); err != nil {
				return err
			}
		}
		return nil
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tROUNDS\tP50\tP95\tP99\tMAX\t")
	for _, row := range rows {
		more := ""
		if row.Floors != 0 {
			more = fmt.Sprintf("%.2f of the floor", row.Floors)
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f ms\t%.2f ms\t%.2f ms\t%.2f ms\t%s\n", row.Case, row.Rounds, row.P50, row.P95, row.P99, row.Max, more)
	}
	_ = w.Flush() // to memory
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(b.env.stdout, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
