package family_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// pair is a recipe of this library and one of another that share a path.
type pair struct {
	recipe, peer string
	ours, theirs starter
	mine, others func(path string) []role
	dirs         func(path string) []string // whose children contend; nil for the path itself
	atMost       int                        // how many may hold at once; 0 where exclusive grants exclude
	slow         bool                       // a few grants take long
}

// twice gives a side two participants that do the same.
func twice(verb string, args ...string) func(string) []role {
	return func(path string) []role {
		take := verb + " " + path
		for _, a := range args {
			take += " " + a
		}
		return []role{{take: take}, {take: take}}
	}
}

func readAndWrite(path string) []role {
	return []role{{take: "rlock " + path, shared: true}, {take: "wlock " + path}}
}

// readAndTryToWrite has a writer that gives way soon to readers that wait for it.
func readAndTryToWrite(path string) []role {
	return []role{{take: "rlock " + path, shared: true}, {take: "trywlock " + path + " 100"}}
}

func readers(path string) []role {
	return []role{{take: "rlock " + path, shared: true}, {take: "rlock " + path, shared: true}}
}

func allOf(path string) []role {
	take := "lockall " + path + "-a," + path + "-b," + path + "-c"
	return []role{{take: take}, {take: take}}
}

var pairs = []pair{
	{recipe: "mutex", peer: "Curator", ours: ours, theirs: curator, mine: twice("lock"), others: twice("lock")},
	{recipe: "mutex", peer: "go-zookeeper", ours: ours, theirs: goZooKeeper, mine: twice("lock"), others: twice("lock")},
	{recipe: "mutex", peer: "kazoo that knows our names", ours: ours, theirs: kazoo("lock-"), mine: twice("lock"), others: twice("lock")},
	{recipe: "mutex", peer: "kazoo whose names we take", ours: oursAsKazoo, theirs: kazoo(), mine: twice("lock"), others: twice("lock")},
	{recipe: "readers and writers", peer: "Curator", ours: ours, theirs: curator, mine: readAndWrite, others: readAndWrite},
	// kazoo's readers take no part where writers wait without an end: before 2.9
	// they wait for writers that came later, see TestKazooReaderWaitsForALaterWriter.
	{recipe: "readers and writers", peer: "kazoo that knows our names", ours: ours, theirs: kazoo("__WRIT__", "__READ__"), mine: readAndWrite, others: twice("wlock")},
	{recipe: "readers and writers", peer: "kazoo whose names we take", ours: oursAsKazoo, theirs: kazoo(), mine: readAndWrite, others: twice("wlock")},
	// Such a reader comes in between two attempts of a writer, or does not.
	{recipe: "writers with a deadline", peer: "kazoo's readers that know our names", ours: ours, theirs: kazoo("__WRIT__", "__READ__"), mine: readAndTryToWrite, others: readers, slow: true},
	{recipe: "writers with a deadline", peer: "kazoo's readers whose names we take", ours: oursAsKazoo, theirs: kazoo(), mine: readAndTryToWrite, others: readers, slow: true},
	{
		recipe: "semaphore", peer: "Curator", ours: ours, theirs: curator, mine: twice("acquire", "2"), others: twice("acquire", "2"), atMost: 2,
		dirs: func(path string) []string { return []string{path + "/locks", path + "/leases"} },
	},
	{
		recipe: "multi-lock", peer: "Curator", ours: ours, theirs: curator, mine: allOf, others: allOf,
		dirs: func(path string) []string { return []string{path + "-a", path + "-b", path + "-c"} },
	},
}

func TestOursAndPeersExcludeEachOther(t *testing.T) {
	report := proof.New(t, "lock-family", "Locks shared with Curator, kazoo and go-zookeeper, with kills and lost sessions on each side")
	for _, p := range pairs {
		t.Run(p.recipe+" and "+p.peer, func(t *testing.T) {
			path := zkserver.Path(t)
			dirs := []string{path}
			if p.dirs != nil {
				dirs = p.dirs(path)
			}
			turns := manyTurns()
			if p.slow {
				turns = 1
			}
			c := newContest(t, dirs, turns,
				&side{name: "zkrecipes", start: p.ours, careful: true, roles: p.mine(path)},
				&side{name: p.peer, start: p.theirs, roles: p.others(path)})
			c.run()
			if p.atMost > 0 {
				c.requireAtMost(p.atMost)
			} else {
				c.requireExclusion()
			}
			report.Printf("%s, with %s: %d of our grants and %d of theirs; each side once cut off until its session ended, and once killed",
				p.recipe, p.peer, len(c.sides[0].grants), len(c.sides[1].grants))
		})
	}
}
