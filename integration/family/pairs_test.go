package family_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// twice gives a side two participants that do the same.
func twice(take string) []role { return []role{{take: take}, {take: take}} }

// between is a contest of this library, with its own names, with another one.
func between(t *testing.T, dirs []string, name string, start starter, mine, theirs []role) *contest {
	t.Helper()
	return newContest(t, dirs,
		&side{name: "zkrecipes", start: ours, careful: true, roles: mine},
		&side{name: name, start: start, roles: theirs})
}

func TestMutexAndEachPeersExcludeEachOther(t *testing.T) {
	for _, pair := range []struct {
		name         string
		ours, theirs starter
	}{
		{"Curator", ours, curator},
		{"go-zookeeper", ours, goZooKeeper},
		{"kazoo that knows our names", ours, kazoo("lock-")},
		{"kazoo whose names we take", oursAsKazoo, kazoo()},
	} {
		t.Run(pair.name, func(t *testing.T) {
			path := zkserver.Path(t)
			c := newContest(t, []string{path},
				&side{name: "zkrecipes", start: pair.ours, careful: true, roles: twice("lock " + path)},
				&side{name: pair.name, start: pair.theirs, roles: twice("lock " + path)})
			c.run()
			c.requireExclusion()
		})
	}
}

func readAndWrite(path string) []role {
	return []role{{take: "rlock " + path, shared: true}, {take: "wlock " + path}}
}

func TestReadersAndWritersAndCuratorsExcludeEachOther(t *testing.T) {
	path := zkserver.Path(t)
	c := between(t, []string{path}, "Curator", curator, readAndWrite(path), readAndWrite(path))
	c.run()
	c.requireExclusion()
}

// kazoo's readers take no part: its 2.8 has them wait for writers that came
// later, see TestKazooReaderWaitsForALaterWriter.
func TestReadersAndWritersAndKazoosWritersExcludeEachOther(t *testing.T) {
	path := zkserver.Path(t)
	c := between(t, []string{path}, "kazoo", kazoo("__WRIT__", "__READ__"), readAndWrite(path), twice("wlock "+path))
	c.run()
	c.requireExclusion()
}

func TestSemaphoreAndCuratorsShareTheLimit(t *testing.T) {
	path := zkserver.Path(t)
	c := between(t, []string{path + "/locks", path + "/leases"}, "Curator", curator, twice("acquire "+path+" 2"), twice("acquire "+path+" 2"))
	c.run()
	c.requireAtMost(2)
}

func TestMultiAndCuratorsExcludeEachOther(t *testing.T) {
	path := zkserver.Path(t)
	all := "lockall " + path + "-a," + path + "-b," + path + "-c"
	c := between(t, []string{path + "-a", path + "-b", path + "-c"}, "Curator", curator, twice(all), twice(all))
	c.run()
	c.requireExclusion()
}
