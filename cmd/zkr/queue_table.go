package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// printQueue writes a site and its places for people. Where a terminal has too few
// columns for the names of the contenders too, each stands on a line of its own, or
// with names false nowhere; identities are cut so that the rest fits. 0 columns are
// as many as it takes.
func printQueue(w io.Writer, s *site, now time.Time, columns int, names bool) error {
	if _, err := fmt.Fprintln(w, headline(s)); err != nil || len(s.places) == 0 {
		return err
	}
	table := newQueueTable(s, now)
	lines := table.lines(identityWidth, true)
	under := false
	if columns > 0 && widest(lines) > columns {
		lines = table.lines(identityWidth, false)
		if over := widest(lines) - columns; over > 0 {
			lines = table.lines(max(leastIdentity, table.identity-over), false)
		}
		under = names
	}
	for i, line := range lines {
		switch {
		case under && i == 0:
			line += "\n   CONTENDER"
		case under:
			line += "\n   " + table.names[i-1]
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	if more := s.holding + s.waiting - len(s.places); more > 0 {
		if _, err := fmt.Fprintf(w, "and %d more\n", more); err != nil {
			return err
		}
	}
	return nil
}

// leastIdentity is what a narrow terminal leaves of an identity.
const leastIdentity = 8

// queueTable is the text of a site's places.
type queueTable struct {
	before, who, after, names []string // of each place
	identity                  int      // the widest of who
}

func newQueueTable(s *site, now time.Time) *queueTable {
	t := new(queueTable)
	number := make(map[string]int, len(s.places))
	for i, p := range s.places {
		number[p.Path] = i + 1
		t.before = append(t.before, fmt.Sprintf("%d\t%s", i+1, stateOf(p)))
		t.who = append(t.who, who(p.Contender))
		t.after = append(t.after, fmt.Sprintf("%s\t%s\t%s\t%s", tokenText(p.Token), sessionID(p.Session), ageText(age(now, p.Created)), behindText(p, number)))
		t.names = append(t.names, shorten(plain(nameOf(p.Path)), nodeWidth))
	}
	t.identity = widest(t.who)
	return t
}

// lines are the head and the places, aligned.
func (t *queueTable) lines(identity int, names bool) []string {
	var text bytes.Buffer
	tab := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	row := func(before, who, after, name string) {
		if names {
			after += "\t" + name
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\n", before, who, after)
	}
	row("#\tSTATE", "IDENTITY", "TOKEN\tSESSION\tAGE\tBEHIND", "CONTENDER")
	for i := range t.names {
		row(t.before[i], shorten(t.who[i], identity), t.after[i], t.names[i])
	}
	_ = tab.Flush() // to memory
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
}

// widest is the length of the longest line, in characters.
func widest(lines []string) int {
	most := 0
	for _, line := range lines {
		most = max(most, utf8.RuneCountInString(line))
	}
	return most
}
