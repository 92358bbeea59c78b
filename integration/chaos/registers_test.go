package chaos_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	"github.com/zkrecipes/zkrecipes/integration/chaos/internal/record"
	"github.com/zkrecipes/zkrecipes/integration/chaos/linear"
	"github.com/zkrecipes/zkrecipes/internal/history"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// searchPatience bounds the search for an order of a register's operations; it
// takes a second or two.
const searchPatience = 5 * time.Minute

// notLinear is the rule that package linear stands for.
const notLinear = "linearizable"

// registers are the guarded resources, and how they refuse.
var registers = map[string]linear.Fence{"/zkregister": linear.ByContender, "/sqlregister": linear.ByToken}

func (s *storm) prepareRegisters() {
	ctx := bounded(s.t, startTimeout)
	session, err := s.client.Session(ctx)
	require.NoError(s.t, err)
	for _, path := range []string{"", "/zkregister", "/zkregister/value", "/zkregister/log"} {
		require.NoError(s.t, session.MakePersistent(ctx, s.root+path, nil))
	}
	s.log = &registerLog{client: s.client, recorder: s.recorder, resource: s.root + "/zkregister"}

	fences, err := sqlfence.New(sqlfence.PostgreSQL)
	require.NoError(s.t, err)
	require.NoError(s.t, fences.Create(ctx, s.db))
	_, err = s.db.ExecContext(ctx, "CREATE TABLE history (id BIGSERIAL PRIMARY KEY, token BIGINT NOT NULL, value TEXT NOT NULL)")
	require.NoError(s.t, err)
}

// readSQL records what the database has applied. Each write has locked the row
// of the fence, so the ids are in the order of the commits.
func (s *storm) readSQL() {
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT token, value FROM history ORDER BY id")
	require.NoError(s.t, err)
	defer rows.Close()
	for rows.Next() {
		e := history.Effect{Resource: s.root + "/sqlregister"}
		require.NoError(s.t, rows.Scan(&e.Token, &e.Value))
		s.recorder.Applied(e)
	}
	require.NoError(s.t, rows.Err())
}

// judgeRegisters looks for an order in which everything can have happened.
func (s *storm) judgeRegisters(h history.History) (found []history.Violation) {
	for name, fence := range registers {
		var ops []history.Operation
		var effects []history.Effect
		for _, o := range h.Ops {
			if o.Resource == s.root+name {
				ops = append(ops, o)
			}
		}
		for _, e := range h.Effects {
			if e.Resource == s.root+name {
				effects = append(effects, e)
			}
		}
		if err := linear.Check(fence, ops, effects, searchPatience); err != nil {
			found = append(found, history.Violation{Rule: notLinear, Path: name, Text: err.Error()})
		}
	}
	return found
}

// registerLog reads the log beside the register in ZooKeeper, in which each
// write leaves a child, numbered in the order of the commits.
type registerLog struct {
	client   *recipes.Client
	recorder *record.Recorder
	resource string
	last     int // number read, or -1
	begun    bool
}

type entry struct {
	name   string
	number int
	effect history.Effect
}

// follow takes the children away as they come, so that they do not get too many
// for one listing.
func (l *registerLog) follow(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, time.Second)
		l.read(ctx)
	}
}

// read records what is new. A listing shows what was committed up to some
// instant, so that nothing below a number that was seen comes later.
func (l *registerLog) read(ctx context.Context) {
	session, err := l.client.Session(ctx)
	if err != nil {
		return
	}
	if err := session.Barrier(ctx); err != nil {
		return
	}
	names, _, err := session.Children(ctx, l.resource+"/log")
	if err != nil {
		return
	}
	var all []entry
	for _, name := range names {
		all = append(all, l.parse(name))
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	for _, e := range all {
		if !l.begun || e.number > l.last {
			l.begun, l.last = true, e.number
			l.recorder.Applied(e.effect)
		}
		_ = session.Delete(ctx, l.resource+"/log/"+e.name, -1) // or the next time
	}
}

func (l *registerLog) parse(name string) entry {
	parts := strings.Split(name, "_") // as the worker makes it
	token, errToken := strconv.ParseInt(parts[0], 10, 64)
	number, errNumber := strconv.Atoi(parts[2])
	if errToken != nil || errNumber != nil {
		panic("not a child of the log: " + name)
	}
	return entry{name, number, history.Effect{Resource: l.resource, Token: token, Value: parts[1]}}
}
