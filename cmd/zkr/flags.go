package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// flags are the flags of one command, and what it gets from outside.
type flags struct {
	*flag.FlagSet
	env     env
	command command
}

func newFlags(c command, e env) *flags {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are told by run
	return &flags{FlagSet: fs, env: e, command: c}
}

// errHelp is returned where the flags ask for help.
var errHelp = flag.ErrHelp

// parse parses flags and returns the other arguments. They may stand in any
// order up to a "--"; it and what follows are returned as they are.
func (f *flags) parse(args []string) ([]string, error) {
	var tail, others []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, tail = args[:i], args[i:]
	}
	for {
		if err := f.FlagSet.Parse(args); err != nil {
			return nil, f.explain(err)
		}
		if f.NArg() == 0 {
			return append(others, tail...), nil
		}
		others = append(others, f.Arg(0))
		args = f.Args()[1:]
	}
}

// Package flag writes names with one dash.
var undefined = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)

var ofFlag = regexp.MustCompile(`(flag|needs an argument:|for flag) -(\w)`)

func (f *flags) explain(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return errHelp
	}
	msg := err.Error()
	if m := undefined.FindStringSubmatch(msg); m != nil {
		msg = fmt.Sprintf("unknown flag --%s", m[1])
	}
	msg = ofFlag.ReplaceAllString(msg, "$1 --$2")
	// All numbers among the flags are durations.
	if rest, ok := strings.CutSuffix(msg, ": parse error"); ok {
		msg = rest + ": want a number and a unit, such as 30s or 5m"
	}
	return usagef("%s; see zkr help %s", msg, f.command.name)
}

// isSet reports whether the flag was given.
func (f *flags) isSet(name string) bool {
	set := false
	f.Visit(func(fl *flag.Flag) { set = set || fl.Name == name })
	return set
}

// print lists the flags as people write them.
func (f *flags) print(w io.Writer) {
	f.VisitAll(func(fl *flag.Flag) {
		kind, usage := described(fl)
		fmt.Fprintf(w, "  %s\n", strings.TrimSpace("--"+fl.Name+" "+kind))
		fmt.Fprintf(w, "        %s\n", strings.ReplaceAll(usage, "\n", "\n        "))
	})
}

// described says what a flag takes, and what it does.
func described(fl *flag.Flag) (kind, usage string) {
	kind, usage = flag.UnquoteUsage(fl)
	if fl.DefValue != "" && fl.DefValue != "0s" && fl.DefValue != "false" {
		usage += fmt.Sprintf(" (default %s)", fl.DefValue)
	}
	return kind, usage
}
