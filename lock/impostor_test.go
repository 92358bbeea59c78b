package lock_test

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// What takes itself for a server may answer anything. It is believed, or it is not;
// it brings nobody down, and every call returns.
func FuzzLockOfAnImpostor(f *testing.F) {
	ok := make([]byte, 4)
	reply := func(p string) []byte {
		return append(binary.BigEndian.AppendUint32(make([]byte, 4), uint32(len(p))), p...)
	}
	noNode := []byte{0xff, 0xff, 0xff, 0x9b}
	f.Add(reply("/locks/x/_c_-lock-0000000001"), noNode, ok)
	f.Add(reply("/"), noNode, ok)
	f.Add(reply(""), noNode, ok)
	f.Add(reply("/locks/x"), append(ok, make([]byte, 72)...), append(ok, 0, 0, 0, 0, 1, 0, 0, 0, 0))
	f.Add(ok, ok, ok)
	f.Add(noNode, noNode, noNode)
	f.Fuzz(func(t *testing.T, create, read, multi []byte) {
		synctest.Test(t, func(t *testing.T) {
			c, err := recipes.Dial(t.Context(), "impostor", recipes.WithClock(recipes.MonotonicClock()), recipes.WithSessionTimeout(T),
				recipes.WithDialer(zkrtest.Impostor(func(op int32) []byte {
					time.Sleep(time.Millisecond) // an answer takes time, or a call that tries again would have none
					switch op {
					case 1, 19: // create, and of a container
						return create
					case 14:
						return multi
					}
					return read
				})))
			require.NoError(t, err)
			defer c.Close()
			for _, take := range []func() (*recipes.Lease, error){
				func() (*recipes.Lease, error) { return mutexAt(t, c, path).Lock(soon(t, time.Second)) },
				func() (*recipes.Lease, error) { return mutexAt(t, c, path).TryLock(soon(t, time.Second)) },
				func() (*recipes.Lease, error) {
					sem, err := lock.NewSemaphore(c, path, 3)
					require.NoError(t, err)
					return sem.AcquireN(soon(t, time.Second), 2)
				},
				func() (*recipes.Lease, error) {
					m, err := lock.NewMulti(c, []string{path, "/locks/y"})
					require.NoError(t, err)
					return m.Lock(soon(t, time.Second))
				},
			} {
				start := time.Now()
				if l, err := take(); err == nil {
					_ = l.Release(soon(t, time.Second))
				}
				require.LessOrEqual(t, time.Since(start), 3*time.Second)
			}
		})
	})
}
