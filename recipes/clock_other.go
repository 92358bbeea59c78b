//go:build !linux

package recipes

import "time"

func sinceBoot() (time.Duration, bool) { return 0, false }
