package recipes

import "time"

// longestSleep is how long the keeper's timer may run. One that runs for long
// shows a pause only where that is longer than what was left of it.
func (s *Session) longestSleep() time.Duration {
	if s.cfg.trace.TimerFired == nil {
		return time.Hour
	}
	return s.Timeout() / 32
}

// traceTimer says how late the keeper is, if its time has come. After a pause
// other things may wake it before the timer does, which is then due all the same.
func (s *Session) traceTimer(due time.Duration) {
	fn := s.cfg.trace.TimerFired
	if fn == nil {
		return
	}
	if late := s.now() - due; late >= 0 {
		fn(TimerEvent{Session: s.ID(), Late: late})
	}
}
