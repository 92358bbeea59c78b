package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Whatever comes from the servers may have been chosen to do something to a
// terminal: names, identities, data, the words of an error. All of it goes
// through plain or printJSON.

// harmless decides what may reach a terminal as it is: what leaves a mark, and a
// space. Control characters move the cursor and worse, format characters turn the
// direction of what follows, and some of either kind need no escape.
func harmless(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }

// plain returns text as one line that does nothing to a terminal. What would is
// shown as Go writes it in a string, such as \x1b or \u202e, so that two names
// that differ look different.
func plain(text string) string { return neutral(text, "") }

// plainLines is plain for text of several lines.
func plainLines(text string) string { return neutral(text, "\n") }

func neutral(text, kept string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case harmless(r) || strings.ContainsRune(kept, r) && r != utf8.RuneError:
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i]) // no UTF-8
		case r == utf8.RuneError:
			b.WriteRune(r) // harmless, if it is what was written
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// shorten cuts text that is longer than a column.
func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// printJSON writes a value as one line of JSON. It says what there is, and does
// nothing to a terminal either: JSON has escapes for that.
func printJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, r := range string(text) {
		if harmless(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	_, err = io.WriteString(w, b.String()+"\n")
	return err
}
