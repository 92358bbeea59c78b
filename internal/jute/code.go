package jute

import "fmt"

// A Code is the outcome of a request. All but OK are errors.
type Code int32

// The outcomes that a server can give, and their numbers on the wire.
const (
	OK                      Code = 0
	SystemError             Code = -1
	RuntimeInconsistency    Code = -2
	DataInconsistency       Code = -3
	ConnectionLoss          Code = -4
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	OperationTimeout        Code = -7
	BadArguments            Code = -8
	UnknownSession          Code = -12
	NewConfigNoQuorum       Code = -13
	ReconfigInProgress      Code = -14
	APIError                Code = -100
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidCallback         Code = -113
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	SessionMoved            Code = -118
	NotReadOnly             Code = -119
	EphemeralOnLocalSession Code = -120
	NoWatcher               Code = -121
	RequestTimeout          Code = -122
	ReconfigDisabled        Code = -123
	SessionClosedNeedsSASL  Code = -124
	QuotaExceeded           Code = -125
	Throttled               Code = -127
)

var codeNames = map[Code]string{
	OK: "ok", SystemError: "system error", RuntimeInconsistency: "runtime inconsistency",
	DataInconsistency: "data inconsistency", ConnectionLoss: "connection loss",
	MarshallingError: "marshalling error", Unimplemented: "unimplemented",
	OperationTimeout: "operation timeout", BadArguments: "bad arguments",
	UnknownSession: "unknown session", NewConfigNoQuorum: "no quorum of the new config",
	ReconfigInProgress: "reconfig in progress", APIError: "api error", NoNode: "no node",
	NoAuth: "no auth", BadVersion: "bad version", NoChildrenForEphemerals: "no children for ephemerals",
	NodeExists: "node exists", NotEmpty: "not empty", SessionExpired: "session expired",
	InvalidCallback: "invalid callback", InvalidACL: "invalid acl", AuthFailed: "auth failed",
	SessionMoved: "session moved", NotReadOnly: "not read-only",
	EphemeralOnLocalSession: "ephemeral on local session", NoWatcher: "no watcher",
	RequestTimeout: "request timeout", ReconfigDisabled: "reconfig disabled",
	SessionClosedNeedsSASL: "session closed, sasl required", QuotaExceeded: "quota exceeded",
	Throttled: "throttled",
}

func (c Code) String() string {
	if s, ok := codeNames[c]; ok {
		return s
	}
	return fmt.Sprintf("code(%d)", int32(c))
}

func (c Code) Error() string { return "zookeeper: " + c.String() }

// Err returns the code as an error, nil for OK.
func (c Code) Err() error {
	if c == OK {
		return nil
	}
	return c
}
