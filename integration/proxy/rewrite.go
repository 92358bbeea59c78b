package proxy

import "io"

// rewriteOnce replaces the beginning of a stream and leaves the rest alone.
func rewriteOnce(f func([]byte) []byte) reader {
	read := chunkReader()
	done := false
	var seen []byte
	return func(r io.Reader) ([]byte, error) {
		if done {
			return read(r)
		}
		for {
			data, err := read(r)
			seen = append(seen, data...)
			out := f(seen)
			if out == nil && err == nil {
				continue
			}
			done = true
			if out == nil {
				out = seen // ended before it was complete: forward as it is
			}
			return out, err
		}
	}
}
