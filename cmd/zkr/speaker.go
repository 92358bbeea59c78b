//go:build unix

package main

import (
	"fmt"
	"io"
)

// speaker says lines on stderr. Whoever speaks does not wait for the line to be
// read: zkr watches over a command, or stands in a queue in which others wait
// for it, and nobody who has stopped reading may hold that up. What nobody reads
// for long is dropped.
type speaker struct {
	quiet bool
	lines chan string
	ended chan struct{}
}

// newSpeaker starts a speaker, which close ends.
func newSpeaker(w io.Writer, quiet bool) *speaker {
	s := &speaker{quiet: quiet, lines: make(chan string, 64), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		for line := range s.lines {
			fmt.Fprint(w, line)
		}
	}()
	return s
}

// close waits until all is written.
func (s *speaker) close() {
	close(s.lines)
	<-s.ended
}

// say says what may be missed.
func (s *speaker) say(format string, args ...any) {
	if !s.quiet {
		s.warn(format, args...)
	}
}

// warn says what is to be known even where zkr is to be quiet.
func (s *speaker) warn(format string, args ...any) {
	select {
	case s.lines <- fmt.Sprintf("zkr: "+format+"\n", args...):
	default:
	}
}
