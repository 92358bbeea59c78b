package bench

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// colors of the entrants, by their place in locks.
var colors = []string{"#777777", "#0b6e99", "#d9822b", "#b03a5b", "#5a8f3c", "#7a5fb0"}

// charts draws the run: file names and their SVG.
func (r *result) charts(s size) map[string]string {
	all := make(map[string]string)
	for _, storage := range []string{onDisk, onTmpfs} {
		all["performance-idle-"+storage+".svg"] = r.idleChart(storage)
		all["performance-handover-"+storage+".svg"] = r.lineChart(storage, s.contenders,
			"Hand-over on "+storage+": microseconds by contenders", func(w row) float64 { return float64(w.P50.Microseconds()) })
	}
	all["performance-bytes.svg"] = r.lineChart(onTmpfs, s.contenders,
		"Bytes to the clients of an acquisition, by contenders", func(w row) float64 { return w.Bytes })
	return all
}

const (
	chartWidth = 720
	labelWidth = 230
	barHeight  = 24
)

// idleChart has a bar for each lock, as long as it takes.
func (r *result) idleChart(storage string) string {
	var rows []row
	longest := 0.0
	for _, e := range locks {
		if w, ok := r.find(storage, idleCase, e.title, 0); ok {
			rows = append(rows, w)
			longest = max(longest, float64(w.P50))
		}
	}
	c := newChart(40+barHeight*len(rows), "Acquire + release of an idle lock on "+storage)
	for i, w := range rows {
		y := 36 + i*barHeight
		width := float64(w.P50) / longest * (chartWidth - labelWidth - 200)
		c.text(labelWidth-8, y+15, "end", w.Entrant)
		c.printf(`<rect x="%d" y="%d" width="%.0f" height="%d" fill="%s"/>`, labelWidth, y, width, barHeight-6, color(w.Entrant))
		c.text(labelWidth+int(width)+6, y+15, "start", fmt.Sprintf("%v, %.2f of the floor", short(w.P50), w.Ratio))
	}
	return c.end()
}

// lineChart has a line for each lock over the number of contenders; both axes
// are logarithmic.
func (r *result) lineChart(storage string, contenders []int, title string, value func(row) float64) string {
	const height, left, right, top, bottom = 320, 70, 220, 40, 40
	c := newChart(height, title)
	low, high := math.Inf(1), 0.0
	each := func(do func(e entrant, i int, v float64)) {
		for _, e := range locks {
			for i, n := range contenders {
				if w, ok := r.find(storage, handCase, e.title, n); ok && value(w) > 0 {
					do(e, i, value(w))
				}
			}
		}
	}
	each(func(_ entrant, _ int, v float64) { low, high = min(low, v), max(high, v) })
	if high == 0 {
		return c.end()
	}
	x := func(i int) int { return left + i*(chartWidth-left-right)/max(1, len(contenders)-1) }
	y := func(v float64) int {
		return top + int((math.Log(high)-math.Log(v))/max(0.01, math.Log(high)-math.Log(low))*(height-top-bottom))
	}
	for i, n := range contenders {
		c.text(x(i), height-14, "middle", fmt.Sprint(n))
	}
	for v := math.Pow(10, math.Floor(math.Log10(low))); v <= high; v *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if v*step >= low && v*step <= high {
				c.text(left-8, y(v*step)+4, "end", fmt.Sprintf("%.0f", v*step))
				c.printf(`<line x1="%d" x2="%d" y1="%d" y2="%d" stroke="#ddd"/>`, left, chartWidth-right, y(v*step), y(v*step))
			}
		}
	}
	points := make(map[string][]string)
	last := make(map[string]float64)
	each(func(e entrant, i int, v float64) {
		points[e.title] = append(points[e.title], fmt.Sprintf("%d,%d", x(i), y(v)))
		last[e.title] = v
	})
	c.legend(points, last, y)
	return c.end()
}

// legend draws the lines and writes their names at their ends, one below the
// other where these are close.
func (c *chart) legend(points map[string][]string, last map[string]float64, y func(float64) int) {
	var names []string
	for _, e := range locks {
		if len(points[e.title]) > 0 {
			names = append(names, e.title)
			c.printf(`<polyline fill="none" stroke-width="2" stroke="%s" points="%s"/>`, color(e.title), strings.Join(points[e.title], " "))
		}
	}
	taken := -100
	for len(names) > 0 {
		top := 0
		for i := range names {
			if last[names[i]] > last[names[top]] {
				top = i
			}
		}
		taken = max(y(last[names[top]])+4, taken+15)
		c.printf(`<text x="%d" y="%d" fill="%s">%s</text>`, chartWidth-214, taken, color(names[top]), html.EscapeString(names[top]))
		names = append(names[:top], names[top+1:]...)
	}
}

func color(title string) string {
	for i, e := range locks {
		if e.title == title {
			return colors[i]
		}
	}
	return colors[0]
}

type chart struct{ strings.Builder }

func newChart(height int, title string) *chart {
	c := &chart{}
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`, chartWidth, height)
	c.printf(`<rect width="100%%" height="100%%" fill="white"/>`)
	c.printf(`<text x="12" y="22" font-size="14" font-weight="bold">%s</text>`, html.EscapeString(title))
	return c
}

func (c *chart) printf(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *chart) text(x, y int, anchor, text string) {
	c.printf(`<text x="%d" y="%d" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(text))
}

func (c *chart) end() string {
	c.printf("</svg>")
	return c.String()
}
