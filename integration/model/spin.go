package model

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A search is how the program that spin makes of a model goes through its states.
type search struct {
	compile []string // flags of the C compiler
	run     []string // of the program
}

var (
	// everyState looks at assertions, and for states without a way on. By breadth it
	// needs no bound on the depth, and a counter-example is as short as there is one.
	everyState = search{compile: []string{"-DSAFETY", "-DBFS"}}
	// everyCircle looks for a way in a circle. No model calls any of them progress.
	everyCircle = search{compile: []string{"-DNP"}, run: []string{"-l", "-m100000", "-w22"}}
)

// verdict is what a search has found.
type verdict struct {
	states    int
	errors    int
	complaint string   // what is wrong, in spin's words
	complete  bool     // no state was left out
	unused    []string // statements that no run comes to
	story     string   // what the model printed on the way to what is wrong
}

var (
	statesLine = regexp.MustCompile(`(?m)^\s*(\d+) states, stored`)
	errorsLine = regexp.MustCompile(`errors: (\d+)`)
	wrongLine  = regexp.MustCompile(`(?m)^pan:1: (.*) \(at depth`)
	unusedLine = regexp.MustCompile(`(?m)^\t\S+\.pml:\d+, state \d+, .*$`)
)

// find searches a model with what is defined, in a folder of its own.
func (s search) find(ctx context.Context, model, dir string, defines ...string) (verdict, error) {
	model, err := filepath.Abs(model)
	if err != nil {
		return verdict{}, err
	}
	command := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", cmd, err, out.String())
		}
		return out.String(), nil
	}
	if _, err := command("spin", append(append([]string{"-a"}, defines...), model)...); err != nil {
		return verdict{}, err
	}
	flags := append([]string{"-O2", "-w", "-DMEMLIM=1500", "-o", "pan", "pan.c"}, s.compile...)
	if _, err := command("gcc", flags...); err != nil {
		return verdict{}, err
	}
	out, err := command("./pan", s.run...)
	if err != nil {
		return verdict{}, err
	}
	v, err := parse(out)
	if err != nil || v.errors == 0 {
		return v, err
	}
	trail := append([]string{"-t", "-T", "-k", filepath.Base(model) + ".trail"}, defines...)
	out, err = command("spin", append(trail, model)...)
	v.story, _, _ = strings.Cut(out, "spin: ")
	return v, err
}

// parse reads what the program prints.
func parse(out string) (verdict, error) {
	states, errors := statesLine.FindStringSubmatch(out), errorsLine.FindStringSubmatch(out)
	if states == nil || errors == nil {
		return verdict{}, fmt.Errorf("no result:\n%s", out)
	}
	v := verdict{complete: !strings.Contains(out, "Search not completed") && !strings.Contains(out, "max search depth too small")}
	v.states, _ = strconv.Atoi(states[1])
	v.errors, _ = strconv.Atoi(errors[1])
	if wrong := wrongLine.FindStringSubmatch(out); wrong != nil {
		v.complaint = wrong[1]
	}
	for _, line := range unusedLine.FindAllString(out, -1) {
		// The last statement of a process that goes on for ever.
		if !strings.Contains(line, `"-end-"`) {
			v.unused = append(v.unused, strings.TrimSpace(line))
		}
	}
	return v, nil
}
