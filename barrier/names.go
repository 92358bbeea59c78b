package barrier

import "strings"

// Names of the children of a double barrier. Like Curator and kazoo we take
// everything for a participant but ready.

const readyName = "ready"

// members are the znodes of participants in a listing.
func members(names []string) []string {
	out := make([]string, 0, len(names))
	for _, name := range names {
		if name != readyName {
			out = append(out, name)
		}
	}
	return out
}

// memberTag stands in the names of our own, between a participant's id and the
// sequence number: _c_<uuid>-<id>-member-<number>.
const memberTag = "-member-"

// participant returns whose znode a name of ours is, "" for those of peers.
func participant(name string) (id string) {
	rest, ok := strings.CutPrefix(name, "_c_")
	if !ok || len(rest) < 37 {
		return ""
	}
	id, _, ok = strings.Cut(rest[37:], memberTag)
	if !ok {
		return ""
	}
	return id
}

// distinct leaves one znode to each participant, to the one that counts its own.
// One that has given up, or lost its session, and has come again may have two for
// a while.
func distinct(members []string, own string) []string {
	out := []string{own}
	seen := map[string]bool{participant(own): true}
	for _, name := range members {
		id := participant(name)
		if id == "" || !seen[id] {
			out = append(out, name)
		}
		seen[id] = true
	}
	return out
}

// isKazoo recognises kazoo's participants: 32 hexadecimal digits.
func isKazoo(name string) bool {
	return len(name) == 32 && strings.Trim(name, "0123456789abcdef") == ""
}
