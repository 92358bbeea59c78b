package recipes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
)

// A token is the czxid of a contender, and czxids begin anew when an ensemble is
// wiped, or restored from an older state. The resources remember the greater
// tokens of before. What brings the two together again is a base: a number that
// is added to the czxids of one path, and kept beside it.

// baseSuffix is what the znode that keeps a path's base has behind the path.
// Recipes have no directory of such a name.
const baseSuffix = ".fence"

// maxBase leaves czxids as much room as bases.
const maxBase fence.Token = math.MaxInt64 / 2

// ErrBadBase is returned, wrapped, where the znode that keeps the base of a path
// holds something else. There are no grants then: without the base, tokens would
// be refused everywhere.
var ErrBadBase = errors.New("recipes: not a base of tokens")

// base is what is added to the czxids of a path.
type base struct {
	token   fence.Token
	version int32 // of the znode that keeps it
	set     bool
}

// baseHeader is followed by the base in decimal.
const baseHeader = "zkrecipes-fence-base-1 "

func encodeBase(t fence.Token) []byte { return []byte(baseHeader + t.String() + "\n") }

// decodeBase accepts what encodeBase makes and nothing else.
func decodeBase(data []byte) (fence.Token, error) {
	text, _ := strings.CutPrefix(string(data), baseHeader)
	t, err := fence.ParseToken(strings.TrimSuffix(text, "\n"))
	if err != nil || t > maxBase || string(encodeBase(t)) != string(data) {
		return 0, fmt.Errorf("%w: %.40q", ErrBadBase, data)
	}
	return t, nil
}

// readBase reads a path's base; the zero base stands for none.
func (s *Session) readBase(ctx context.Context, path string) (base, error) {
	data, stat, err := s.Get(ctx, path+baseSuffix)
	if errors.Is(err, ErrNoNode) {
		return base{}, nil
	}
	if err != nil {
		return base{}, err
	}
	t, err := decodeBase(data)
	if err != nil {
		return base{}, &OpError{Op: "read", Path: path + baseSuffix, Session: s.ID(), Err: err}
	}
	return base{token: t, version: stat.Version, set: true}, nil
}

// bases is what a session knows of the bases of paths: in two halves, of which
// the older is forgotten as a whole, so that a process with a hundred thousand
// locks does not keep what is of no use any more.
type bases struct {
	mu         sync.Mutex
	young, old map[string]knownBase // by path
	turned     time.Duration        // when the young ones began
}

type knownBase struct {
	base
	read time.Duration // when
}

// base returns a path's base, as it was at most that long ago. That no base is
// set cannot be checked in a transaction, so it is read again now and then; that
// it is still the same one can, and is.
func (s *Session) base(ctx context.Context, path string, age time.Duration) (base, error) {
	now := s.now()
	if b, ok := s.bases.get(path, now-age); ok {
		return b, nil
	}
	b, err := s.readBase(ctx, path)
	if err == nil {
		s.bases.age(now, s.Timeout())
		s.bases.put(path, knownBase{b, now})
	}
	return b, err
}

// get returns what was read after the given time.
func (b *bases) get(path string, after time.Duration) (base, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k, ok := b.young[path]
	if !ok {
		k, ok = b.old[path]
	}
	return k.base, ok && k.read > after
}

// put notes what was read.
func (b *bases) put(path string, k knownBase) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.young == nil {
		b.young = make(map[string]knownBase)
	}
	b.young[path] = k
}

// age forgets what is too old to be used, once in that long.
func (b *bases) age(now, tooOld time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now-b.turned >= tooOld {
		b.young, b.old, b.turned = nil, b.young, now
	}
}

func (b *bases) forget(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.young, path)
	delete(b.old, path)
}

// addBases gives contenders that have nobody in their way the bases of their
// paths. Where one is set it is checked in one transaction with the contenders:
// a base is only ever raised, and those who come later check later, so that with
// the czxids the sums grow too.
func (s *Session) addBases(ctx context.Context, c Claim) error {
	for {
		found, set, err := s.basesOf(ctx, c.Nodes)
		if err != nil || !set {
			return err
		}
		moved, err := s.checkBases(ctx, c, found)
		switch {
		case err != nil:
			return err
		case moved != "":
			s.bases.forget(moved)
			continue
		}
		for i, n := range c.Nodes {
			if n.czxid > math.MaxInt64-found[i].token {
				return fmt.Errorf("recipes: tokens of %s are at their end: base %v", parent(n.path), found[i].token)
			}
			n.base = found[i].token
		}
		return nil
	}
}

func (s *Session) basesOf(ctx context.Context, nodes []*Owned) (found []base, set bool, err error) {
	found = make([]base, len(nodes))
	for i, n := range nodes {
		if found[i], err = s.base(ctx, parent(n.path), s.Timeout()); err != nil {
			return nil, false, err
		}
		set = set || found[i].set
	}
	return found, set, nil
}

