package main

import (
	"io"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/harmless"
)

// Whatever comes from the servers goes to a terminal through plain, plainLines or
// printJSON.

func plain(text string) string      { return harmless.Line(text) }
func plainLines(text string) string { return harmless.Lines(text) }

// shorten cuts text that is longer than a column.
func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// printJSON writes a value as one line.
func printJSON(w io.Writer, value any) error {
	line, err := harmless.JSON(value)
	if err == nil {
		_, err = io.WriteString(w, line+"\n")
	}
	return err
}
