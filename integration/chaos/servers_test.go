package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

// settleTimeout bounds a server's way back on a busy machine.
const settleTimeout = 90 * time.Second

// serverFaults hit the ensemble, one at a time: the next one strikes when all
// three servers serve again and follow one leader.
func serverFaults(s *storm) *lane {
	return &lane{storm: s, name: "servers", pause: T, settled: s.inSync, kinds: []kind{
		{"server killed", func(l *lane) (string, time.Duration, func() error, error) {
			victim := l.server()
			return victim.String(), l.between(T/4, 2*T), func() error { return l.launch(victim) }, victim.Kill()
		}},
		{"server frozen", func(l *lane) (string, time.Duration, func() error, error) {
			return l.frozen(l.between(T/4, 2*T), l.server())
		}},
		{"server wiped", func(l *lane) (string, time.Duration, func() error, error) {
			victim := l.server()
			return victim.String(), l.between(0, T/2), func() error { return l.launch(victim) }, victim.Wipe()
		}},
		{"rolling restart", func(l *lane) (string, time.Duration, func() error, error) {
			return "all servers", 0, l.rollingRestart, nil
		}},
		{"no quorum", func(l *lane) (string, time.Duration, func() error, error) {
			i := l.r.IntN(3)
			return l.frozen(l.between(T*5/4, T*9/4), l.ens.Servers[i], l.ens.Servers[(i+1)%3])
		}},
		{"follower cut off", func(l *lane) (string, time.Duration, func() error, error) {
			return l.isolate(l.pick(zkserver.Follower))
		}},
		{"leader cut off", func(l *lane) (string, time.Duration, func() error, error) {
			return l.isolate(l.pick(zkserver.Leader))
		}},
		{"link lost", func(l *lane) (string, time.Duration, func() error, error) {
			a, b := l.link()
			l.ens.Link(a, b).Blackhole()
			l.ens.Link(b, a).Blackhole()
			return fmt.Sprintf("%v – %v", a, b), l.between(T/4, 3*T), l.linksPass, nil
		}},
		{"one direction lost", func(l *lane) (string, time.Duration, func() error, error) {
			a, b := l.link()
			l.ens.Link(a, b).Blackhole()
			return fmt.Sprintf("%v → %v", a, b), l.between(T/4, 3*T), l.linksPass, nil
		}},
		{"one direction stalled", func(l *lane) (string, time.Duration, func() error, error) {
			a, b := l.link()
			l.ens.Link(a, b).Stall()
			return fmt.Sprintf("%v → %v", a, b), l.between(T/4, 2*T), l.linksPass, nil
		}},
		{"link slow", func(l *lane) (string, time.Duration, func() error, error) {
			a, b := l.link()
			d := l.between(20*time.Millisecond, T/8)
			l.ens.Link(a, b).Delay(d)
			l.ens.Link(b, a).Delay(d)
			return fmt.Sprintf("%v – %v by %v", a, b, d.Round(time.Millisecond)), l.between(T/2, 2*T), l.linksPass, nil
		}},
		{"packets lost", func(l *lane) (string, time.Duration, func() error, error) {
			return l.packetsLost(l.server(), 0.1+0.3*l.r.Float64())
		}},
		{"link reset", func(l *lane) (string, time.Duration, func() error, error) {
			a, b := l.link()
			l.ens.CutLinks(a, b)
			return fmt.Sprintf("%v – %v", a, b), 0, nothing, nil
		}},
	}}
}

// frozen freezes servers. A container engine cannot always do that at once on a
// busy machine; then nothing was struck.
func (l *lane) frozen(lasts time.Duration, victims ...*zkserver.Server) (string, time.Duration, func() error, error) {
	var names []string
	for i, v := range victims {
		if err := v.Freeze(); err != nil {
			l.t.Logf("not frozen: %v", err)
			for _, v := range victims[:i+1] {
				_ = v.Thaw() // the one that failed may run on; whether it serves, inSync finds out
			}
			return "", 0, nil, nil
		}
		names = append(names, v.String())
	}
	return strings.Join(names, " and "), lasts, func() error {
		var errs []error
		for _, v := range victims {
			errs = append(errs, v.Thaw())
		}
		return errors.Join(errs...)
	}, nil
}

// packetsLost drops a share of a server's packets, where the kernel offers it.
func (l *lane) packetsLost(victim *zkserver.Server, share float64) (string, time.Duration, func() error, error) {
	restore, err := victim.LosePackets(context.Background(), share)
	if errors.Is(err, zkserver.ErrNoPacketLoss) {
		l.t.Log(err)
		return "", 0, nil, nil
	}
	return fmt.Sprintf("%v, %.0f%%", victim, 100*share), l.between(T/2, 2*T), restore, err
}

func (l *lane) server() *zkserver.Server { return l.ens.Servers[l.r.IntN(len(l.ens.Servers))] }

// pick returns a server in that mode, or any if there is none just now.
func (l *lane) pick(mode zkserver.Mode) *zkserver.Server {
	for _, i := range l.r.Perm(len(l.ens.Servers)) {
		if m, _ := l.ens.Servers[i].Mode(context.Background()); m == mode {
			return l.ens.Servers[i]
		}
	}
	return l.server()
}

func (l *lane) link() (a, b *zkserver.Server) {
	order := l.r.Perm(len(l.ens.Servers))
	return l.ens.Servers[order[0]], l.ens.Servers[order[1]]
}

func (l *lane) isolate(victim *zkserver.Server) (string, time.Duration, func() error, error) {
	l.ens.Isolate(victim)
	return victim.String(), l.between(T, 3*T), l.linksPass, nil
}

// linksPass heals what is between the servers, and no client's connection.
func (s *storm) linksPass() error {
	for _, a := range s.ens.Servers {
		for _, b := range s.ens.Servers {
			if a != b {
				s.ens.Link(a, b).Pass()
			}
		}
	}
	return nil
}

func (s *storm) launch(victim *zkserver.Server) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), settleTimeout, errLate)
	defer cancel()
	return victim.Launch(ctx)
}

func (s *storm) rollingRestart() error {
	for _, server := range s.ens.Servers {
		if err := server.Kill(); err != nil {
			return err
		}
		if err := s.launch(server); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), settleTimeout, errLate)
		err := s.inSync(ctx)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// inSync waits until two servers follow one leader: one that follows has the
// leader's data.
func (s *storm) inSync(ctx context.Context) error {
	for {
		if err := s.ens.AwaitServing(ctx); err != nil {
			return err
		}
		if _, err := s.ens.Leader(ctx); err != nil {
			return err
		}
		if len(s.ens.Followers(ctx)) == len(s.ens.Servers)-1 {
			return nil
		}
		sleep(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("not in sync: %w", context.Cause(ctx))
		}
	}
}
