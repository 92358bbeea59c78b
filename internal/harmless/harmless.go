// Package harmless shows what strangers wrote: names, identities, data, the words
// of an error. What comes from the servers may have been chosen to do something to
// a terminal, a log or a page.
package harmless

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// printable decides what is shown as it is: what leaves a mark, and a space.
// Control characters move a terminal's cursor and worse, format characters turn
// the direction of what follows, and some of either kind need no escape.
func printable(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }

// Line returns text as one line that does nothing. What would is shown as Go
// writes it in a string, such as \x1b or \u202e, so that two texts that differ
// look different, a backslash in the text aside.
func Line(text string) string { return neutral(text, "") }

// Lines is Line for text of several lines.
func Lines(text string) string { return neutral(text, "\n") }

func neutral(text, kept string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case printable(r) || strings.ContainsRune(kept, r) && r != utf8.RuneError:
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

// JSON returns a value as one line of JSON, with no newline behind it. It says
// what there is, and does nothing either: JSON has escapes for that.
func JSON(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range string(text) {
		if printable(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String(), nil
}
