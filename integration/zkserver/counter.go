package zkserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
)

// SetCreateCounters has the server find znodes with other counters of their
// children than it gave them, the numbers that the next sequential ones get: by
// a change of its snapshots, while it is down. No client could bring a counter
// to the end of its range in a lifetime.
func (s *Server) SetCreateCounters(ctx context.Context, counters map[string]int32) error {
	// It writes a snapshot of all that its log holds when it starts.
	if err := errors.Join(s.Restart(ctx), s.Kill()); err != nil {
		return err
	}
	snapshots, err := filepath.Glob(filepath.Join(s.DataDir(), "version-2", "snapshot.*"))
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	for _, name := range snapshots {
		if err := patch(name, counters, changed); err != nil {
			return err
		}
	}
	if len(changed) != len(counters) {
		return fmt.Errorf("zkserver: %v: of %v the snapshots of %s hold %v only", s, counters, s.DataDir(), changed)
	}
	if err := s.Launch(ctx); err != nil {
		return err
	}
	return s.AwaitServing(ctx)
}

// patch changes a snapshot and notes the paths that it holds. A znode is there
// as its path, its data, the number of its ACL and its Stat; checksums of all
// that stands before them seal the file.
func patch(file string, counters map[string]int32, changed map[string]bool) error {
	snapshot, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var seals []int
	for i := range len(snapshot) - 12 {
		if bytes.Equal(snapshot[i+8:i+13], sealName) && sum(snapshot[:i]) == binary.BigEndian.Uint64(snapshot[i:]) {
			seals = append(seals, i)
		}
	}
	if len(seals) == 0 {
		return fmt.Errorf("zkserver: %s has another form than is known here", file)
	}
	for path, counter := range counters {
		key := binary.BigEndian.AppendUint32(nil, uint32(len(path)))
		at := bytes.Index(snapshot, append(key, path...))
		if at < 0 {
			continue
		}
		changed[path] = true
		node := snapshot[at+4+len(path):]
		size := max(0, int(int32(binary.BigEndian.Uint32(node)))) // of the data
		const (
			acl     = 8
			ids     = 4 * 8 // czxid, mzxid, ctime, mtime
			version = 4
		)
		binary.BigEndian.PutUint32(node[4+size+acl+ids+version:], uint32(counter))
	}
	for _, i := range seals {
		binary.BigEndian.PutUint64(snapshot[i:], sum(snapshot[:i]))
	}
	return os.WriteFile(file, snapshot, 0o600)
}

var sealName = []byte{0, 0, 0, 1, '/'}

func sum(b []byte) uint64 { return uint64(adler32.Checksum(b)) }
