package zktest

import (
	"path"
	"strings"
)

// validPath tells whether a path is one that a real server takes.
func validPath(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	if p == "/" {
		return true
	}
	for _, name := range strings.Split(p[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return strings.IndexFunc(p, forbidden) < 0
}

// forbidden are control characters, the private use area, specials and, since
// Java sees two surrogates, everything beyond the basic plane.
func forbidden(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// parentOf returns what is before the last slash: "" for the children of the
// root, which is also a name of the root.
func parentOf(p string) (string, bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 || strings.IndexByte(p, 0) >= 0 {
		return "", false
	}
	return p[:i], true
}

func baseOf(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// rootName turns the empty name of the root into the usual one.
func rootName(p string) string {
	if p == "" {
		return "/"
	}
	return p
}

// special paths cannot be deleted.
func special(p string) bool {
	switch p {
	case "", "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return true
	}
	return false
}

// pathMatches matches as path.Match does; an empty pattern matches all.
func pathMatches(pattern, p string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, p)
	if err != nil {
		panic("zktest: malformed path pattern " + pattern)
	}
	return ok
}
