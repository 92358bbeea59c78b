package main

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/election"
)

// layoutFlag is the flag that says how candidates are named.
type layoutFlag struct {
	name   string
	layout election.Layout
}

var layouts = map[string]election.Layout{
	"latch":    election.LeaderLatch,
	"selector": election.LeaderSelector,
	"kazoo":    election.Kazoo,
}

func (l *layoutFlag) register(fs *flags) {
	_ = l.Set("latch") // which there is
	fs.Var(l, "layout", "how candidates are named, a `KIND`: latch as Curator's LeaderLatch, selector as its\nLeaderSelector, kazoo as kazoo's Election; all candidates of an election need the\nsame")
}

func (l *layoutFlag) String() string { return l.name }

func (l *layoutFlag) Set(name string) error {
	layout, ok := layouts[name]
	if !ok {
		return errors.New("want latch, selector or kazoo")
	}
	l.name, l.layout = name, layout
	return nil
}