// checkBases commits a transaction that checks contenders and bases, and changes
// nothing. It returns the path of a base that is another one by now.
func (s *Session) checkBases(ctx context.Context, c Claim, found []base) (moved string, err error) {
	ops := checks(c.Nodes)
	var paths []string
	for i, b := range found {
		if b.set {
			path := parent(c.Nodes[i].path)
			paths = append(paths, path)
			ops = append(ops, CheckOp(path+baseSuffix, b.version))
		}
	}
	sent := s.now()
	results, err := s.Multi(ctx, ops...)
	for errors.Is(err, ErrOutcomeUnknown) && !isContextErr(err) {
		sent = s.now()
		results, err = s.Multi(ctx, ops...)
	}
	for i, r := range results {
		at := i - len(c.Nodes)
		if at >= 0 && (errors.Is(r.Err, ErrBadVersion) || errors.Is(r.Err, ErrNoNode)) {
			return paths[at], nil
		}
	}
	if err == nil {
		for _, n := range c.Nodes {
			n.sent = max(n.sent, sent)
		}
	}
	return "", err
}

// FenceBase returns what is added to the czxids of a lock's or election's path to
// make its tokens; 0 where no base is set. It is half a session timeout old at
// most, and a grant within the next half does not read it again.
func (s *Session) FenceBase(ctx context.Context, path string) (fence.Token, error) {
	if err := CheckDir(path); err != nil {
		return 0, err
	}
	b, err := s.base(ctx, path, s.Timeout()/2)
	return b.token, err
}

// RaiseFenceBase sees to it that tokens of a lock's or election's path are
// greater than the given one from now on, and returns the base, before and
// after. It is for ensembles that were wiped, or restored from an older state:
// their czxids begin anew, and the resources refuse them. A base is never
// lowered. It is kept in a znode of its own, beside the path, that is not to be
// deleted.
//
// Grants that are decided after RaiseFenceBase has returned have the base; those
// of clients that have read before that there is none have it a session timeout
// later. Until then they are refused by the resources that remember the ensemble
// before. A resource that does not, such as a new one, takes their token, and
// would then take the greater one of a holder before them that had the base: have
// a session timeout go by before such a one is used. Leases that are held keep
// their tokens.
func (c *Client) RaiseFenceBase(ctx context.Context, path string, atLeast fence.Token) (before, after fence.Token, err error) {
	if err := CheckDir(path); err != nil {
		return 0, 0, err
	}
	if atLeast <= 0 || atLeast > maxBase {
		return 0, 0, fmt.Errorf("recipes: base of %v: want a token, at most %v", atLeast, maxBase)
	}
	for {
		before, after, err = c.raiseBase(ctx, path, atLeast)
		if !raced(err) || isContextErr(err) {
			return before, after, err
		}
	}
}

// raiseBase tries once. A session that has ended is another one at the next try.
func (c *Client) raiseBase(ctx context.Context, path string, atLeast fence.Token) (before, after fence.Token, err error) {
	s, err := c.Session(ctx)
	if err != nil {
		return 0, 0, err
	}
	if err := s.Barrier(ctx); err != nil { // a base that was raised before is to be seen
		return 0, 0, err
	}
	old, err := s.readBase(ctx, path)
	switch {
	case err != nil:
		return 0, 0, err
	case old.token >= atLeast:
		return old.token, old.token, nil
	case old.set:
		_, err = s.Set(ctx, path+baseSuffix, encodeBase(atLeast), old.version)
	default:
		err = s.MakePersistent(ctx, path+baseSuffix, encodeBase(atLeast))
	}
	return old.token, atLeast, err
}

// raced reports whether a write is worth another look at what there is.
func raced(err error) bool {
	for _, e := range []error{ErrBadVersion, ErrNodeExists, ErrNoNode, ErrOutcomeUnknown, ErrSessionExpired} {
		if errors.Is(err, e) && !errors.Is(err, ErrClosed) {
			return true
		}
	}
	return false
}

// TokenNow returns the token that a grant of a lock's or election's path would
// have if it were made now: every one that is made later has a greater one. A
// resource that remembers a greater one has it from an ensemble that is no more,
// or from another lock. See RaiseFenceBase.
//
// It commits a transaction that makes a znode beside the path and deletes it
// again.
func (c *Client) TokenNow(ctx context.Context, path string) (fence.Token, error) {
	if err := CheckDir(path); err != nil {
		return 0, err
	}
	for {
		t, err := c.tokenNow(ctx, path)
		if !raced(err) || isContextErr(err) {
			return t, err
		}
	}
}

func (c *Client) tokenNow(ctx context.Context, path string) (fence.Token, error) {
	s, err := c.Session(ctx)
	if err != nil {
		return 0, err
	}
	probe := path + baseSuffix + "-" + NewUUID()
	results, err := s.Multi(ctx, CreateOp(probe, nil, Persistent, nil), SetOp(probe, nil, -1), DeleteOp(probe, -1))
	if errors.Is(err, ErrNoNode) {
		if made := s.makeDir(ctx, parent(path)); made != nil {
			return 0, made
		}
	}
	if err != nil {
		return 0, err
	}
	b, err := s.readBase(ctx, path) // behind the transaction, and at least as new
	return b.token + fence.Token(results[1].Stat.Mzxid), err
}
