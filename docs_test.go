package zkrecipes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/docpages"
)

var ofLink = regexp.MustCompile(`\]\(([^)\s]*)\)`)

type link struct{ target, anchor string }

// linksOf returns where a page leads to within the project.
func linksOf(p docpages.Page) (links []link) {
	for _, m := range ofLink.FindAllStringSubmatch(p.Prose, -1) {
		if strings.Contains(m[1], ":") { // another site
			continue
		}
		file, anchor, _ := strings.Cut(m[1], "#")
		target := p.Name
		if file != "" {
			target = path.Join(path.Dir(p.Name), file)
		}
		links = append(links, link{target, anchor})
	}
	return links
}

// Links between the pages, and from them to files, lead to what is there, with
// their anchors.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	pages := docpages.Read(t, ".")
	anchors := make(map[string][]string)
	for _, p := range pages {
		anchors[p.Name] = p.Anchors()
	}
	for _, p := range pages {
		for _, l := range linksOf(p) {
			_, err := os.Stat(filepath.FromSlash(l.target))
			require.NoError(t, err, "a link of %s", p.Name)
			if l.anchor != "" {
				require.Contains(t, anchors[l.target], l.anchor, "a link of %s to %s", p.Name, l.target)
			}
		}
	}
}

// Who begins at the README finds every page.
func TestPagesAreFoundFromTheReadme(t *testing.T) {
	pages := make(map[string]docpages.Page)
	for _, p := range docpages.Read(t, ".") {
		pages[p.Name] = p
	}
	found := map[string]bool{"README.md": true}
	for queue := []string{"README.md"}; len(queue) > 0; queue = queue[1:] {
		for _, l := range linksOf(pages[queue[0]]) {
			for _, name := range []string{l.target, path.Join(l.target, "README.md")} { // of a folder
				if _, ok := pages[name]; ok && !found[name] {
					found[name] = true
					queue = append(queue, name)
				}
			}
		}
	}
	for name := range pages {
		require.True(t, found[name], name)
	}
}

// What the pages say to make is made by the Makefile, and nothing that they name
// by a path of this project is gone.
func TestCommandsOfThePagesAreThere(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	for _, p := range docpages.Read(t, ".") {
		for _, c := range p.Commands("make") {
			for _, target := range c.Words[1:] {
				if !strings.Contains(target, "=") {
					require.Contains(t, string(makefile), "\n"+target+":", "%s: make %s", p.Name, target)
				}
			}
		}
		for _, c := range p.Commands("go", "scripts/test.sh") {
			folder := c.Folder
			if i := slices.Index(c.Words, "-C"); i > 0 && len(c.Words) > i+1 {
				folder = c.Words[i+1]
			}
			for _, w := range c.Words {
				if strings.HasPrefix(w, "./") || strings.HasPrefix(w, "scripts/") {
					_, err := os.Stat(filepath.Join(folder, strings.TrimSuffix(w, "...")))
					require.NoError(t, err, "%s: %q", p.Name, c.Words)
				}
			}
		}
	}
}

func TestShellBlocksOfThePagesAreShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	var all bytes.Buffer
	for _, p := range docpages.Read(t, ".") {
		for _, b := range p.Blocks {
			if b.Lang == "sh" {
				all.WriteString(": '" + b.Page + " " + strconv.Itoa(b.Line) + "'\n(\n" + b.Text + "\n)\n")
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), bash, "-n")
	cmd.Stdin = &all
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Each Go block of a page compiles: a whole file, declarations, or statements in
// a function to which given lists what they may take for granted.
func TestGoBlocksOfThePagesCompile(t *testing.T) {
	check := newChecker(t)
	blocks := 0
	for _, p := range docpages.Read(t, ".") {
		for _, b := range p.Blocks {
			if b.Lang == "go" {
				blocks++
				check.block(t, b)
			}
		}
	}
	require.Greater(t, blocks, 5)
}

var inlineName = regexp.MustCompile("`(\\w+)\\.([A-Z]\\w*)(?:\\.([A-Z]\\w*))?[^`]*`")

// Names of the library that stand in the running text, as pkg.Name, pkg.Type.Name
// or Type.Name, are there. What CHANGELOG.md tells of may be gone.
func TestNamesOfThePagesAreThere(t *testing.T) {
	check := newChecker(t)
	packagesOf := make(map[string]*types.Package) // by name
	typesOf := make(map[string][]types.Object)    // by name
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, module+"/") || strings.Contains(p.ImportPath, "/internal/") {
			continue
		}
		pkg, err := check.importer.Import(p.ImportPath)
		require.NoError(t, err)
		packagesOf[pkg.Name()] = pkg
		for _, name := range pkg.Scope().Names() {
			if object, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && object.Exported() {
				typesOf[name] = append(typesOf[name], object)
			}
		}
	}
	named := 0
	for _, p := range docpages.Read(t, ".") {
		if p.Name == "CHANGELOG.md" {
			continue
		}
		for _, m := range inlineName.FindAllStringSubmatch(p.Prose, -1) {
			within, member := typesOf[m[1]], m[2]
			if pkg := packagesOf[m[1]]; pkg != nil {
				object := pkg.Scope().Lookup(m[2])
				require.NotNil(t, object, "%s: %s", p.Name, m[0])
				within, member = []types.Object{object}, m[3]
			}
			if len(within) > 0 && member != "" {
				require.True(t, slices.ContainsFunc(within, func(o types.Object) bool {
					found, _, _ := types.LookupFieldOrMethod(o.Type(), true, o.Pkg(), member)
					return found != nil
				}), "%s: %s", p.Name, m[0])
			}
			named++
		}
	}
	require.Greater(t, named, 100)
}

// given is what blocks of statements may take for granted.
const given = `
var (
	ctx     context.Context
	c       *recipes.Client
	mu      *lock.Mutex
	servers string
	pauses, left interface{ Observe(float64) }
)

func work(context.Context, fence.Token) error { return nil }
`

// known are the packages that blocks may use without an import.
var known = []string{
	"context", "database/sql", "errors", "fmt", "log/slog", "time",
	module + "/barrier", module + "/election", module + "/fence", module + "/fence/sqlfence",
	module + "/fence/zkfence", module + "/lock", module + "/recipes", module + "/zktest",
}

type checker struct {
	fset     *token.FileSet
	importer types.Importer
}

// newChecker asks the go command once for what it has compiled of all packages
// that blocks may import.
func newChecker(t *testing.T) *checker {
	t.Helper()
	// As this test was, so that it is there already.
	race := "-race=false"
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		race = "-race"
	}
	args := append([]string{"list", race, "-export", "-deps", "-json=ImportPath,Export", "testing", "testing/synctest", "github.com/stretchr/testify/require", "cmp", "./..."}, known...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	exports := make(map[string]string)
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct{ ImportPath, Export string }
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	return &checker{fset, importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
}

func (c *checker) block(t *testing.T, b docpages.Block) {
	t.Helper()
	var failed error
	for _, source := range readings(b.Text) {
		file, err := parser.ParseFile(c.fset, b.Page+":"+strconv.Itoa(b.Line), source, 0)
		if err != nil {
			failed = err
			continue
		}
		cfg := types.Config{Importer: c.importer, Error: func(err error) {
			var e types.Error
			// A part of a program need not use all that it declares.
			if !errors.As(err, &e) || !e.Soft {
				t.Errorf("%s, a block at line %d: %v", b.Page, b.Line, err)
			}
		}}
		_, _ = cfg.Check("p", c.fset, []*ast.File{file}, nil) // told by Error
		return
	}
	t.Errorf("%s, a block at line %d: %v", b.Page, b.Line, failed)
}

// readings are the files that a block may stand for.
func readings(text string) []string {
	if strings.HasPrefix(text, "package ") {
		return []string{text}
	}
	if strings.HasPrefix(text, "import ") {
		return []string{"package p\n" + text}
	}
	head := "package p\n"
	for _, path := range known {
		head += "import " + strconv.Quote(path) + "\n"
	}
	head += given
	return []string{head + text, head + "func _() error {\n" + text + "\nreturn nil\n}"}
}
