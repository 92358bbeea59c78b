package conformance_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/zkrecipes/zkrecipes/integration/conformance/bareclient"
	"github.com/zkrecipes/zkrecipes/integration/internal/proof"
	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// The folder of all histories. Its name is part of the requests.
const historyFolder = "/history"

// A step of a history is what one session does before another one may act:
// requests in one go, or something with its connection.
type step struct {
	who      int
	do       deed
	requests []bareclient.Request
}

type deed int

const (
	rest deed = iota // what steps shrink to, for the shortest history is long
	ask
	resume
	startAnew // close the session and open another one
)

// GoString is what is shown of a history that goes different ways.
func (st step) GoString() string {
	s := script{folder: historyFolder}
	switch text := fmt.Sprintf("%c: ", 'a'+st.who); st.do {
	case rest:
		return "·"
	case resume:
		return "\n" + text + "resume"
	case startAnew:
		return "\n" + text + "start anew"
	default:
		for _, r := range st.requests {
			text += fmt.Sprintf("%v %s; ", r.Op, s.showRequest(r.Body))
		}
		return "\n" + text
	}
}

// TestRandomHistoriesGoTheSameWayOnAllServers has the vocabulary in which 3.8
// and 3.9 agree.
func TestRandomHistoriesGoTheSameWayOnAllServers(t *testing.T) {
	compareHistories(t, "all", kinds, vocabulary{})
}

// TestRandomHistoriesGoTheSameWayOn38 has that in which they do not, too.
func TestRandomHistoriesGoTheSameWayOn38(t *testing.T) {
	compareHistories(t, "38", slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.newer }), vocabulary{full: true})
}

func compareHistories(t *testing.T, name string, kinds []kind, v vocabulary) {
	report := proof.New(t, "conformance-"+name, "The same random histories on real servers and on the one for tests")
	addrs := make([]string, len(kinds))
	for i, k := range kinds {
		addrs[i] = k.start(t, seldom)
	}
	var histories, operations int
	rapid.Check(t, func(rt *rapid.T) {
		history := rapid.SliceOfN(v.step(), 40, 200).Draw(rt, "history")
		var first []string
		for i, k := range kinds {
			s := play(rt, k, addrs[i], history)
			if i == 0 {
				first = s.notes
				operations += s.ops
				continue
			}
			if diff := firstDifference(kinds[0].name, first, k.name, s.notes); diff != "" {
				rt.Fatalf("%s", diff)
			}
		}
		histories++
	})
	compared.random.Add(int64(operations))
	for _, k := range kinds {
		report.Printf("- %s", k.name)
	}
	report.Printf("%d operations of %d random histories from %d sessions gave the same on all of them.", operations, histories, historySessions)
}

func play(t tb, k kind, addr string, history []step) *script {
	s := begin(t, k, []string{addr}, historyFolder)
	defer s.end()
	s.replay(history)
	return s
}

// replay runs a history from several sessions. What they see is decided, for
// only one acts at a time.
func (s *script) replay(history []step) {
	actors := make([]*session, historySessions)
	generation := 0
	for i := range actors {
		actors[i] = s.open(string(rune('a' + i)))
	}
	for _, st := range history {
		a := actors[st.who]
		switch st.do {
		case ask:
			a.doAll(s.placed(st.requests)...)
		case resume:
			a.ping() // for the events that would get lost
			actors[st.who] = a.resume()
			a.cutOff()
		case startAnew:
			s.unordered(actors, func() {
				a.close().ok()
				a.cutOff()
			})
			generation++
			actors[st.who] = s.open(fmt.Sprintf("%c%d", 'a'+st.who, generation))
		}
	}
	for _, a := range actors {
		a.ping()
	}
}

// unordered sorts what the sessions see of a change whose events have no order
// of their own: a session's ephemerals go in that of a hash table.
func (s *script) unordered(actors []*session, change func()) {
	for _, a := range actors {
		a.ping()
	}
	from := len(s.notes)
	change()
	closed := len(s.notes) - 1
	for _, a := range actors {
		if s.notes[closed] != a.name+": cut off" {
			a.ping()
		}
	}
	slices.Sort(s.notes[from:])
}

// placed makes the transaction that setWatches counts from one of this server.
func (s *script) placed(requests []bareclient.Request) []bareclient.Request {
	placed := slices.Clone(requests)
	for i, r := range placed {
		switch b := r.Body.(type) {
		case *jute.SetWatchesRequest:
			c := *b
			c.RelativeZxid += s.base
			placed[i].Body = &c
		case *jute.SetWatches2Request:
			c := *b
			c.RelativeZxid += s.base
			placed[i].Body = &c
		}
	}
	return placed
}
