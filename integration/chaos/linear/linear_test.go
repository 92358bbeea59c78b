package linear_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/integration/chaos/linear"
	"github.com/zkrecipes/zkrecipes/internal/history"
)

const (
	applied = history.Applied
	refused = history.Refused
	unknown = history.Unknown
)

func write(token int64, value string, call, ret time.Duration, outcome history.Outcome) history.Operation {
	return history.Operation{Who: value, Kind: history.Write, Token: token, Value: value, Call: call, Return: ret, Outcome: outcome}
}

func install(token int64, call, ret time.Duration) history.Operation {
	return history.Operation{Who: "i", Kind: history.Install, Token: token, Call: call, Return: ret, Outcome: applied}
}

func unanswered(o history.Operation) history.Operation {
	o.Return, o.Outcome = 0, unknown
	return o
}

func read(value string, call, ret time.Duration) history.Operation {
	return history.Operation{Who: "r", Kind: history.Read, Value: value, Call: call, Return: ret, Outcome: applied}
}

func TestWhatIsLinearizable(t *testing.T) {
	for name, c := range map[string]struct {
		fence   linear.Fence
		ops     []history.Operation
		effects []history.Effect
		ok      bool
	}{
		"nothing":                              {ok: true},
		"read of nothing":                      {ops: []history.Operation{read("", 1, 2)}, ok: true},
		"read of what is written":              {ops: []history.Operation{write(1, "a", 1, 2, applied), read("a", 3, 4)}, ok: true},
		"read of what was written before":      {ops: []history.Operation{write(1, "a", 1, 2, applied), write(1, "b", 3, 4, applied), read("a", 5, 6)}},
		"read beside a write, old":             {ops: []history.Operation{write(1, "a", 1, 5, applied), read("", 2, 3)}, ok: true},
		"read beside a write, new then old":    {ops: []history.Operation{write(1, "a", 1, 9, applied), read("a", 2, 3), read("", 4, 5)}},
		"stale write applied":                  {ops: []history.Operation{write(2, "a", 1, 2, applied), write(1, "b", 3, 4, applied)}},
		"stale write refused":                  {ops: []history.Operation{write(2, "a", 1, 2, applied), write(1, "b", 3, 4, refused)}, ok: true},
		"current write refused":                {ops: []history.Operation{write(1, "a", 1, 2, applied), write(2, "b", 3, 4, refused)}},
		"current write refused by its znode":   {fence: linear.ByContender, ops: []history.Operation{write(1, "a", 1, 2, applied), write(2, "b", 3, 4, refused)}, ok: true},
		"stale write applied in spite of that": {fence: linear.ByContender, ops: []history.Operation{write(2, "a", 1, 2, applied), write(1, "b", 3, 4, applied)}},
		"stale behind an installed token":      {ops: []history.Operation{install(2, 1, 2), write(1, "b", 3, 4, applied)}},
		"unknown and applied, late":            {ops: []history.Operation{write(1, "a", 1, 0, unknown), read("", 5, 6), read("a", 7, 8)}, effects: []history.Effect{{Value: "a"}}, ok: true},
		"unknown and applied, never read":      {ops: []history.Operation{write(1, "a", 1, 0, unknown), read("", 5, 6)}, effects: []history.Effect{{Value: "a"}}, ok: true},
		"unknown and not applied, but read":    {ops: []history.Operation{write(1, "a", 1, 0, unknown), read("a", 5, 6)}},
		"unknown and applied behind a newer":   {ops: []history.Operation{write(2, "b", 1, 2, applied), write(1, "a", 3, 0, unknown), read("a", 5, 6)}, effects: []history.Effect{{Value: "b"}, {Value: "a"}}},
		"unknown installation, refused by it":  {ops: []history.Operation{unanswered(install(2, 1, 0)), write(1, "a", 3, 4, refused)}, ok: true},
		"unknown installation without effect":  {ops: []history.Operation{unanswered(install(2, 1, 0)), write(1, "a", 3, 4, applied)}, ok: true},
		"unknown installation, then refused":   {ops: []history.Operation{unanswered(install(2, 1, 0)), write(2, "a", 3, 4, refused)}},
		"unknown installation, both":           {ops: []history.Operation{unanswered(install(2, 1, 0)), write(1, "a", 3, 4, refused), write(1, "b", 5, 6, applied)}},
		"failed":                               {ops: []history.Operation{write(1, "a", 1, 2, history.Failed), read("", 3, 4)}, ok: true},
	} {
		err := linear.Check(c.fence, c.ops, c.effects, time.Minute)
		require.Equal(t, c.ok, err == nil, "%s: %v", name, err)
	}
}
