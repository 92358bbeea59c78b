package zktest

import (
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/jute"
)

// What an operator does by hand. It is not bound by any ACL, takes a
// transaction like everything else, and fires watches.

// Create makes a persistent znode that is open to all.
func (s *Server) Create(path string, data []byte) error {
	return s.operate(jute.OpCreate, &jute.CreateRequest{Path: path, Data: data, ACL: openACL})
}

// Delete deletes a znode without children.
func (s *Server) Delete(path string) error {
	return s.operate(jute.OpDelete, &jute.PathVersionRequest{Path: path, Version: -1})
}

// DeleteAll deletes a znode and all below it.
func (s *Server) DeleteAll(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths := []string{path}
	for p := range s.leader.tree.nodes {
		if strings.HasPrefix(p, path+"/") {
			paths = append(paths, p)
		}
	}
	// Children come behind their parents in this order, and are deleted first.
	slices.Sort(paths)
	for _, p := range slices.Backward(paths) {
		if err := s.operated(jute.OpDelete, &jute.PathVersionRequest{Path: p, Version: -1}); err != nil {
			return err
		}
	}
	return nil
}

// SetData sets the data of a znode.
func (s *Server) SetData(path string, data []byte) error {
	return s.operate(jute.OpSetData, &jute.SetDataRequest{Path: path, Data: data, Version: -1})
}

func (s *Server) operate(op jute.Op, body jute.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.operated(op, body)
}

func (s *Server) operated(op jute.Op, body jute.Record) error {
	p := &prep{tree: s.leader.tree, ids: []identity{super}, checkTTL: true}
	c, code := p.change(op, body)
	if code != jute.OK {
		return code
	}
	s.log.add(entry{kind: "operator", op: op, path: c.path})
	s.commit(&txn{op: op, changes: []change{c}})
	return nil
}

// SetCreateCounter sets the counter from which a znode's next sequential child
// takes its number. At 2147483647, the end of its range, a real server sticks:
// creates one after the other all get that number. When several overlap, the
// later ones get -2147483648 and up, and so it is with nearly all that come in
// numbers; here that is so within a multi, and after the counter was set to a
// negative number.
func (s *Server) SetCreateCounter(path string, n int32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leader.tree.nodes[path] == nil {
		return jute.NoNode
	}
	for _, m := range s.members {
		set := func() {
			if node := m.tree.nodes[path]; node != nil {
				node.cversion = n
			}
		}
		if m == s.leader {
			set()
		} else {
			m.link.down.send(set)
		}
	}
	return nil
}
