package conformance_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

var errTimeout = os.ErrDeadlineExceeded

func (s *script) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// tail is the end of the transcript.
func (s *script) tail() string {
	return strings.Join(s.notes[max(0, len(s.notes)-12):], "\n")
}

// relative takes the script's folder off a path.
func (s *script) relative(path string) string {
	if rest, ok := strings.CutPrefix(path, s.folder); ok {
		return rest
	}
	return "!" + path
}

// showZxid counts from the script's start. What was before differs from server
// to server.
func (s *script) showZxid(zxid int64) string {
	switch {
	case zxid <= 0:
		return fmt.Sprint(zxid)
	case zxid <= s.base:
		return "old"
	}
	return fmt.Sprintf("+%d", zxid-s.base)
}

func (s *script) showOwner(id int64) string {
	if name, ok := s.names[id]; ok {
		return name
	}
	return fmt.Sprint(id)
}

// showStat leaves out the times.
func (s *script) showStat(st jute.Stat) string {
	return fmt.Sprintf("[c%s m%s p%s v%d cv%d av%d owner %s len %d kids %d]",
		s.showZxid(st.Czxid), s.showZxid(st.Mzxid), s.showZxid(st.Pzxid),
		st.Version, st.Cversion, st.Aversion, s.showOwner(st.EphemeralOwner), st.DataLength, st.NumChildren)
}

func (s *script) showRequest(body jute.Record) string {
	switch b := body.(type) {
	case *jute.CreateRequest:
		return s.plain(fmt.Sprintf("%s %.20q %v flags %d", b.Path, b.Data, b.ACL, b.Flags))
	case *jute.CreateTTLRequest:
		return s.showRequest(&b.CreateRequest) + fmt.Sprintf(" %d ms", b.TTLMillis)
	case *jute.SetDataRequest:
		return s.plain(fmt.Sprintf("%s %.20q version %d", b.Path, b.Data, b.Version))
	case *jute.MultiRequest:
		var ops []string
		for _, o := range b.Ops {
			ops = append(ops, o.Op.String()+" "+s.showRequest(o.Body))
		}
		return "{" + strings.Join(ops, "; ") + "}"
	case *jute.SetWatchesRequest:
		c := *b
		c.RelativeZxid = 0
		return s.showZxid(b.RelativeZxid) + s.plain(&c)
	case *jute.SetWatches2Request:
		c := *b
		c.RelativeZxid = 0
		return s.showZxid(b.RelativeZxid) + s.plain(&c)
	}
	return s.plain(body)
}

// plain shows a value with the folder left out.
func (s *script) plain(v any) string {
	return strings.ReplaceAll(fmt.Sprintf("%+v", v), s.folder, "…")
}

// showReply sorts lists of names and identities: a server gives them in no
// particular order.
func (s *script) showReply(body jute.Record) string {
	switch b := body.(type) {
	case nil:
		return "-"
	case *jute.PathReply:
		return s.relative(b.Path)
	case *jute.StatReply:
		return s.showStat(b.Stat)
	case *jute.CreateReply:
		return s.relative(b.Path) + " " + s.showStat(b.Stat)
	case *jute.DataReply:
		return fmt.Sprintf("nil %v %.60q %s", b.Data == nil, b.Data, s.showStat(b.Stat))
	case *jute.ListReply:
		return s.showNames(b.Names)
	case *jute.ChildrenReply:
		return s.showNames(b.Names) + " " + s.showStat(b.Stat)
	case *jute.ACLReply:
		return fmt.Sprintf("%v %s", b.ACL, s.showStat(b.Stat))
	case *jute.MultiReply:
		return s.showResults(b.Results)
	case *jute.WhoAmIReply:
		slices.SortFunc(b.Clients, func(x, y jute.ClientInfo) int {
			return cmp.Or(cmp.Compare(x.Scheme, y.Scheme), cmp.Compare(x.User, y.User))
		})
	}
	return fmt.Sprintf("%+v", body)
}

func (s *script) showNames(names []string) string {
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = strings.TrimPrefix(n, s.folder)
	}
	slices.Sort(shown)
	return fmt.Sprintf("%q", shown)
}

func (s *script) showResults(results []jute.MultiResult) string {
	var all []string
	for _, r := range results {
		all = append(all, fmt.Sprintf("%v %v %s", r.Op, r.Err, s.showReply(r.Body)))
	}
	return "{" + strings.Join(all, "; ") + "}"
}

// firstDifference shows where two transcripts part, "" if they do not.
func firstDifference(nameA string, a []string, nameB string, b []string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) && i == len(b) {
		return ""
	}
	line := func(of []string) string {
		if i < len(of) {
			return of[i]
		}
		return "(the end)"
	}
	return fmt.Sprintf("after\n%s\n%-14s %s\n%-14s %s", strings.Join(a[max(0, i-8):i], "\n"), nameA, line(a), nameB, line(b))
}
