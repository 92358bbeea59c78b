package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

func helpCommand() command {
	return command{
		name:  "help",
		args:  "[COMMAND]",
		short: "explain zkr, or one of its commands",
		setup: func(fs *flags) runner {
			return func(_ context.Context, args []string) error { return help(fs.env, args) }
		},
	}
}

func help(e env, args []string) error {
	if len(args) == 0 {
		printHelp(e.stdout)
		return nil
	}
	c, ok := find(args[0])
	if !ok {
		return usagef("no help on %q: want %s", args[0], commandNames())
	}
	return printCommandHelp(e.stdout, c)
}

func printHelp(w io.Writer) {
	fmt.Fprint(w, "zkr runs commands under distributed locks on ZooKeeper, or while they lead, and\nshows what such locks are doing.\n\n")
	fmt.Fprint(w, "Usage: zkr COMMAND [flags] [arguments]\n\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  %-12s%s\n", c.name, c.short)
		}
	}
	fmt.Fprint(w, "\n\"zkr help COMMAND\" explains one of them.\n\nExit codes:\n\n")
	for _, row := range exitCodes {
		fmt.Fprintf(w, "  %-7s%s\n", row.code, strings.ReplaceAll(row.meaning, "\n", "\n         "))
	}
}

func printCommandHelp(w io.Writer, c command) error {
	fmt.Fprintln(w, strings.TrimSpace("Usage: zkr "+c.name+" "+c.args))
	fmt.Fprintf(w, "\n%s.\n", strings.ToUpper(c.short[:1])+c.short[1:])
	if c.long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.long))
	}
	fs := newFlags(c, env{})
	c.setup(fs)
	var list strings.Builder
	fs.print(&list)
	if list.Len() > 0 {
		fmt.Fprintf(w, "\nFlags:\n\n%s", list.String())
	}
	return nil
}

func versionCommand() command {
	return command{
		name:  "version",
		short: "tell which zkr this is",
		setup: func(fs *flags) runner {
			return noArgs("version", func(context.Context) error {
				fmt.Fprintln(fs.env.stdout, version())
				return nil
			})
		},
	}
}

// version is what the Go toolchain knows of this binary.
func version() string {
	v, revision := "(unknown version)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		v = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	return fmt.Sprintf("zkr %s%s, %s %s/%s", v, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
