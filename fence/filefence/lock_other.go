//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filefence

import (
	"context"
	"errors"
	"fmt"
	"os"
)

func lockFile(_ context.Context, path string) (*os.File, error) {
	return nil, fmt.Errorf("filefence: lock %s: %w", path, errors.ErrUnsupported)
}
