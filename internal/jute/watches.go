package jute

import "fmt"

// An EventType says what happened to a znode.
type EventType int32

const (
	EventNone            EventType = -1
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

func (t EventType) String() string {
	switch t {
	case EventNone:
		return "none"
	case EventCreated:
		return "created"
	case EventDeleted:
		return "deleted"
	case EventDataChanged:
		return "dataChanged"
	case EventChildrenChanged:
		return "childrenChanged"
	}
	return fmt.Sprintf("event(%d)", int32(t))
}

// StateSyncConnected is the state in every event that a server sends.
const StateSyncConnected int32 = 3

// A WatcherEvent tells a client of a change it watches for.
type WatcherEvent struct {
	Type  EventType
	State int32
	Path  string
}

func (r *WatcherEvent) Fields(c Coder) {
	c.Int32((*int32)(&r.Type))
	c.Int32(&r.State)
	c.String(&r.Path)
}

// SetWatchesRequest is the body of setWatches, with which a client that has
// reconnected asks for its watches again. Changes after RelativeZxid are
// reported at once.
type SetWatchesRequest struct {
	RelativeZxid int64
	Data         []string
	Exist        []string
	Child        []string
}

func (r *SetWatchesRequest) Fields(c Coder) {
	c.Int64(&r.RelativeZxid)
	stringVector(c, &r.Data)
	stringVector(c, &r.Exist)
	stringVector(c, &r.Child)
}

// SetWatches2Request is the body of setWatches2, which knows the persistent
// watches too.
type SetWatches2Request struct {
	SetWatchesRequest
	Persistent []string
	Recursive  []string
}

func (r *SetWatches2Request) Fields(c Coder) {
	r.SetWatchesRequest.Fields(c)
	stringVector(c, &r.Persistent)
	stringVector(c, &r.Recursive)
}

// The modes of addWatch.
const (
	WatchPersistent          int32 = 0
	WatchPersistentRecursive int32 = 1
)

// AddWatchRequest is the body of addWatch.
type AddWatchRequest struct {
	Path string
	Mode int32
}

func (r *AddWatchRequest) Fields(c Coder) {
	c.String(&r.Path)
	c.Int32(&r.Mode)
}

// The kinds of watches that checkWatches and removeWatches name.
const (
	WatcherChildren int32 = 1
	WatcherData     int32 = 2
	WatcherAny      int32 = 3
)

// WatchesRequest is the body of checkWatches and removeWatches.
type WatchesRequest struct {
	Path string
	Type int32
}

func (r *WatchesRequest) Fields(c Coder) {
	c.String(&r.Path)
	c.Int32(&r.Type)
}
