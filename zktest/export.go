package zktest

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// The protocol's own types, as hooks and dumps speak of them.
type (
	Op        = jute.Op
	Code      = jute.Code
	EventType = jute.EventType
	Stat      = jute.Stat
	ACL       = jute.ACL
)

// The operations that a Match may name.
const (
	OpCreate               = jute.OpCreate
	OpCreate2              = jute.OpCreate2
	OpCreateContainer      = jute.OpCreateContainer
	OpCreateTTL            = jute.OpCreateTTL
	OpDelete               = jute.OpDelete
	OpExists               = jute.OpExists
	OpGetData              = jute.OpGetData
	OpSetData              = jute.OpSetData
	OpGetACL               = jute.OpGetACL
	OpSetACL               = jute.OpSetACL
	OpGetChildren          = jute.OpGetChildren
	OpGetChildren2         = jute.OpGetChildren2
	OpGetAllChildrenNumber = jute.OpGetAllChildrenNumber
	OpGetEphemerals        = jute.OpGetEphemerals
	OpSync                 = jute.OpSync
	OpPing                 = jute.OpPing
	OpCheck                = jute.OpCheck
	OpMulti                = jute.OpMulti
	OpMultiRead            = jute.OpMultiRead
	OpSetWatches           = jute.OpSetWatches
	OpSetWatches2          = jute.OpSetWatches2
	OpAddWatch             = jute.OpAddWatch
	OpCheckWatches         = jute.OpCheckWatches
	OpRemoveWatches        = jute.OpRemoveWatches
	OpWhoAmI               = jute.OpWhoAmI
	OpAuth                 = jute.OpAuth
	OpCreateSession        = jute.OpCreateSession
	OpCloseSession         = jute.OpCloseSession
)

// The error codes that a hook may answer with. Any other number does too.
const (
	SystemError             = jute.SystemError
	RuntimeInconsistency    = jute.RuntimeInconsistency
	ConnectionLoss          = jute.ConnectionLoss
	MarshallingError        = jute.MarshallingError
	Unimplemented           = jute.Unimplemented
	OperationTimeout        = jute.OperationTimeout
	BadArguments            = jute.BadArguments
	NoNode                  = jute.NoNode
	NoAuth                  = jute.NoAuth
	BadVersion              = jute.BadVersion
	NoChildrenForEphemerals = jute.NoChildrenForEphemerals
	NodeExists              = jute.NodeExists
	NotEmpty                = jute.NotEmpty
	SessionExpired          = jute.SessionExpired
	InvalidACL              = jute.InvalidACL
	AuthFailed              = jute.AuthFailed
	SessionMoved            = jute.SessionMoved
	NotReadOnly             = jute.NotReadOnly
	NoWatcher               = jute.NoWatcher
	RequestTimeout          = jute.RequestTimeout
	QuotaExceeded           = jute.QuotaExceeded
	Throttled               = jute.Throttled
)

// The events that an EventMatch may name.
const (
	EventCreated         = jute.EventCreated
	EventDeleted         = jute.EventDeleted
	EventDataChanged     = jute.EventDataChanged
	EventChildrenChanged = jute.EventChildrenChanged
)

var errUnplugged = errors.New("cable refuses")
