package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
	"github.com/zkrecipes/zkrecipes/internal/history"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// register is a value that is written under a lock, each with the holder's token.
type register interface {
	read(context.Context) (string, error)
	write(ctx context.Context, l *recipes.Lease, value string) error
	// late is a write that was under way when the lease ended.
	late(ctx context.Context, l *recipes.Lease, value string) error
}

// writer takes turns at one register.
type writer struct {
	*worker
	register
	path string
	r    *rand.Rand
}

// installer is a register that learns of a token before its first write.
type installer interface {
	install(context.Context, *recipes.Lease) error
}

// turns returns a role that writes to a register, under a lock by its side.
func (w *worker) turns(path string, reg register) (role, error) {
	m, err := lock.NewMutex(w.client, path+"/lock")
	return func(ctx context.Context, r *rand.Rand) {
		writer{worker: w, register: reg, path: path, r: r}.turn(ctx, m)
	}, err
}

// turn looks at the lease before nothing: it stands for who has looked, and is
// paused before it writes.
func (w writer) turn(ctx context.Context, m *lock.Mutex) {
	if w.r.IntN(4) == 0 { // whoever it is may read at any time
		w.look(ctx)
	}
	a, wait, cancel := w.ask(ctx, w.r, claim{path: m.Path(), dirs: []string{m.Path()}, mode: history.Exclusive})
	lease, err := m.Lock(wait)
	cancel()
	if err != nil {
		a.refused(ctx, err)
		return
	}
	h := a.begin(lease)
	token := int64(lease.Token())
	if r, ok := w.register.(installer); ok {
		w.operate(history.Install, token, func(ctx context.Context, _ string) (string, error) { return "", r.install(ctx, lease) })
	}
	w.look(ctx)
	write := func(ctx context.Context, v string) (string, error) { return v, w.write(ctx, lease, v) }
	late := func(ctx context.Context, v string) (string, error) { return v, w.late(ctx, lease, v) }
	w.operate(history.Write, token, write)
	h.work(ctx)
	if lease.Err() != nil {
		w.operate(history.Write, token, late)
	} else {
		w.operate(history.Write, token, write)
	}
	h.release()
	if w.r.IntN(8) == 0 {
		pause(ctx, time.Duration(w.r.Int64N(int64(w.timeout/4))))
		w.operate(history.Write, token, late)
	}
}

func (w writer) look(context.Context) {
	w.operate(history.Read, 0, func(ctx context.Context, _ string) (string, error) { return w.read(ctx) })
}

// operate writes down one operation before and after it.
func (w writer) operate(kind history.Kind, token int64, do func(ctx context.Context, value string) (string, error)) {
	id := w.id()
	l := record.Line{Event: record.Called, ID: id, Path: w.path, Kind: kind, Token: token}
	if kind == history.Write {
		l.Value = id
	}
	w.print(l)
	ctx, cancel := context.WithTimeout(context.Background(), 2*w.timeout)
	defer cancel()
	value, err := do(ctx, id)
	l = record.Line{Event: record.Answered, ID: id, Value: value, Outcome: w.outcome(kind, err)}
	if err != nil {
		l.Err = err.Error()
	}
	w.print(l)
}

// outcome says what an error says about a write. One that ended with its context
// is taken for unknown; what the library says otherwise is taken at its word.
func (w writer) outcome(kind history.Kind, err error) history.Outcome {
	switch {
	case err == nil:
		return history.Applied
	case errors.Is(err, fence.ErrStale), errors.Is(err, recipes.ErrLost), errors.Is(err, recipes.ErrNoNode):
		return history.Refused
	case errors.Is(err, recipes.ErrOutcomeUnknown), errors.Is(err, fence.ErrOutcomeUnknown),
		errors.Is(err, context.DeadlineExceeded), kind == history.Read:
		return history.Unknown
	default:
		return history.Failed
	}
}

// zkRegister is a znode, with a log by its side of what was written in which
// order: a child for each write, which the storm takes away again.
type zkRegister struct {
	*worker
	path string
}

func (w *worker) zkRegister() (role, error) {
	path := w.root + "/zkregister"
	return w.turns(path, zkRegister{w, path})
}

// read reads behind a write barrier: a plain read may lag behind.
func (z zkRegister) read(ctx context.Context) (string, error) {
	s, err := z.client.Session(ctx)
	if err != nil {
		return "", err
	}
	if err := s.Barrier(ctx); err != nil {
		return "", err
	}
	data, _, err := s.Get(ctx, z.path+"/value")
	return string(data), err
}

func (z zkRegister) ops(l *recipes.Lease, value string) []recipes.Op {
	name := fmt.Sprintf("%s/log/%d_%s_", z.path, l.Token(), value)
	return []recipes.Op{
		recipes.SetOp(z.path+"/value", []byte(value), -1),
		recipes.CreateOp(name, nil, recipes.PersistentSequential, nil),
	}
}

func (z zkRegister) write(ctx context.Context, l *recipes.Lease, value string) error {
	_, err := l.Txn(ctx, z.ops(l, value)...)
	return err
}

func (z zkRegister) late(ctx context.Context, l *recipes.Lease, value string) error {
	ops := append([]recipes.Op{recipes.CheckOp(l.Node(), -1)}, z.ops(l, value)...)
	_, err := l.Session().Multi(ctx, ops...)
	return err
}

// sqlRegister is the last row of a table, guarded by sqlfence.
type sqlRegister struct {
	db     *sql.DB
	fences *sqlfence.Fences
}

// sqlResource is the resource's name in the table of fences.
const sqlResource = "register"

func (w *worker) sqlRegister() (role, error) {
	db, err := sql.Open("pgx", w.source)
	if err != nil {
		return nil, err
	}
	fences, err := sqlfence.New(sqlfence.PostgreSQL)
	if err != nil {
		return nil, err
	}
	return w.turns(w.root+"/sqlregister", sqlRegister{db, fences})
}

func (s sqlRegister) install(ctx context.Context, l *recipes.Lease) error {
	return s.fences.Install(ctx, s.db, sqlResource, l.Token())
}

func (s sqlRegister) read(ctx context.Context) (value string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT value FROM history ORDER BY id DESC LIMIT 1").Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return value, err
}

func (s sqlRegister) write(ctx context.Context, l *recipes.Lease, value string) error {
	stamp := fence.Stamp{Token: l.Token()}
	return s.fences.Tx(ctx, s.db, sqlResource, stamp, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO history (token, value) VALUES ($1, $2)", int64(stamp.Token), value)
		return err
	})
}

func (s sqlRegister) late(ctx context.Context, l *recipes.Lease, value string) error {
	return s.write(ctx, l, value)
}
