package lock

import (
	"context"
	"errors"
	"strconv"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// agreement is a look at the stored limit at which it was ours.
type agreement struct {
	version int32 // of the znode that holds it
	permits int64 // transaction that made the permits' directory in it, 0 if that is not known
}

// errLimitChanged says that the znode with the limit is another one by now.
var errLimitChanged = errors.New("lock: the limit of the semaphore was changed meanwhile")

// agree makes sure that the stored limit is ours, and stores it where there is
// none. Each permit is then taken in a transaction that checks that it still is.
func (sem *Semaphore) agree(ctx context.Context) error {
	if sem.s.tacit || sem.agreement() != nil {
		return nil
	}
	for {
		s, err := sem.c.Session(ctx)
		if err != nil {
			return err
		}
		_, err = sem.agreeIn(ctx, s, 0)
		if !errors.Is(err, recipes.ErrSessionExpired) || errors.Is(err, recipes.ErrClosed) {
			return err
		}
	}
}

// stillAgreed is agree for one who stands in the queue in session s, and has seen
// the permits' directory that the given transaction made, 0 if there is none.
//
// The check of a version does not tell a znode from one that was made in its
// place, by others with another limit. While somebody stands in the queue the
// znode cannot go; and while the directory in it is the same it has not gone.
//
// It returns what is to be checked along with the taking of permits.
func (sem *Semaphore) stillAgreed(ctx context.Context, s *recipes.Session, permits int64) ([]recipes.Op, error) {
	if sem.s.tacit {
		return nil, nil
	}
	a := sem.agreement()
	if a == nil || a.permits != permits || permits == 0 {
		var err error
		if a, err = sem.agreeIn(ctx, s, permits); err != nil {
			return nil, err
		}
	}
	return []recipes.Op{recipes.CheckOp(sem.path, a.version)}, nil
}

func (sem *Semaphore) agreeIn(ctx context.Context, s *recipes.Session, permits int64) (*agreement, error) {
	for {
		a, err := sem.tryAgree(ctx, s, permits)
		if a != nil || err != nil && !settles(err) {
			return a, err
		}
	}
}

// tryAgree looks at the stored limit, or else stores it.
func (sem *Semaphore) tryAgree(ctx context.Context, s *recipes.Session, permits int64) (*agreement, error) {
	ours := strconv.Itoa(sem.limit)
	data, stat, err := s.Get(ctx, sem.path)
	switch {
	case errors.Is(err, recipes.ErrNoNode):
		return nil, s.MakePersistent(ctx, sem.path, []byte(ours))
	case err != nil:
		return nil, err
	case string(data) == ours:
		a := &agreement{stat.Version, permits}
		sem.agreedOn(a)
		return a, nil
	case len(data) > 0:
		return nil, &LimitError{Path: sem.path, Ours: sem.limit, Stored: string(data)}
	}
	_, err = s.Set(ctx, sem.path, []byte(ours), stat.Version)
	return nil, err
}

// settles reports whether another look tells what to do.
func settles(err error) bool {
	for _, e := range []error{recipes.ErrNodeExists, recipes.ErrBadVersion, recipes.ErrNoNode, recipes.ErrOutcomeUnknown} {
		if errors.Is(err, e) {
			return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, recipes.ErrClosed)
		}
	}
	return false
}

func (sem *Semaphore) agreement() *agreement {
	sem.mu.Lock()
	defer sem.mu.Unlock()
	return sem.agreed
}

func (sem *Semaphore) agreedOn(a *agreement) {
	sem.mu.Lock()
	defer sem.mu.Unlock()
	sem.agreed = a
}
