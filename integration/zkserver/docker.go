package zkserver

import "fmt"

func newDocker(version string) (launcher, error) {
	return nil, fmt.Errorf("zkserver: docker: %w", errUnavailable)
}
