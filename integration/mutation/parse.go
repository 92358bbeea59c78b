package mutation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutation is one way to break the library.
type Mutation struct {
	Name  string // of its file
	Title string
	Tests []Test
	Hunks []Hunk
}

// Test is a test that notices it.
type Test struct {
	Package string // its folder in the root module
	Name    string
	Storm   bool // takes long
}

// Hunk is a change of a file in the root module.
type Hunk struct{ File, Old, New string }

// Load reads all mutations of a folder.
func Load(folder string) ([]Mutation, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.diff"))
	if err != nil {
		return nil, err
	}
	var all []Mutation
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m.Name = strings.TrimSuffix(filepath.Base(file), ".diff")
		all = append(all, m)
	}
	return all, nil
}

func parse(text string) (Mutation, error) {
	head, body, _ := strings.Cut(text, "\n@@ ")
	m, err := parseHead(head)
	if err != nil {
		return Mutation{}, err
	}
	for part := range strings.SplitSeq(body, "\n@@ ") {
		h, err := parseHunk(part)
		if err != nil {
			return Mutation{}, err
		}
		m.Hunks = append(m.Hunks, h)
	}
	return m, nil
}

func parseHead(head string) (m Mutation, err error) {
	var title []string
	for line := range strings.Lines(head) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case len(words) == 3 && (words[0] == "fails" || words[0] == "storm"):
			m.Tests = append(m.Tests, Test{Package: words[1], Name: words[2], Storm: words[0] == "storm"})
		case len(m.Tests) > 0:
			return m, fmt.Errorf("neither a test nor a hunk: %q", line)
		default:
			title = append(title, words...)
		}
	}
	m.Title = strings.Join(title, " ")
	if m.Title == "" || len(m.Tests) == 0 || m.Tests[0].Storm {
		return m, errors.New("needs a title and a test that runs always")
	}
	return m, nil
}

func parseHunk(part string) (Hunk, error) {
	file, lines, _ := strings.Cut(part, "\n")
	h := Hunk{File: strings.TrimSpace(file)}
	for line := range strings.Lines(lines) {
		switch text := line[1:]; line[0] {
		case '-':
			h.Old += text
		case '+':
			h.New += text
		case ' ':
			h.Old, h.New = h.Old+text, h.New+text
		case '\n': // between hunks
		default:
			return h, fmt.Errorf("a line of a hunk begins with a blank, - or +: %q", line)
		}
	}
	if h.File == "" || h.Old == "" || h.Old == h.New {
		return h, fmt.Errorf("hunk of %q changes nothing", h.File)
	}
	return h, nil
}

// Apply returns the source with the change made. The old lines must be there
// exactly once, so that a mutation cannot become void unnoticed.
func (h Hunk) Apply(source string) (string, error) {
	if n := strings.Count("\n"+source, "\n"+h.Old); n != 1 {
		return "", fmt.Errorf("%s holds these lines %d times, not once:\n%s", h.File, n, h.Old)
	}
	mutated := strings.Replace("\n"+source, "\n"+h.Old, "\n"+h.New, 1)
	return mutated[1:], nil
}
