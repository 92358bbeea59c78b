package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Between these lines a page has what a run has found.
const (
	beginMark = "<!-- the run: written by make bench -->"
	endMark   = "<!-- end of the run -->"
)

// write keeps a run in a folder: in its page performance.md between the marks,
// as JSON and as charts.
func (r *result) write(dir string, s size) error {
	page := filepath.Join(dir, "performance.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return fmt.Errorf("bench: %s: no marks of a run", page)
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	files := r.charts(s)
	files["performance.md"] = before + beginMark + "\n\n" + r.markdown() + "\n" + endMark + after
	files["performance.json"] = string(data) + "\n"
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// markdown shows the run.
func (r *result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d CPUs that the servers share, %s, ZooKeeper %s, load average %s before and %s after. Medians of %d rounds; low and high are the medians of single rounds.\n\n",
		r.Date, r.CPUs, r.Go, r.Server, r.LoadBefore, r.LoadAfter, r.Rounds)
	b.WriteString("### Goals\n\n| data | goal | limit | measured | |\n| --- | --- | --- | --- | --- |\n")
	for _, g := range r.Goals {
		verdict := "**not met**"
		if g.Met {
			verdict = "met"
		}
		fmt.Fprintf(&b, "| %s | %s | %.4g | %.4g | %s |\n", g.Storage, g.Goal, g.Limit, g.Measured, verdict)
	}
	b.WriteString("\n### Where a peer is ahead\n\n")
	ahead := r.ahead()
	if len(ahead) == 0 {
		b.WriteString("Nowhere in this run.\n")
	}
	for _, line := range ahead {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	last := ""
	for _, w := range r.Rows {
		if head := fmt.Sprintf("\n### %s: %s\n\n", w.Storage, w.title()); head != last {
			last = head
			b.WriteString(head)
			b.WriteString("| | median | of the floor | low – high | lows, of the floor | per second | requests | watch events | bytes to the client | allocations | memory of a session |\n")
			b.WriteString("|" + strings.Repeat(" --- |", 11) + "\n")
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %v – %v | %s | %s | %.2f | %.2f | %.0f | %s | %s |\n",
			w.Entrant, short(w.P50), some("%.2f", w.Ratio), short(w.Low), short(w.High), some("%.2f", w.LowRatio), some("%.0f", w.Rate),
			w.Requests, w.Events, w.Bytes, w.allocations(), kib(w.Memory))
	}
	b.WriteString("\n### Run once, on tmpfs\n\n| case | | number | what | |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range r.Singles {
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %.5g %s |\n", f.Case, f.Entrant, f.N, f.What, f.Value, f.Unit)
	}
	return b.String()
}

// some is empty where there is nothing to say.
func some(format string, v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

func kib(bytes float64) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f KiB", bytes/1024)
}

func (w row) allocations() string {
	switch {
	case w.Allocs > 0:
		return fmt.Sprintf("%.0f, %.0f B", w.Allocs, w.AllocBytes)
	case w.AllocBytes > 0:
		return fmt.Sprintf("%.0f B", w.AllocBytes)
	}
	return ""
}
