package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func manCommand() command {
	return command{
		name:   "man",
		args:   "FOLDER",
		short:  "write the manual pages of zkr and its commands",
		hidden: true,
		setup: func(fs *flags) runner {
			return func(_ context.Context, args []string) error {
				if len(args) != 1 {
					return usagef("man takes a folder, but got %q", args)
				}
				return writePages(args[0])
			}
		},
	}
}

// writePages writes what the helps tell, for man.
func writePages(folder string) error {
	pages := map[string]func(*roff){"zkr": mainPage}
	for _, c := range commands() {
		if !c.hidden && c.name != "help" {
			pages["zkr-"+c.name] = func(r *roff) { commandPage(r, c) }
		}
	}
	for name, page := range pages {
		var r roff
		r.head(name)
		page(&r)
		if err := os.WriteFile(filepath.Join(folder, name+".1"), []byte(r.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func mainPage(r *roff) {
	r.section("NAME")
	r.text("zkr - distributed locks and leader election on ZooKeeper, for commands and for people")
	r.section("SYNOPSIS")
	r.text("zkr COMMAND [flags] [arguments]")
	r.section("DESCRIPTION")
	r.text("zkr runs commands under distributed locks on ZooKeeper, or while they lead, and shows what such locks are doing. Each command has a page of its own, such as zkr-lock(1).")
	r.section("COMMANDS")
	for _, c := range commands() {
		if !c.hidden {
			r.entry(c.name, "", c.short)
		}
	}
	exitStatus(r)
}

func commandPage(r *roff, c command) {
	r.section("NAME")
	r.text("zkr-" + c.name + " - " + c.short)
	r.section("SYNOPSIS")
	r.text("zkr " + c.name + " " + c.args)
	if c.long != "" {
		r.section("DESCRIPTION")
		r.manual(c.long)
	}
	fs := newFlags(c, env{})
	c.setup(fs)
	first := true
	fs.VisitAll(func(fl *flag.Flag) {
		if first {
			r.section("OPTIONS")
			first = false
		}
		kind, usage := described(fl)
		r.entry("--"+fl.Name, kind, usage)
	})
	exitStatus(r)
	r.section("SEE ALSO")
	r.text("zkr(1)")
}

func exitStatus(r *roff) {
	r.section("EXIT STATUS")
	for _, row := range exitCodes {
		r.entry(row.code, "", row.meaning)
	}
}

// roff is a page in the language of man.
type roff struct{ strings.Builder }

func (r *roff) head(name string) {
	fmt.Fprintf(r, ".TH %s 1 %q %q %q\n", strings.ToUpper(name), committed(), strings.Join(strings.Fields(version())[:2], " "), "zkr")
}

// committed is the day of the commit that this zkr was built of, "" if it is not
// known.
func committed() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				day, _, _ := strings.Cut(s.Value, "T")
				return day
			}
		}
	}
	return ""
}

func (r *roff) section(name string) { fmt.Fprintf(r, ".SH %s\n", name) }

// entry is one line of a list: its term in bold, what it takes in italics.
func (r *roff) entry(term, kind, meaning string) {
	fmt.Fprintf(r, ".TP\n\\fB%s\\fR", escaped(term))
	if kind != "" {
		fmt.Fprintf(r, " \\fI%s\\fR", escaped(kind))
	}
	r.WriteString("\n")
	r.text(strings.ReplaceAll(meaning, "\n", " "))
}

func (r *roff) text(line string) {
	line = escaped(strings.TrimSpace(line))
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	r.WriteString(line + "\n")
}

// manual is the long help: paragraphs, of which those that are indented are kept
// as they are.
func (r *roff) manual(long string) {
	for i, paragraph := range strings.Split(strings.Trim(long, "\n"), "\n\n") {
		if i > 0 {
			r.WriteString(".PP\n")
		}
		kept := strings.HasPrefix(paragraph, "    ")
		if kept {
			r.WriteString(".nf\n.RS 4\n")
		}
		for line := range strings.Lines(paragraph) {
			if kept {
				r.WriteString(`\&` + escaped(strings.TrimRight(strings.TrimPrefix(line, "    "), "\n")) + "\n")
			} else {
				r.text(line)
			}
		}
		if kept {
			r.WriteString(".RE\n.fi\n")
		}
	}
}

var escapes = strings.NewReplacer(`\`, `\e`, `-`, `\-`)

func escaped(text string) string { return escapes.Replace(text) }
