// Command diagrams draws the sequence diagrams of the pages: of each NAME.txt in
// its folder it makes NAME.svg.
//
// A source says who is there, and what happens, from top to bottom:
//
//	actor ID NAME              one column, from left to right
//	ID -> ID: TEXT             a message; -> +2 arrives two lines later
//	ID -x ID: TEXT             one that is refused
//	note ID: TEXT              beside the column
//	begin ID KIND: TEXT        a bar along the column: holds, believes, waits or pause
//	end ID                     its end
//	gap                        an empty line
//	# TEXT                     for who reads the source
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:generate go run .

func main() {
	sources, err := filepath.Glob("*.txt")
	for _, source := range sources {
		if err == nil {
			err = write(source)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "diagrams:", err)
		os.Exit(1)
	}
}

func write(source string) error {
	svg, err := draw(source)
	if err != nil {
		return err
	}
	return os.WriteFile(target(source), svg, 0o644)
}

func target(source string) string { return strings.TrimSuffix(source, ".txt") + ".svg" }

// draw returns the diagram of a source.
func draw(source string) ([]byte, error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return nil, err
	}
	d, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return d.svg(), nil
}
