// Package timeline draws who held what while which fault was on, as SVG.
package timeline

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/history"
)

// Fault is something that was done to the servers, the network or a worker.
type Fault struct {
	Lane, Kind, Target string
	From, To           time.Duration
}

// Picture is what is drawn.
type Picture struct {
	Title    string
	Holds    []history.Hold
	Faults   []Fault
	From, To time.Duration // the part that is shown
}

const (
	left   = 150 // room for names
	width  = 1600
	row    = 18
	bar    = 12
	gap    = 10 // between two groups of rows
	head   = 40
	narrow = 0.4 // pixels; what is shorter is drawn that wide
)

// Write draws the picture. Each lock has a row for every worker that held it in
// that time, and each lane of faults has one.
func (p Picture) Write(w io.Writer) error {
	var b strings.Builder
	y := head
	for _, group := range p.rows() {
		y += gap
		fmt.Fprintf(&b, "<text x=\"4\" y=\"%d\" class=\"path\">%s</text>\n", y+bar, html.EscapeString(group.name))
		for _, r := range group.rows {
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" class=\"who\">%s</text>\n", left-6, y+bar, html.EscapeString(r.name))
			for _, s := range r.spans {
				p.draw(&b, s, y)
			}
			y += row
		}
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">
<style>.path{font-weight:bold}.who{text-anchor:end;fill:#555}.exclusive{fill:#2a6fb0}.shared{fill:#58a55c}.permits{fill:#b08c2a}.fault{fill:#c23b3b}.grid{stroke:#ddd}</style>
<rect width="100%%" height="100%%" fill="white"/>
<text x="4" y="16" font-size="14">%s</text>
%s%s</svg>
`, left+width+10, y+10, html.EscapeString(p.Title), p.grid(y), b.String())
	return err
}

type span struct {
	class    string
	text     string
	from, to time.Duration
}

type line struct {
	name  string
	spans []span
}

type group struct {
	name string
	rows []line
}

// rows are the locks by their paths, and then the faults by their lanes.
func (p Picture) rows() []group {
	holds := make(map[string]map[string][]span)
	add := func(to map[string]map[string][]span, group, row string, s span) {
		if s.to < p.From || s.from > p.To {
			return
		}
		if to[group] == nil {
			to[group] = make(map[string][]span)
		}
		to[group][row] = append(to[group][row], s)
	}
	for _, h := range p.Holds {
		who, _, _ := strings.Cut(h.Who, ".")
		path := h.Path
		add(holds, path, who, span{string(h.Mode), fmt.Sprintf("%s, token %x", h.Who, h.Token), h.From, h.Believed()})
	}
	faults := make(map[string]map[string][]span)
	for _, f := range p.Faults {
		add(faults, "faults", f.Lane, span{"fault", f.Kind + ": " + f.Target, f.From, f.To})
	}
	return append(sorted(holds), sorted(faults)...)
}

func sorted(all map[string]map[string][]span) []group {
	var groups []group
	for name, rows := range all {
		g := group{name: name}
		for name, spans := range rows {
			g.rows = append(g.rows, line{name, spans})
		}
		slices.SortFunc(g.rows, func(a, b line) int { return cmp.Compare(a.name, b.name) })
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.name, b.name) })
	return groups
}

func (p Picture) x(at time.Duration) float64 {
	at = min(max(at, p.From), p.To)
	return left + width*float64(at-p.From)/float64(p.To-p.From)
}

func (p Picture) draw(b *strings.Builder, s span, y int) {
	x := p.x(s.from)
	w := max(p.x(s.to)-x, narrow)
	took := (s.to - s.from).Round(time.Millisecond)
	fmt.Fprintf(b, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>%s, %v</title></rect>\n",
		s.class, x, y, w, bar, html.EscapeString(s.text), took)
	if s.class == "fault" && w > 60 {
		name, _, _ := strings.Cut(s.text, ":")
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" fill=\"white\" font-size=\"9\">%s</text>\n", x+2, y+9, html.EscapeString(name[:min(len(name), int(w/5))]))
	}
}

// grid has a line each second, or a second each ten.
func (p Picture) grid(height int) string {
	step := time.Second
	for (p.To-p.From)/step > 60 {
		step *= 10
	}
	var b strings.Builder
	for at := time.Duration(0); at <= p.To-p.From; at += step {
		x := p.x(p.From + at)
		fmt.Fprintf(&b, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\">%v</text>\n", x, x, head-8, height, x+2, head-10, at)
	}
	return b.String()
}
