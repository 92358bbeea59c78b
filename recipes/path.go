package recipes

import (
	"fmt"
	"net"
	"strings"
	"unicode/utf8"
)

// PathError is a path that names no znode.
type PathError struct {
	Path string
	Rule string // the rule that it breaks
}

func (e *PathError) Error() string {
	return fmt.Sprintf("recipes: bad path %q: %s", e.Path, e.Rule)
}

// CheckPath returns a *PathError unless path can name a znode: it is absolute,
// does not end in a slash (the root aside), and has no empty, "." or ".."
// element and no character that ZooKeeper forbids.
func CheckPath(path string) error {
	bad := func(rule string) error { return &PathError{path, rule} }
	switch {
	case path == "":
		return bad("it is empty; want an absolute path such as /locks/report")
	case path[0] != '/':
		return bad("it does not start with a slash")
	case path == "/":
		return nil
	case path[len(path)-1] == '/':
		return bad("it ends in a slash")
	case !utf8.ValidString(path):
		return bad("it is not valid UTF-8")
	}
	for elem := range strings.SplitSeq(path[1:], "/") {
		if elem == "" {
			return bad("it has an empty element (//)")
		}
		if elem == "." || elem == ".." {
			return bad("it has an element " + elem)
		}
	}
	for _, r := range path {
		if forbidden(r) {
			return bad(fmt.Sprintf("it has the character %U, which ZooKeeper forbids", r))
		}
	}
	return nil
}

// CheckDir is CheckPath for a recipe's own directory, which neither the root can
// be nor the znode that keeps the base of another one's tokens.
func CheckDir(path string) error {
	switch {
	case path == "/":
		return &PathError{path, "the root cannot be a recipe's directory"}
	case strings.HasSuffix(path, baseSuffix):
		return &PathError{path, "it ends in " + baseSuffix + ", as the znode does that keeps the base of a recipe's tokens"}
	}
	return CheckPath(path)
}

// forbidden are control characters, the private use area, specials, and what Java
// has two surrogates for: all that is beyond the basic plane.
func forbidden(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// parseConnect splits host:port,host:port/chroot.
func parseConnect(connect string) (servers []string, chroot string, err error) {
	hosts := connect
	if i := strings.IndexByte(connect, '/'); i >= 0 {
		hosts, chroot = connect[:i], connect[i:]
		if chroot == "/" {
			chroot = ""
		} else if err := CheckPath(chroot); err != nil {
			return nil, "", fmt.Errorf("recipes: connect string %q: chroot: %w", connect, err)
		}
	}
	for _, h := range strings.Split(hosts, ",") {
		h = strings.TrimSpace(h)
		if h == "" {
			return nil, "", fmt.Errorf("recipes: connect string %q: want host:port,host:port/chroot with at least one host and no empty ones", connect)
		}
		addr, err := withPort(h)
		if err != nil {
			return nil, "", fmt.Errorf("recipes: connect string %q: %w", connect, err)
		}
		servers = append(servers, addr)
	}
	return servers, chroot, nil
}

// withPort adds ZooKeeper's own port where none is given.
func withPort(h string) (string, error) {
	bare := h
	if strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]") {
		bare = h[1 : len(h)-1]
	}
	if bare != "" && !strings.ContainsAny(bare, "[:]") || net.ParseIP(bare) != nil {
		return net.JoinHostPort(bare, "2181"), nil
	}
	host, port, err := net.SplitHostPort(h)
	if err != nil {
		return "", err
	}
	if host == "" || port == "" {
		return "", fmt.Errorf("%q is not host:port", h)
	}
	return h, nil
}

// parent returns the directory of an absolute path.
func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/"
	}
	return path[:i]
}
