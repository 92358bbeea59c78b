package recipeshttp

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/harmless"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// text is what a stranger may have written. JSON has it as it is, and the page
// what harmless makes of it.
type text string

func (t text) String() string { return harmless.Line(string(t)) }

// Of what is longer than maxText the page shows the beginning and the end: names
// differ in their last characters.
const (
	maxText  = 300
	headText = 200
	tailText = 90
)

// clip keeps what is to be shown, and nothing of what it was cut from.
func clip(s string) text {
	if len(s) <= maxText {
		return text(strings.Clone(s))
	}
	head, tail := headText, len(s)-tailText
	for range utf8.UTFMax { // no rune is cut in two
		if !utf8.RuneStart(s[head]) {
			head--
		}
		if !utf8.RuneStart(s[tail]) {
			tail++
		}
	}
	return text(s[:head] + "…" + s[tail:])
}

func clipErr(err error) text {
	if err == nil {
		return ""
	}
	return clip(err.Error())
}

// name is the last part of a znode's path.
func (t text) name() text { return t[strings.LastIndexByte(string(t), '/')+1:] }

// id is a session's, as the servers write it in their logs.
type id int64

func (i id) String() string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("%#x", uint64(i))
}

// MarshalText is encoding.TextMarshaler's: many a reader of JSON rounds numbers of
// this size.
func (i id) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// seconds is a duration, in JSON to the millisecond.
type seconds time.Duration

func (s seconds) String() string {
	d := time.Duration(s)
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// MarshalJSON is json.Marshaler's.
func (s seconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(s).Seconds()), nil
}

// shown returns what is kept of a contender.
func shown(c recipes.Contender) recipes.Contender {
	return recipes.Contender{Path: string(clip(c.Path)), Identity: string(clip(c.Identity)), Session: c.Session, Holds: c.Holds}
}
