//go:build !unix

package main

import (
	"context"
	"fmt"
	"runtime"
)

// Commands under a lease need process groups, with which zkr is sure that all of
// them is dead before somebody else begins. Where there are none these commands
// say so, and the others work.

func lockCommand() command   { return refused("lock", "run a command while holding a lock") }
func electCommand() command  { return refused("elect", "run a command while leading") }
func demoCommand() command   { return refused("demo", "show what a fencing token is good for") }
func guardCommand() command  { return hidden(refused("guard", "guard a process group")) }
func workerCommand() command { return hidden(refused("worker", "take part in the demo")) }

func hidden(c command) command {
	c.hidden = true
	return c
}

func refused(name, short string) command {
	return command{
		name:  name,
		short: short + " (on Unix only)",
		setup: func(*flags) runner {
			return func(context.Context, []string) error {
				return fmt.Errorf("zkr %s needs the process groups of Unix, which %s does not have", name, runtime.GOOS)
			}
		},
	}
}
