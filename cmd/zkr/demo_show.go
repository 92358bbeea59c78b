//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// show tells a story to people, and keeps count of what it was to show.
type show struct {
	w      io.Writer
	colour bool
	start  time.Time
	facts  []*fact
}

// fact is something that is to be shown.
type fact struct {
	text  string
	shown bool
}

func newShow(e env) *show {
	colour := isTerminal(e.stdout) && e.get("NO_COLOR") == "" && e.get("TERM") != "dumb"
	return &show{w: e.stdout, colour: colour, start: time.Now()}
}

// Colours, as terminals take them.
const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

func (s *show) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (s *show) title(text string) { fmt.Fprintf(s.w, "%s\n\n", s.paint(bold, text)) }

// act begins another part of the story.
func (s *show) act(text string) { fmt.Fprintf(s.w, "\n%s\n", s.paint(bold, text)) }

// say tells what happens, and when.
func (s *show) say(format string, args ...any) { s.tell(fmt.Sprintf(format, args...)) }

// praise and blame are say for what goes well, and for what goes wrong as it
// should.
func (s *show) praise(format string, args ...any) {
	s.tell(s.paint(green, fmt.Sprintf(format, args...)))
}

func (s *show) blame(format string, args ...any) {
	s.tell(s.paint(red, fmt.Sprintf(format, args...)))
}

func (s *show) tell(text string) {
	at := fmt.Sprintf("%5.1f s", time.Since(s.start).Seconds())
	fmt.Fprintf(s.w, "%s  %s\n", s.paint(faint, at), text)
}

// promise announces something that is to be shown. What is never kept fails the
// summary.
func (s *show) promise(text string) *fact {
	f := &fact{text: text}
	s.facts = append(s.facts, f)
	return f
}

// summary lists what was promised, and returns an error if any of it was not
// shown.
func (s *show) summary() error {
	s.act("What was shown")
	all := true
	for _, f := range s.facts {
		mark := s.paint(green, "shown    ")
		if !f.shown {
			mark, all = s.paint(red, "NOT SHOWN"), false
		}
		fmt.Fprintf(s.w, "%s  %s\n", mark, f.text)
	}
	if !all {
		return errors.New("the demo did not show what it should")
	}
	return nil
}
