package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// Exit codes of zkr itself. They keep clear of those that commands use most,
// and follow sysexits.h and the shell where these have one that fits.
const (
	exitUsage       = 64
	exitNoServer    = 69
	exitFailed      = 70
	exitNotAcquired = 75
	exitNoLeader    = 79
	exitNoHolder    = 79
	exitLost        = 80
	exitNotRunnable = 126
	exitNotFound    = 127
	exitSignal      = 128
)

// exitCodes is the table that the help prints.
var exitCodes = []struct{ code, meaning string }{
	{"0-255", "lock, elect: what the command exited with, if nothing below happened"},
	{"64", "usage: a command, flag or argument that zkr does not take"},
	{"69", "no server was reached within --connect-timeout"},
	{"70", "anything else that failed, such as a missing permission, or a demo\nthat did not show what it should"},
	{"75", "lock, elect: not acquired or not elected: --wait is over, or somebody\nhas the lock and --try was given; break: the answer was no"},
	{"79", "leader: there is none; revoke, break: nobody holds, or no such contender"},
	{"80", "lock, elect --once: the lease was lost or about to be, so the command was\nstopped; also where the command then exited with 0"},
	{"81", "fence show: what stands at the resource is ahead of the ensemble"},
	{"82", "doctor: it has found a fault"},
	{"126", "lock, elect: the command cannot be run"},
	{"127", "lock, elect: the command was not found"},
	{"128+n", "lock, elect: the command died by signal n, or zkr did while it was waiting;\nthe others: zkr was ended by signal n"},
}

// usageError is a mistake of whoever wrote the command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// codedError is a failure with an exit code of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// exited is the end of a command that zkr ran, or of zkr by a signal. There is
// nothing to say about it.
type exited struct{ code int }

func (e *exited) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// bySignal is the end by a signal.
func bySignal(sig syscall.Signal) *exited { return &exited{exitSignal + int(sig)} }

// exitCode returns the code for what a command returned, and whether there is
// nothing to be said.
func exitCode(err error) (code int, silent bool) {
	var (
		ended *exited
		coded *codedError
		usage *usageError
	)
	switch {
	case err == nil:
		return 0, true
	case errors.As(err, &coded):
		return coded.code, false
	case errors.As(err, &usage):
		return exitUsage, false
	case errors.As(err, &ended):
		return ended.code, true
	case errors.Is(err, recipes.ErrNotConnected):
		return exitNoServer, false
	}
	return exitFailed, false
}

// notStarted is the error of a command that could not be started.
func notStarted(err error) error {
	code := exitNotRunnable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, syscall.ENOENT) {
		code = exitNotFound
	}
	return &codedError{code, err}
}

// explain says an error without the names of packages, which mean nothing on a
// command line, and with what came from the servers made harmless.
func explain(err error) string {
	msg := packages.Replace(err.Error())
	if errors.Is(err, recipes.ErrNotConnected) {
		// What comes before that is the end of some context.
		if _, why, ok := strings.Cut(msg, packages.Replace(recipes.ErrNotConnected.Error())+": "); ok {
			return plainLines(why)
		}
	}
	return plainLines(msg)
}

// What the library calls by the fields of its configurations are flags here.
var packages = strings.NewReplacer(
	"see RootCAs of the TLS configuration", "see --tls-ca",
	"see ServerName of the TLS configuration", "see --tls-server-name",
	"see Certificates of the TLS configuration", "see --tls-cert and --tls-key",
	"recipes: ", "", "lock: ", "", "election: ", "", "exec: ", "", "zktest: ", "")
