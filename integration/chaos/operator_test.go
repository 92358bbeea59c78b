package chaos_test

import (
	"context"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/internal/belief"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// directories that an operator may tamper with. What is deleted of a barrier or
// of a semaphore's permits changes who counts, which no rule could judge.
var tampered = []string{
	"/mutex", "/readwrite", "/semaphore/locks", "/multi-a", "/multi-b", "/multi-c", "/election",
	"/zkregister/lock", "/sqlregister/lock",
}

// operator deletes what is not its own.
func operator(s *storm) *lane {
	return &lane{storm: s, name: "operator", pause: 2 * T, settled: func(context.Context) error { return nil }, kinds: []kind{
		{"contender deleted", func(l *lane) (string, time.Duration, func() error, error) {
			dir := l.root + tampered[l.r.IntN(len(tampered))]
			ctx, cancel := context.WithTimeout(context.Background(), T)
			defer cancel()
			return l.deleteFrom(ctx, dir, false), 0, nothing, nil
		}},
		{"directory deleted", func(l *lane) (string, time.Duration, func() error, error) {
			dir := l.root + tampered[l.r.IntN(len(tampered))]
			ctx, cancel := context.WithTimeout(context.Background(), T)
			defer cancel()
			return l.deleteFrom(ctx, dir, true), 0, nothing, nil
		}},
	}}
}

// deleteFrom deletes one contender, or all and the directory, and returns what
// it has deleted, "" for nothing. It does what it can: others come and go.
func (l *lane) deleteFrom(ctx context.Context, dir string, all bool) string {
	session, err := l.client.Session(ctx)
	if err != nil {
		return ""
	}
	names, _, err := session.Children(ctx, dir)
	if err != nil || len(names) == 0 {
		return ""
	}
	l.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if !all {
		names = names[:1]
	}
	var deleted []string
	for _, name := range names {
		if l.deleteNode(ctx, session, dir, name) {
			deleted = append(deleted, name)
		}
	}
	if all {
		_ = session.Delete(ctx, dir, -1)
	}
	return strings.Join(deleted, " ")
}

// deleteNode writes down when the deletion began. Where the outcome is not
// known the contender is taken for deleted.
func (l *lane) deleteNode(ctx context.Context, session *recipes.Session, dir, name string) bool {
	node := dir + "/" + name
	stat, ok, err := session.Exists(ctx, node)
	if err != nil || !ok {
		return false
	}
	at := belief.Now()
	if err := session.Delete(ctx, node, -1); recipesKnown(err) {
		return false
	}
	l.recorder.Deleted(at, strings.TrimSuffix(dir, "/locks"), node, stat.Czxid)
	return true
}
