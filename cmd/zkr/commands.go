package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// env is what a command gets from outside, its arguments aside. The streams are
// files, since the commands that zkr runs inherit them as they are.
type env struct {
	stdin, stdout, stderr *os.File
	vars                  []string // of the environment, as key=value
}

// get returns an environment variable, "" if it is not set.
func (e env) get(name string) string {
	// Of two with the same name the last one counts, as for a command run.
	for _, v := range slices.Backward(e.vars) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// command is one entry of the table.
type command struct {
	name   string
	args   string // what follows the name, for the usage line
	short  string // what it does, in one line
	hidden bool   // zkr runs it itself

	// setup registers the flags and returns what runs when they are parsed.
	setup func(fs *flags) runner
	// long is the manual: what the flags do not say.
	long string
}

// runner runs a command with the arguments that are no flags.
type runner func(ctx context.Context, args []string) error

// commands is the table. A new command is one more file and one more line here.
func commands() []command {
	return []command{
		lockCommand(),
		electCommand(),
		leaderCommand(),
		lsCommand(),
		queueCommand(),
		watchCommand(),
		revokeCommand(),
		breakCommand(),
		doctorCommand(),
		benchCommand(),
		fenceCommand(),
		demoCommand(),
		testserverCommand(),
		completionCommand(),
		helpCommand(),
		versionCommand(),
		manCommand(),
		guardCommand(),
		workerCommand(),
	}
}

func find(name string) (command, bool) {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return all[i], true
}

// run runs zkr with the arguments after its own name, and returns the exit code.
func run(ctx context.Context, args []string, e env) int {
	err := dispatch(ctx, args, e)
	code, silent := exitCode(err)
	if !silent {
		fmt.Fprintf(e.stderr, "zkr: %s\n", explain(err))
	}
	return code
}

func dispatch(ctx context.Context, args []string, e env) error {
	if len(args) == 0 {
		printHelp(e.stderr)
		return usagef("no command given")
	}
	switch args[0] {
	case "-h", "-help", "--help":
		args = append([]string{"help"}, args[1:]...)
	case "-version", "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	c, ok := find(args[0])
	if !ok {
		return usagef("unknown command %q: want %s", args[0], commandNames())
	}
	fs := newFlags(c, e)
	runs := c.setup(fs)
	rest, err := fs.parse(args[1:])
	if errors.Is(err, errHelp) {
		return printCommandHelp(e.stdout, c)
	}
	if err != nil {
		return err
	}
	return runs(ctx, rest)
}

// names lists the commands that people use.
func names() []string {
	var names []string
	for _, c := range commands() {
		if !c.hidden {
			names = append(names, c.name)
		}
	}
	return names
}

// commandNames says which there are.
func commandNames() string {
	all := names()
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// noArgs is a runner without arguments.
func noArgs(name string, fn func(context.Context) error) runner {
	return func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return usagef("%s takes no arguments, but got %q; see zkr help %s", name, args[0], name)
		}
		return fn(ctx)
	}
}
