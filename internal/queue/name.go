package queue

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// Layout says how the contenders of a queue are named: each name ends in a tag
// and the sequence number that the server put behind it. A name that fits none
// of the tags is a stranger's.
type Layout []Tag

// Tag is a kind of contender.
type Tag struct {
	Text   string // before the sequence number
	Kind   recipes.Kind
	Shared bool // does not exclude others of its kind
	kazoo  bool // unknown to Curator
	enters bool // who is first does not hold, but may take what there is
}

// Indexes into layouts of more than one tag that exclude others: contenders that
// are named as we name them, and Curator, and as kazoo does.
const (
	Ours = iota
	Kazoo
)

// Mutex is the layout of exclusive locks. We write Curator's names, which
// go-zookeeper's own lock understands too, and count kazoo's as well.
var Mutex = Layout{
	{Text: "lock-", Kind: recipes.KindMutex},
	{Text: kazooText, Kind: recipes.KindMutex, kazoo: true},
}

// ReadWrite is the layout of reader/writer locks, ours and Curator's, with
// kazoo's counted as well.
var ReadWrite = Layout{Reader, Writer, KazooWriter, KazooReader}

// Entrance is the layout of the queue before a semaphore: Curator's mutex around
// the taking of permits.
var Entrance = Layout{
	{Text: "lock-", Kind: recipes.KindPermit, enters: true},
	{Text: kazooText, Kind: recipes.KindPermit, enters: true, kazoo: true},
}

// Latch is the layout of Curator's LeaderLatch.
var Latch = Layout{{Text: "latch-", Kind: recipes.KindCandidate}}

// Selector is the layout of Curator's LeaderSelector, with the candidates of
// kazoo's Election counted as well.
var Selector = Layout{
	{Text: "lock-", Kind: recipes.KindCandidate},
	{Text: kazooText, Kind: recipes.KindCandidate, kazoo: true},
}

// Permit is the tag of a semaphore's permits, which are no contenders.
var Permit = Tag{Text: "lease-", Kind: recipes.KindPermit, Shared: true}

// succeeds reports whether somebody else may stand in the place of a contender
// that is gone, and be in the way of one with the given tag: a writer can become
// a reader.
func (l Layout) succeeds(gone, tag Tag) bool {
	return !gone.Shared && !tag.Shared && slices.ContainsFunc(l, func(t Tag) bool { return t.Shared })
}

// kazooText marks kazoo's contenders that exclude others, wherever it stands in a
// name.
const kazooText = "__lock__"

// Tags of contenders in ReadWrite: our own, and kazoo's.
var (
	Reader      = Tag{Text: "__READ__", Kind: recipes.KindReader, Shared: true}
	Writer      = Tag{Text: "__WRIT__", Kind: recipes.KindWriter}
	KazooReader = Tag{Text: "__rlock__", Kind: recipes.KindReader, Shared: true, kazoo: true}
	KazooWriter = Tag{Text: kazooText, Kind: recipes.KindWriter, kazoo: true}
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
