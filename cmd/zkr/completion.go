package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

func completionCommand() command {
	return command{
		name:  "completion",
		args:  "bash|zsh|fish",
		short: "print what makes a shell complete zkr's commands and flags",
		long:  completionManual,
		setup: func(fs *flags) runner {
			return func(_ context.Context, args []string) error {
				if len(args) != 1 || completions[args[0]] == nil {
					return usagef("want zkr completion bash, zsh or fish")
				}
				var script strings.Builder
				completions[args[0]](&script, completable())
				_, err := io.WriteString(fs.env.stdout, script.String())
				return err
			}
		},
	}
}

const completionManual = `
    bash  source <(zkr completion bash)          in ~/.bashrc
    zsh   source <(zkr completion zsh)           in ~/.zshrc, behind compinit
    fish  zkr completion fish | source           in ~/.config/fish/config.fish

It is made from the same table as the help. It asks no server.
`

var completions = map[string]func(io.Writer, []completed){
	"bash": completeBash,
	"zsh":  completeZsh,
	"fish": completeFish,
}

// completed is a command as shells complete it.
type completed struct {
	name, short string
	flags       []completedFlag
	words       []string // arguments that are one of these
}

type completedFlag struct {
	name, usage string
	takes       string // what kind of value, "" if none
}

func completable() []completed {
	var all []completed
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		fs := newFlags(c, env{})
		c.setup(fs)
		done := completed{name: c.name, short: c.short}
		fs.VisitAll(func(f *flag.Flag) {
			kind, usage := flag.UnquoteUsage(f)
			usage, _, _ = strings.Cut(usage, ";")
			done.flags = append(done.flags, completedFlag{f.Name, strings.ReplaceAll(usage, "\n", " "), kind})
		})
		// The arguments of these three are words of zkr's own.
		switch c.name {
		case "help":
			done.words = names()
		case "fence":
			done.words = []string{"show", "raise"}
		case "completion":
			done.words = []string{"bash", "fish", "zsh"}
		}
		all = append(all, done)
	}
	return all
}

// candidates are the arguments and flags that may follow a command.
func (c completed) candidates() []string {
	out := slices.Clone(c.words)
	for _, f := range c.flags {
		out = append(out, "--"+f.name)
	}
	return out
}

// takers are the flags that take a file, and those that take anything else, as
// patterns of a shell's case.
func takers(all []completed) (files, others string) {
	var file, other []string
	for _, c := range all {
		for _, f := range c.flags {
			name := "--" + f.name
			switch {
			case f.takes == "FILE" && !slices.Contains(file, name):
				file = append(file, name)
			case f.takes != "FILE" && f.takes != "" && !slices.Contains(other, name):
				other = append(other, name)
			}
		}
	}
	return strings.Join(file, "|"), strings.Join(other, "|")
}

func nameList(all []completed) string {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	return strings.Join(names, " ")
}

func completeBash(w io.Writer, all []completed) {
	files, others := takers(all)
	fmt.Fprintf(w, `_zkr() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="%s"
	else
		case $prev in
		%s) COMPREPLY=($(compgen -f -- "$cur")); return ;;
		%s) return ;;
		esac
		case ${COMP_WORDS[1]} in
`, nameList(all), files, others)
	for _, c := range all {
		fmt.Fprintf(w, "\t\t%s) words=\"%s\" ;;\n", c.name, strings.Join(c.candidates(), " "))
	}
	fmt.Fprint(w, `		esac
	fi
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _zkr zkr
`)
}

func completeZsh(w io.Writer, all []completed) {
	files, others := takers(all)
	fmt.Fprint(w, "#compdef zkr\n_zkr() {\n\tlocal -a commands\n\tcommands=(\n")
	for _, c := range all {
		fmt.Fprintf(w, "\t\t%s\n", quoted(c.name+":"+strings.ReplaceAll(c.short, ":", `\:`)))
	}
	fmt.Fprintf(w, `	)
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	case $words[CURRENT-1] in
	%s) _files; return ;;
	%s) return ;;
	esac
	case $words[2] in
`, files, others)
	for _, c := range all {
		fmt.Fprintf(w, "\t%s) compadd -- %s ;;\n", c.name, strings.Join(c.candidates(), " "))
	}
	fmt.Fprint(w, "\tesac\n}\ncompdef _zkr zkr\n")
}

func completeFish(w io.Writer, all []completed) {
	for _, c := range all {
		fmt.Fprintf(w, "complete -c zkr -f -n __fish_use_subcommand -a %s -d %s\n", c.name, quoted(c.short))
		on := quoted("__fish_seen_subcommand_from " + c.name)
		if len(c.words) > 0 {
			fmt.Fprintf(w, "complete -c zkr -f -n %s -a %s\n", on, quoted(strings.Join(c.words, " ")))
		}
		for _, f := range c.flags {
			takes := ""
			switch f.takes {
			case "":
			case "FILE":
				takes = " -r -F"
			default:
				takes = " -x"
			}
			fmt.Fprintf(w, "complete -c zkr -n %s -l %s%s -d %s\n", on, f.name, takes, quoted(f.usage))
		}
	}
}

// quoted quotes text for any of the shells.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
