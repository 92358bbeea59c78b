package queue

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Layout says how the contenders of a queue are named: each name ends in a tag
// and the sequence number that the server put behind it. A name that fits none
// of the tags is a stranger's.
type Layout []Tag

// Tag is a kind of contender.
type Tag struct {
	Text   string // before the sequence number
	Shared bool   // does not exclude others of its kind
	kazoo  bool   // unknown to Curator
}

// Mutex is the layout of exclusive locks. We write Curator's names, which
// go-zookeeper's own lock understands too, and count kazoo's as well.
var Mutex = Layout{{Text: "lock-"}, Kazoo}

// ReadWrite is the layout of reader/writer locks, ours and Curator's, with
// kazoo's counted as well.
var ReadWrite = Layout{Reader, Writer, Kazoo, KazooReader}

// Latch is the layout of Curator's LeaderLatch.
var Latch = Layout{{Text: "latch-"}}

// succeeds reports whether somebody else may stand in the place of a contender
// that is gone, and be in the way of one with the given tag: a writer can become
// a reader.
func (l Layout) succeeds(gone, tag Tag) bool {
	return !gone.Shared && !tag.Shared && slices.ContainsFunc(l, func(t Tag) bool { return t.Shared })
}

// Tags of our own contenders in ReadWrite.
var (
	Reader = Tag{Text: "__READ__", Shared: true}
	Writer = Tag{Text: "__WRIT__"}
)

// Tags of kazoo's contenders, which it counts wherever they stand in a name: of
// those that exclude others, and of readers.
var (
	Kazoo       = Tag{Text: "__lock__", kazoo: true}
	KazooReader = Tag{Text: "__rlock__", Shared: true, kazoo: true}
)

// entry is a contender in a listing.
type entry struct {
	name string
	tag  Tag
	seq  int64
}

// maxSeq is where the server's counter sticks: numbers stop being distinct, and
// then being positive.
const maxSeq = math.MaxInt32

// numbered reports whether the contender's number is one of its own.
func (e entry) numbered() bool { return e.seq >= 0 && e.seq < maxSeq }

// parse returns the contender that a name stands for; ok is false for strangers.
func (l Layout) parse(name string) (e entry, ok bool) {
	for _, tag := range l {
		i := strings.LastIndex(name, tag.Text)
		if i < 0 {
			continue
		}
		if seq, ok := sequence(name[i+len(tag.Text):]); ok {
			return entry{name: name, tag: tag, seq: seq}, true
		}
	}
	return entry{}, false
}

// sequence reads a sequence number: ten digits, or a minus sign and nine or ten.
func sequence(s string) (int64, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	if len(digits) != 10 && !(negative && len(digits) == 9) {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	seq, err := strconv.ParseInt(s, 10, 64)
	return seq, err == nil && seq >= math.MinInt32 && seq <= math.MaxInt32
}

// blocksJVM reports whether a stranger makes a Curator contender with the given
// sequence number wait for it. Curator sorts all names there are, by the text
// behind its own tag, or by the whole name where that is missing.
func (l Layout) blocksJVM(name string, seq int64) bool {
	key := name
	for _, tag := range l {
		if i := strings.LastIndex(key, tag.Text); i >= 0 && !tag.kazoo {
			key = key[i+len(tag.Text):]
		}
	}
	return key < fmt.Sprintf("%010d", seq)
}
