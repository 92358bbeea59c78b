package jute_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/zkrecipes/zkrecipes/internal/jute"
)

var (
	aStat   = Stat{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	aCreate = CreateRequest{"/a", []byte("x"), OpenACL(), ModeEphemeral}
)

// records holds one filled value of every record, so that a field forgotten in
// Fields shows as a difference after a round trip.
func records() []Record {
	yes := ReadOnly(true)
	return []Record{
		&RequestHeader{7, OpCreate},
		&ReplyHeader{7, 1 << 40, NoNode},
		&ConnectRequest{0, 5, 4000, 6, []byte("secret")},
		&ConnectResponse{0, 4000, 6, []byte("secret")},
		&yes,
		&PathRequest{"/p"},
		&PathWatchRequest{"/p", true},
		&PathVersionRequest{"/p", -1},
		&aCreate,
		&CreateTTLRequest{aCreate, 1000},
		&SetDataRequest{"/p", []byte{}, 3},
		&SetACLRequest{"/p", OpenACL(), 2},
		&AuthRequest{0, "digest", []byte("u:p")},
		&Empty{},
		&WatcherEvent{EventDeleted, StateSyncConnected, "/p"},
		&SetWatchesRequest{9, []string{"/a"}, []string{"/b", "/c"}, []string{}},
		&SetWatches2Request{SetWatchesRequest{9, nil, nil, nil}, []string{"/d"}, []string{"/e"}},
		&AddWatchRequest{"/p", WatchPersistentRecursive},
		&WatchesRequest{"/p", WatcherAny},
		&PathReply{"/p"},
		&StatReply{aStat},
		&CreateReply{"/p", aStat},
		&DataReply{nil, aStat},
		&ListReply{[]string{"a", "b"}},
		&ChildrenReply{[]string{"a"}, aStat},
		&ACLReply{OpenACL(), aStat},
		&NumberReply{12},
		&WhoAmIReply{[]ClientInfo{{"ip", "127.0.0.1"}}},
		&MultiRequest{[]MultiOp{
			{OpCreate, &aCreate},
			{OpCreateTTL, &CreateTTLRequest{aCreate, 1}},
			{OpDelete, &PathVersionRequest{"/p", 1}},
			{OpSetData, &SetDataRequest{"/p", nil, 1}},
			{OpGetData, &PathWatchRequest{"/p", false}},
		}},
		&MultiReply{[]MultiResult{
			{Op: OpCreate, Body: &PathReply{"/p"}},
			{Op: OpCreate2, Body: &CreateReply{"/p", aStat}},
			{Op: OpSetData, Body: &StatReply{aStat}},
			{Op: OpCheck},
			{Op: OpGetChildren, Body: &ListReply{nil}},
			{Op: OpError, Err: NoNode},
		}},
	}
}

func blank(r Record) Record { return reflect.New(reflect.TypeOf(r).Elem()).Interface().(Record) }

func TestEveryRecordSurvivesARoundTrip(t *testing.T) {
	for _, r := range records() {
		got := blank(r)
		rest, err := Unmarshal(append(Marshal(r), "rest"...), got)
		require.NoError(t, err, "%T", r)
		require.Equal(t, r, got)
		require.Equal(t, "rest", string(rest))
	}
}

func TestEveryTruncatedRecordIsRefused(t *testing.T) {
	for _, r := range records() {
		b := Marshal(r)
		for n := range b {
			_, err := Unmarshal(b[:n], blank(r))
			require.Error(t, err, "%T cut to %d of %d bytes", r, n, len(b))
		}
	}
}

func TestBytesOnTheWire(t *testing.T) {
	got := AppendFrame(nil, &RequestHeader{1, OpGetData}, &PathWatchRequest{"/a", true})
	require.Equal(t, []byte("\x00\x00\x00\x0f\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x02/a\x01"), got)
}

func TestNilAndEmptyBuffersStayApart(t *testing.T) {
	for _, data := range [][]byte{nil, {}} {
		var got SetDataRequest
		_, err := Unmarshal(Marshal(&SetDataRequest{Data: data}), &got)
		require.NoError(t, err)
		require.Equal(t, data == nil, got.Data == nil)
	}
}

func TestMalformedTextIsReplacedAsJavaDoes(t *testing.T) {
	var got PathRequest
	_, err := Unmarshal(Marshal(&PathRequest{"/a\xff"}), &got)
	require.NoError(t, err)
	require.Equal(t, "/a\uFFFD", got.Path)
}

func TestLengthsBeyondTheInputAllocateNothing(t *testing.T) {
	huge := []byte("\x7f\xff\xff\xffabc")
	for _, r := range []Record{new(PathRequest), new(ListReply), new(WhoAmIReply), new(ConnectRequest)} {
		b := huge
		if _, ok := r.(*ConnectRequest); ok {
			b = append(make([]byte, 24), huge...)
		}
		require.Less(t, allocated(func() {
			_, err := Unmarshal(b, r)
			require.ErrorIs(t, err, ErrLength)
		}), uint64(1<<20), "%T", r)
	}
}

func TestLengthsBelowZero(t *testing.T) {
	length := func(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	for _, n := range []int32{-1, -2, math.MinInt32} {
		_, err := Unmarshal(length(n), new(PathRequest))
		require.ErrorIs(t, err, ErrLength, "a string is never null")
	}
	_, err := Unmarshal(append(make([]byte, 24), length(-2)...), new(ConnectRequest))
	require.ErrorIs(t, err, ErrLength, "a buffer may be, by -1")
	var list ListReply
	_, err = Unmarshal(length(-1), &list)
	require.NoError(t, err)
	require.Nil(t, list.Names)
	_, err = Unmarshal(length(-2), &list)
	require.NoError(t, err)
	require.Equal(t, []string{}, list.Names)
}

func TestFrameMemoryGrowsWithWhatArrives(t *testing.T) {
	in := "\x3f\xff\xff\xff" + "short"
	require.Less(t, allocated(func() {
		_, err := ReadFrame(bytes.NewReader([]byte(in)), 1<<30)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}), uint64(1<<20))
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestFramesBeyondTheLimitAreRefused(t *testing.T) {
	for _, in := range []string{"\x00\x00\x00\x05hello", "\xff\xff\xff\xffhello", "\x80\x00\x00\x00"} {
		_, err := ReadFrame(bytes.NewReader([]byte(in)), 4)
		require.ErrorIs(t, err, ErrLength)
	}
	b, err := ReadFrame(bytes.NewReader([]byte("\x00\x00\x00\x05hello")), 5)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
}

func TestEndOfInputIsCleanOnlyBetweenFrames(t *testing.T) {
	_, err := ReadFrame(bytes.NewReader(nil), 9)
	require.Equal(t, io.EOF, err)
	for _, in := range []string{"\x00", "\x00\x00\x00\x05", "\x00\x00\x00\x05hell"} {
		_, err := ReadFrame(bytes.NewReader([]byte(in)), 9)
		require.Equal(t, io.ErrUnexpectedEOF, err)
	}
}

func TestMultiWithAnImpossibleOperationIsRefused(t *testing.T) {
	b := Marshal(&RequestHeader{int32(OpSync), 0})
	_, err := Unmarshal(append(b, 0, 0, 0, 0), new(MultiRequest))
	require.ErrorIs(t, err, ErrOp)
}

func TestCodesAreErrors(t *testing.T) {
	require.NoError(t, OK.Err())
	require.True(t, errors.Is(NoNode.Err(), NoNode))
	require.Equal(t, "zookeeper: no node", NoNode.Error())
	require.Equal(t, "code(-999)", Code(-999).String())
}
