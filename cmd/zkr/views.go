package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// lineView prints a line after each change.
type lineView struct {
	out  io.Writer
	path string
	json bool
	last string
}

func (v *lineView) site(s *site) error {
	now := time.Now()
	line := summary(s)
	if line == v.last {
		return nil
	}
	v.last = line
	if !v.json {
		return v.line(now, line)
	}
	out := watchJSON{Time: now.Round(0), siteJSON: siteJSON{Path: v.path}}
	if s != nil {
		out.siteJSON = newSiteJSON(s, now)
	}
	return printJSON(v.out, out)
}

// watchJSON is what --json says after a change.
type watchJSON struct {
	Time   time.Time `json:"time"`
	Outage bool      `json:"outage"`
	siteJSON
}

func (v *lineView) outage() error {
	v.last = ""
	if v.json {
		return printJSON(v.out, watchJSON{Time: time.Now().Round(0), Outage: true, siteJSON: siteJSON{Path: v.path}})
	}
	return v.line(time.Now(), noConnection)
}

const noConnection = "no connection to the servers"

func (v *lineView) line(now time.Time, text string) error {
	_, err := fmt.Fprintf(v.out, "%s  %s\n", now.Format(time.RFC3339), text)
	return err
}

func (v *lineView) tick() error { return nil }
func (v *lineView) end()        {}

// maxNamed is how many holders a line names.
const maxNamed = 3

// summary says who holds and how many wait. Two that are equal say that nothing of
// it has changed.
func summary(s *site) string {
	if s == nil || s.holding+s.waiting == 0 {
		return "nobody holds it, nobody waits"
	}
	var named []string
	for _, p := range s.places {
		if p.Holds && len(named) < maxNamed {
			named = append(named, fmt.Sprintf("%s (token %v)", who(p.Contender), p.Token))
		}
	}
	line := fmt.Sprintf("%s, %d hold, %d wait", s.kind, s.holding, s.waiting)
	if len(named) > 0 {
		line += ": held by " + strings.Join(named, ", ")
		if s.holding > len(named) {
			line += " and others"
		}
	}
	return line
}

// screenView draws on a terminal, on a screen of its own that goes when it ends.
type screenView struct {
	out   *os.File
	path  string
	now   *site
	state string // of the connection, "" while there is one
}

// What a terminal is told.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // another screen, no cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	endLine     = "\x1b[K\r\n" // clear the rest of it
	clearRest   = "\x1b[J"
)

func newScreenView(out *os.File, path string) *screenView {
	fmt.Fprint(out, enterScreen)
	return &screenView{out: out, path: path}
}

func (v *screenView) end() { fmt.Fprint(v.out, leaveScreen) }

func (v *screenView) site(s *site) error {
	v.now, v.state = s, ""
	return v.draw(time.Now())
}

func (v *screenView) outage() error {
	v.state = noConnection + "; this is what was seen before"
	return v.draw(time.Now())
}

func (v *screenView) tick() error { return v.draw(time.Now()) }

// draw draws as much as there is room for, in one write, so that nothing flickers.
func (v *screenView) draw(now time.Time) error {
	rows, columns, ok := screenSize(v.out)
	if !ok {
		return os.ErrClosed
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s  %s\n", now.Format(time.TimeOnly), v.state)
	if v.now == nil {
		fmt.Fprintf(&text, "%s  nobody holds it, nobody waits\n", plain(v.path))
	} else if err := printQueue(&text, v.now, now, columns, false); err != nil {
		return err
	}
	var frame strings.Builder
	frame.WriteString(home)
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	for _, line := range lines[:min(len(lines), rows-1)] {
		frame.WriteString(shorten(strings.TrimRight(line, " "), columns) + endLine)
	}
	frame.WriteString(clearRest)
	_, err := v.out.WriteString(frame.String())
	return err
}
