package main

import (
	"bytes"
	"fmt"
	"html"
)

// Measures, in pixels.
const (
	columnWidth = 240
	rowHeight   = 34
	top         = 76 // of the first row
	margin      = 190
	barWidth    = 14
)

// colours of bars, by their kind: the line and the fill.
var colours = map[string][2]string{
	"holds":    {"#1a7f37", "#aceebb"},
	"believes": {"#cf222e", "#ffcecb"},
	"waits":    {"#9a6700", "#fae17d"},
	"pause":    {"#57606a", "#d0d7de"},
}

func x(column int) int { return margin + column*columnWidth }
func y(row int) int    { return top + row*rowHeight }

func (d *diagram) svg() []byte {
	var b bytes.Buffer
	width := 2*margin + (len(d.actors)-1)*columnWidth
	height := y(d.rows) + rowHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="Helvetica, Arial, sans-serif" font-size="13">`+"\n", width, height, width, height)
	b.WriteString(`<style>text{fill:#1f2328}.on{paint-order:stroke;stroke:#fff;stroke-width:5px;stroke-linejoin:round}.no{fill:#cf222e}</style>` + "\n")
	b.WriteString(`<defs><marker id="to" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L10 5L0 10z" fill="#1f2328"/></marker>` +
		`<marker id="no" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="9" markerHeight="9"><path d="M1 1L9 9M9 1L1 9" stroke="#cf222e" stroke-width="2"/></marker></defs>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	for column, name := range d.actors {
		fmt.Fprintf(&b, `<line x1="%d" y1="44" x2="%d" y2="%d" stroke="#8c959f" stroke-dasharray="3 4"/>`+"\n", x(column), x(column), height-10)
		fmt.Fprintf(&b, `<rect x="%d" y="12" width="180" height="32" rx="6" fill="#ddf4ff" stroke="#0969da"/>`+"\n", x(column)-90)
		fmt.Fprintf(&b, `<text x="%d" y="33" text-anchor="middle" font-weight="bold">%s</text>`+"\n", x(column), html.EscapeString(name))
	}
	for _, bar := range d.bars {
		d.drawBar(&b, bar)
	}
	for _, m := range d.messages {
		drawMessage(&b, m)
	}
	for _, bar := range d.bars {
		d.drawLabel(&b, bar)
	}
	for _, n := range d.notes {
		side, anchor := d.side(n.column)
		fmt.Fprintf(&b, `<text class="on" x="%d" y="%d" text-anchor="%s" font-style="italic">%s</text>`+"\n", x(n.column)+side, y(n.row)+4, anchor, html.EscapeString(n.text))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// side is where to write beside a column: outside of the picture's middle.
func (d *diagram) side(column int) (offset int, anchor string) {
	if column == 0 {
		return -barWidth, "end"
	}
	return barWidth, "start"
}

func (d *diagram) drawBar(b *bytes.Buffer, bar bar) {
	c := colours[bar.kind]
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="4" fill="%s" stroke="%s"/>`+"\n",
		x(bar.column)-barWidth/2, y(bar.from)-rowHeight/2+2, barWidth, (bar.to-bar.from)*rowHeight-4, c[1], c[0])
}

// drawLabel writes beside a bar what it stands for: at its middle, or in its first
// row where messages would cross it.
func (d *diagram) drawLabel(b *bytes.Buffer, bar bar) {
	side, anchor := d.side(bar.column)
	at := (y(bar.from) + y(bar.to) - rowHeight) / 2
	if bar.column > 0 && bar.column < len(d.actors)-1 {
		at = y(bar.from)
	}
	fmt.Fprintf(b, `<text class="on" x="%d" y="%d" text-anchor="%s" style="fill:%s">%s</text>`+"\n",
		x(bar.column)+side, at+4, anchor, colours[bar.kind][0], html.EscapeString(bar.text))
}

func drawMessage(b *bytes.Buffer, m message) {
	colour, end, class := "#1f2328", "to", "on"
	if m.refused {
		colour, end, class = "#cf222e", "no", "on no"
	}
	right := 1
	if m.to < m.from {
		right = -1
	}
	x1, x2 := x(m.from)+right*barWidth/2, x(m.to)-right*barWidth/2
	y1, y2 := y(m.row), y(m.row+m.late)
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="1.4" marker-end="url(#%s)"/>`+"\n", x1, y1, x2, y2, colour, end)
	fmt.Fprintf(b, `<text class="%s" x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", class, (x1+x2)/2, (y1+y2)/2-6, html.EscapeString(m.text))
}
