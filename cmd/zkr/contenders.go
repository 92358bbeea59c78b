package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// How much of a name is shown in a column.
const (
	identityWidth = 40
	nodeWidth     = 100
)

// contenderJSON is what --json says of a contender. Numbers that exceed 53 bits
// are strings, since many a reader of JSON rounds them.
type contenderJSON struct {
	Path       string       `json:"path"`
	Contender  string       `json:"contender"`
	Kind       recipes.Kind `json:"kind"`
	Naming     string       `json:"naming"`
	Holds      bool         `json:"holds"`
	Position   int          `json:"position"`
	Behind     string       `json:"behind,omitempty"`
	Identity   string       `json:"identity"`
	Session    string       `json:"session"`
	Token      string       `json:"token"`
	Created    time.Time    `json:"created"`
	AgeSeconds jsonSeconds  `json:"age_seconds"`
}

// jsonSeconds is a duration that is written in seconds, to the millisecond.
type jsonSeconds time.Duration

func (s jsonSeconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(s).Seconds()), nil
}

func newContenderJSON(site string, p queue.Place, now time.Time) contenderJSON {
	c := contenderJSON{
		Path: site, Contender: nameOf(p.Path), Kind: p.Kind, Naming: string(p.Naming), Holds: p.Holds, Position: p.Position,
		Identity: p.Identity, Session: sessionID(p.Session), Token: p.Token.String(),
		Created: p.Created.UTC(), AgeSeconds: jsonSeconds(age(now, p.Created)),
	}
	if p.Behind != "" {
		c.Behind = nameOf(p.Behind)
	}
	return c
}

// sessionID writes a session as the servers do in their logs.
func sessionID(id int64) string {
	if id == 0 {
		return "none"
	}
	return fmt.Sprintf("%#x", uint64(id))
}

// headline sums a site up.
func headline(s *site) string {
	line := fmt.Sprintf("%s  %s, %d hold, %d wait", plain(s.path), s.kind, s.holding, s.waiting)
	if n := len(s.strangers); n > 0 {
		line += fmt.Sprintf(", %d do not belong there", n)
	}
	return line
}

func stateOf(p queue.Place) string {
	if p.Holds {
		return "holds"
	}
	return "waits"
}

// who is what to call a contender in a column.
func who(c recipes.Contender) string {
	switch {
	case c.Identity == string(recipes.Revocation()):
		return "(asked to give it back)"
	case c.Identity == "":
		return "-"
	}
	return shorten(plain(c.Identity), identityWidth)
}

// behindText says whom one waits for: its number, or what else it is.
func behindText(p queue.Place, number map[string]int) string {
	switch n := number[p.Behind]; {
	case n > 0:
		return fmt.Sprint(n)
	case p.Behind == "":
		return "-"
	case nameOf(p.Behind) == leasesName:
		return "room"
	}
	return shorten(plain(nameOf(p.Behind)), nodeWidth)
}

func tokenText(t fence.Token) string {
	if t == 0 {
		return "-"
	}
	return t.String()
}

// ageText says an age to the second; below ten seconds, to the tenth.
func ageText(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// nameOf is the last element of a znode's path.
func nameOf(znode string) string { return znode[strings.LastIndexByte(znode, '/')+1:] }

// below is the path of a child.
func below(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
