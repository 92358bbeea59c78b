package recipes

import (
	"context"
	"fmt"
	"log/slog"
)

// shownID is the id of a session in a log, as the servers' own logs show it.
type shownID int64

// LogValue is slog.LogValuer's: what nobody reads is not made into text.
func (id shownID) LogValue() slog.Value { return slog.StringValue(fmt.Sprintf("%#x", uint64(id))) }

// logState logs a change of a session's state, louder where it is a trouble.
func (s *Session) logState(state State, cause error) {
	level := slog.LevelInfo
	if state == Suspended || state == Lost {
		level = slog.LevelWarn
	}
	args := []any{"session", shownID(s.ID()), "state", state.String()}
	if server := s.Server(); server != "" {
		args = append(args, "server", server)
	}
	if cause != nil {
		args = append(args, "cause", cause)
	}
	s.cfg.logger.Log(context.Background(), level, "zookeeper session", args...)
}

// log says something of a lease, and further attributes. Nothing is made ready for a
// log that nobody keeps.
func (l *Lease) log(level slog.Level, msg string, further ...any) {
	logger, ctx := l.s.cfg.logger, context.Background()
	if !logger.Enabled(ctx, level) {
		return
	}
	args := append([]any{"path", l.path, "token", l.Token(), "session", shownID(l.s.ID())}, further...)
	logger.Log(ctx, level, msg, args...)
}
