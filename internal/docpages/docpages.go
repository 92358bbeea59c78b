// Package docpages reads the project's Markdown pages for the tests that keep them
// true: what they say to run, to write and to look at.
package docpages

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Page is one page.
type Page struct {
	Name     string // its path below the project's folder
	Prose    string // without its blocks of code; their lines are empty
	Headings []string
	Blocks   []Block
}

// Block is a fenced block of code.
type Block struct {
	Page string
	Line int    // of its first line
	Lang string // "" where none is given
	Text string
}

// Read returns all pages that people read, of the project in the given folder.
// Reports that programs have written are not among them.
func Read(t testing.TB, root string) []Page {
	t.Helper()
	var pages []Page
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/model/*.md", "docs/monitoring/*.md", "examples/*.md", "examples/*/*.md", ".github/*.md", ".github/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatalf("docpages: %v", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("docpages: %v", err)
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatalf("docpages: %v", err)
			}
			pages = append(pages, parse(filepath.ToSlash(name), string(text)))
		}
	}
	if len(pages) == 0 {
		t.Fatalf("docpages: no page in %s", root)
	}
	return pages
}

// Find returns the first block of a page in which the text stands.
func Find(t testing.TB, root, page, text string) Block {
	t.Helper()
	for _, p := range Read(t, root) {
		for _, b := range p.Blocks {
			if p.Name == page && strings.Contains(b.Text, text) {
				return b
			}
		}
	}
	t.Fatalf("docpages: no block of %s has %q", page, text)
	return Block{}
}

var fence = regexp.MustCompile("^```(\\w*)$")

func parse(name, text string) Page {
	p := Page{Name: name}
	var prose strings.Builder
	inside := false
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && !inside:
			p.Blocks = append(p.Blocks, Block{Page: name, Line: i + 2, Lang: m[1]})
			inside = true
		case m != nil:
			inside = false
		case inside:
			p.Blocks[len(p.Blocks)-1].Text += line + "\n"
		default:
			if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
				p.Headings = append(p.Headings, strings.TrimSpace(title))
			}
			prose.WriteString(line)
		}
		prose.WriteByte('\n')
	}
	p.Prose = prose.String()
	return p
}

// Anchors are what links may name behind the page's own name.
func (p Page) Anchors() []string {
	var all []string
	for _, h := range p.Headings {
		all = append(all, anchor(h))
	}
	return all
}

var (
	ofLink      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchor is a heading as GitHub makes it one.
func anchor(heading string) string {
	heading = ofLink.ReplaceAllString(heading, "$1")
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// Command is one line of a shell's block, or what stands in the running text
// between backquotes.
type Command struct {
	Page   string
	Folder string // to which the same line has changed before, else "."
	Words  []string
	Block  bool // it is of a block: to be run as it is
}

var inline = regexp.MustCompile("`([^`\n]+)`")

// Commands returns the commands of a page that begin with one of the given names:
// those of blocks, lines of sh, and those in the text.
func (p Page) Commands(names ...string) []Command {
	var all []Command
	add := func(text string, block bool) {
		folder := "."
		for _, words := range split(text) {
			switch {
			case len(words) == 2 && words[0] == "cd":
				folder = words[1]
			case len(words) > 0 && slices.Contains(names, words[0]):
				all = append(all, Command{p.Name, folder, words, block})
			}
		}
	}
	for _, b := range p.Blocks {
		if b.Lang == "sh" {
			for line := range strings.Lines(strings.ReplaceAll(b.Text, "\\\n", " ")) {
				add(line, true)
			}
		}
	}
	for _, m := range inline.FindAllStringSubmatch(p.Prose, -1) {
		add(m[1], false)
	}
	return all
}

// split cuts a line of shell into its commands and these into words. It knows as
// much of the shell as the pages use: quotes, comments, pipes, assignments before
// a command, and redirections, which it leaves out.
func split(line string) [][]string {
	commands := [][]string{nil}
	var word strings.Builder
	quote, has := rune(0), false
	end := func() {
		if last := len(commands) - 1; has && (len(commands[last]) > 0 || !assignment.MatchString(word.String())) {
			commands[last] = append(commands[last], word.String())
		}
		word.Reset()
		has = false
	}
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, has = r, true
		case r == ' ' || r == '\t' || r == '\n':
			end()
		case r == '#' && !has:
			return commands
		case strings.ContainsRune("|;&()<>", r):
			end()
			commands = append(commands, nil)
		default:
			word.WriteRune(r)
			has = true
		}
	}
	end()
	return commands
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)
