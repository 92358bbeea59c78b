//go:build unix

package main

import (
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/fence"
)

// store is a place where data lies that a lock protects. It looks at the token
// and writes in one step, so that nothing comes in between.
type store struct {
	mu     sync.Mutex
	newest fence.Token // the greatest that it has seen
	text   string
}

// write refuses what comes with an older token than one already seen.
func (s *store) write(token fence.Token, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token < s.newest {
		return fmt.Errorf("token %s is older than %s", token, s.newest)
	}
	s.newest, s.text = token, text
	return nil
}

func (s *store) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}
