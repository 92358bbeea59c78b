package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// diagram is a source that was understood. Rows count the lines of the picture.
type diagram struct {
	actors   []string       // their names
	column   map[string]int // by id
	messages []message
	notes    []note
	bars     []bar
	rows     int
}

type message struct {
	from, to  int // columns
	row, late int // sent, and how many rows later it arrives
	text      string
	refused   bool
}

type note struct {
	column, row int
	text        string
}

type bar struct {
	column, from, to int
	kind, text       string
}

var (
	ofActor   = regexp.MustCompile(`^actor (\w+) (.+)$`)
	ofMessage = regexp.MustCompile(`^(\w+) (->|-x)(?: \+(\d+))? (\w+): (.*)$`)
	ofNote    = regexp.MustCompile(`^note (\w+): (.+)$`)
	ofBegin   = regexp.MustCompile(`^begin (\w+) (holds|believes|waits|pause): ?(.*)$`)
	ofEnd     = regexp.MustCompile(`^end (\w+)$`)
)

func parse(text string) (*diagram, error) {
	d := &diagram{column: make(map[string]int)}
	for i, line := range strings.Split(text, "\n") {
		if err := d.line(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	for i := range d.bars {
		if d.bars[i].to < 0 {
			d.bars[i].to = d.rows
		}
	}
	return d, nil
}

func (d *diagram) line(line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	if line == "gap" {
		d.rows++
		return nil
	}
	if m := ofActor.FindStringSubmatch(line); m != nil {
		d.column[m[1]] = len(d.actors)
		d.actors = append(d.actors, m[2])
		return nil
	}
	if m := ofMessage.FindStringSubmatch(line); m != nil {
		return d.message(m)
	}
	if m := ofNote.FindStringSubmatch(line); m != nil {
		column, err := d.at(m[1])
		d.notes = append(d.notes, note{column, d.rows, m[2]})
		d.rows++
		return err
	}
	if m := ofBegin.FindStringSubmatch(line); m != nil {
		column, err := d.at(m[1])
		d.bars = append(d.bars, bar{column, d.rows, -1, m[2], m[3]})
		return err
	}
	if m := ofEnd.FindStringSubmatch(line); m != nil {
		return d.end(m[1])
	}
	return fmt.Errorf("not understood")
}

func (d *diagram) at(id string) (int, error) {
	column, ok := d.column[id]
	if !ok {
		return 0, fmt.Errorf("no actor %s", id)
	}
	return column, nil
}

func (d *diagram) message(m []string) error {
	from, err := d.at(m[1])
	if err != nil {
		return err
	}
	to, err := d.at(m[4])
	if err != nil {
		return err
	}
	late, _ := strconv.Atoi(m[3]) // digits, or nothing
	d.messages = append(d.messages, message{from, to, d.rows, late, m[5], m[2] == "-x"})
	d.rows++
	return nil
}

// end ends the bar of an actor that was begun last.
func (d *diagram) end(id string) error {
	column, err := d.at(id)
	if err != nil {
		return err
	}
	for i := len(d.bars) - 1; i >= 0; i-- {
		if d.bars[i].column == column && d.bars[i].to < 0 {
			d.bars[i].to = d.rows
			return nil
		}
	}
	return fmt.Errorf("nothing has begun")
}
