package zkrecipes_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The wall clock can be set, so nothing may be decided by it. A time.Time of
// time.Now carries the monotonic clock too, and differences of such go by that
// one alone; but what reads or makes a bare wall time gives it up.
//
// The library proper asks for the time in one place, the clock that leases go by,
// which users can replace. Timers and contexts run by the monotonic clock.

// readsClock says where the time may be asked for, by file.
var readsClock = map[string]string{
	"recipes/recipeshttp/page.go":  "when a page was made; shown to people",
	"recipes/recipeshttp/ring.go":  "when something happened; shown to people",
	"recipes/recipeshttp/trace.go": "since when something waits or is as it is; shown to people",

	"recipes/clock.go": "the clock of leases, by time.Since alone",
	"recipes/tls.go":   "whether a certificate has expired, to say so",
}

// readsWall says where a wall time may be read or made, by file.
var readsWall = map[string]string{
	"recipes/types.go":     "when a znode was made and changed, as a server says; shown to people",
	"recipes/contender.go": "when a contender came, as a server says; shown to people",
	"recipes/tls.go":       "until when a certificate is valid, as it says; shown to people",

	"cmd/zkr/contenders.go": "when a contender came, as a server says; shown to people",
	"cmd/zkr/doctor_tls.go": "until when a certificate is valid, as it says; shown to people",

	"examples/cron/main.go": "which night it is, where that is not told",
}

// Packages around the library: programs and aids of tests, which may print how
// long something took, and a server that stamps znodes as a real one does.
func outsideLibrary(name string) bool {
	return testOnly[name] || name == "zktest" || name == "internal/leakcheck" ||
		strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "examples/")
}

func TestNothingIsDecidedByTheWallClock(t *testing.T) {
	clock := map[string]bool{"Now": true, "Since": true, "Until": true}
	wall := map[string]bool{"Unix": true, "UnixMilli": true, "UnixMicro": true, "UnixNano": true, "Date": true, "Parse": true, "ParseInLocation": true}
	strips := map[string]bool{"Unix": true, "UnixMilli": true, "UnixMicro": true, "UnixNano": true, "UTC": true, "Local": true, "In": true}
	seen := make(map[string]bool)
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if name == "zktest" || testOnly[name] {
			continue
		}
		for _, f := range p.GoFiles {
			file := filepath.ToSlash(filepath.Join(name, f))
			for _, s := range timeCalls(t, filepath.Join(p.Dir, f)) {
				asks := s.ofPackage && clock[s.name] && !outsideLibrary(name)
				bare := s.ofPackage && wall[s.name] || !s.ofPackage && strips[s.name]
				if asks {
					require.Contains(t, readsClock, file, "time.%s: the library's time is that of its Clock", s.name)
				}
				if bare {
					require.Contains(t, readsWall, file, "%s: a wall time can be set", s.name)
				}
				if asks || bare {
					seen[file] = true
				}
			}
		}
	}
	for _, exceptions := range []map[string]string{readsClock, readsWall} {
		for file := range exceptions {
			require.True(t, seen[file], "%s needs no exception", file)
		}
	}
}

// timeCall is a name behind a dot: of package time, or of anything else.
type timeCall struct {
	name      string
	ofPackage bool
}

// timeCalls finds the names behind a dot in a file that uses package time. Without
// types a method of the same name of something else is found too, which is safe.
func timeCalls(t *testing.T, path string) (found []timeCall) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	local := ""
	for _, imp := range file.Imports {
		if p, err := strconv.Unquote(imp.Path.Value); err == nil && p == "time" {
			local = "time"
			if imp.Name != nil {
				local = imp.Name.Name
			}
		}
	}
	if local == "" {
		return nil
	}
	require.NotEqual(t, ".", local, "%s: package time imported without a name", path)
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, isIdent := sel.X.(*ast.Ident)
		found = append(found, timeCall{sel.Sel.Name, isIdent && x.Name == local})
		return true
	})
	return found
}
