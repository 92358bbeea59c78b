package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/queue"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// site is what stands at a path: a lock, an election, a semaphore or a barrier.
type site struct {
	path      string
	kind      string
	places    []queue.Place // the first ones, those who hold before those who wait
	holding   int
	waiting   int
	strangers []string // names that do not belong there
	blocking  []string // those of them that make Curator's clients wait for ever
}

// Kinds of sites besides those that package queue knows.
const (
	kindSemaphore = "semaphore"
	kindBarrier   = "double barrier"
)

// inspector looks at paths. One goroutine uses it.
type inspector struct {
	client *recipes.Client
	most   int                    // places to read of each site
	want   func(name string) bool // those to read, nil for all
}

func (in *inspector) wants(name string) bool { return in.want == nil || in.want(name) }

// look returns what stands at a path, nil where that is nothing that is known,
// and the names there.
func (in *inspector) look(ctx context.Context, s *recipes.Session, path string) (*site, []string, error) {
	names, _, err := s.Children(ctx, path)
	if err != nil || path == "/" {
		return nil, names, err
	}
	layout, kind := queue.LayoutOf(names)
	switch {
	case kind != "":
		found, err := in.queue(ctx, s, path, kind, layout)
		return found, names, err
	case slices.Contains(names, leasesName) && onlyThese(names, locksName, leasesName):
		found, err := in.semaphore(ctx, s, path)
		return found, names, err
	case isDoubleBarrier(names):
		found, err := in.barrier(ctx, s, path, names)
		return found, names, err
	}
	return nil, names, nil
}

func (in *inspector) queue(ctx context.Context, s *recipes.Session, path, kind string, layout queue.Layout) (*site, error) {
	q, err := queue.New(in.client, path, layout)
	if err != nil {
		return nil, err
	}
	v, err := q.View(ctx, s, in.most, in.want)
	if err != nil {
		return nil, err
	}
	return &site{path: path, kind: kind, places: v.Places, holding: v.Holding, waiting: v.Total - v.Holding,
		strangers: v.Strangers, blocking: v.Blocking}, nil
}

// A semaphore's two directories.
const (
	locksName  = "locks"
	leasesName = "leases"
)

func onlyThese(names []string, allowed ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(allowed, name) })
}

// semaphore returns nil where the directories only bear the names.
func (in *inspector) semaphore(ctx context.Context, s *recipes.Session, path string) (*site, error) {
	permits, _, err := s.Children(ctx, path+"/"+leasesName)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(permits, func(name string) bool { return !permitLayout.Contends(name) }) {
		return nil, nil
	}
	q, err := queue.New(in.client, path+"/"+locksName, queue.Entrance)
	if err != nil {
		return nil, err
	}
	v, err := q.View(ctx, s, in.most, in.want)
	if err != nil && !errors.Is(err, recipes.ErrNoNode) {
		return nil, err
	}
	found := &site{path: path, kind: kindSemaphore, holding: len(permits), waiting: v.Total, strangers: v.Strangers, blocking: v.Blocking}
	slices.SortFunc(permits, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	for _, name := range permits {
		if len(found.places) >= in.most {
			break
		}
		if !in.wants(name) {
			continue
		}
		permit, err := q.Permit(ctx, s, path+"/"+leasesName+"/"+name)
		if errors.Is(err, recipes.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found.places = append(found.places, queue.Place{Contender: permit})
	}
	if len(v.Places) > 0 && v.Places[0].Position == 0 {
		v.Places[0].Behind = path + "/" + leasesName // for room
	}
	found.places = append(found.places, v.Places...)
	found.places = found.places[:min(len(found.places), in.most)]
	return found, nil
}

var permitLayout = queue.Layout{queue.Permit}

// A participant of a double barrier is known by its name: ours by what stands in
// it, Curator's and kazoo's by being an id and nothing else. They all put a znode
// beside them when all have come.
var (
	ourMember  = regexp.MustCompile(`^_c_.*-member-`)
	peerMember = regexp.MustCompile(`^([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)
)

const readyName = "ready"

func isDoubleBarrier(names []string) bool {
	ready := slices.Contains(names, readyName)
	return slices.ContainsFunc(names, func(name string) bool {
		return ourMember.MatchString(name) || ready && peerMember.MatchString(name)
	})
}

// barrier shows all participants as those who wait for the others, or as those
// who are in.
func (in *inspector) barrier(ctx context.Context, s *recipes.Session, path string, names []string) (*site, error) {
	found := &site{path: path, kind: kindBarrier}
	entered := slices.Contains(names, readyName)
	slices.Sort(names)
	for _, name := range names {
		if name == readyName {
			continue
		}
		if entered {
			found.holding++
		} else {
			found.waiting++
		}
		if len(found.places) >= in.most || !in.wants(name) {
			continue
		}
		q, err := queue.New(in.client, path, permitLayout)
		if err != nil {
			return nil, err
		}
		c, err := q.Permit(ctx, s, path+"/"+name)
		if errors.Is(err, recipes.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c.Kind, c.Holds = kindBarrier, entered
		found.places = append(found.places, queue.Place{Contender: c})
	}
	return found, nil
}

// age is how long ago something was made, by this machine's clock, which may be
// ahead of the servers' or behind.
func age(now, created time.Time) time.Duration {
	if created.IsZero() {
		return 0
	}
	return max(0, now.Sub(created))
}
