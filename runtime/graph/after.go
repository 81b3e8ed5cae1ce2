package graph

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/runtime/task"
)

// After makes the node run after others, besides those whose tensors it takes: an explicit dependency.
// What a program needs of n, it then also needs of them. A cycle is an error of the programs that
// would contain it.
func (n *Node) After(others ...*Node) *Node {
	if n != nil {
		for _, o := range others {
			if o != nil {
				n.after = append(n.after, o)
			}
		}
	}
	return n
}

// Preceding returns the nodes given to After.
func (n *Node) Preceding() []*Node { return n.after }

// before calls visit with the nodes that must run before n.
func (n *Node) before(visit func(*Node) error) error {
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].Role != task.RoleInput {
			continue
		}
		for _, t := range n.slots[slot] {
			if t.node != nil && t.node != n {
				if err := visit(t.node); err != nil {
					return err
				}
			}
		}
	}
	for _, o := range n.after {
		if err := visit(o); err != nil {
			return err
		}
	}
	return nil
}

// order returns the nodes of need, and all that must run before them, each after those: in the order of
// insertion as far as explicit dependencies allow.
func (g *Graph) order(need map[*Node]bool) ([]*Node, error) {
	known := make(map[*Node]bool, len(g.nodes))
	for _, n := range g.nodes {
		known[n] = true
	}
	var pending []*Node
	for _, n := range g.nodes {
		if need[n] {
			pending = append(pending, n)
		}
	}
	closure := map[*Node]bool{}
	for len(pending) > 0 {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if closure[n] {
			continue
		}
		closure[n] = true
		if err := n.before(func(m *Node) error {
			if !known[m] {
				return fmt.Errorf("graph: node %s: want nodes of its graph to run after, got %s of another", n.Name, m.Name)
			}
			pending = append(pending, m)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	var out, path []*Node
	state := map[*Node]int{} // 1: on the path, 2: done
	var visit func(n *Node) error
	visit = func(n *Node) error {
		switch state[n] {
		case 1:
			return cycle(path, n)
		case 2:
			return nil
		}
		state[n] = 1
		path = append(path, n)
		if err := n.before(visit); err != nil {
			return err
		}
		path = path[:len(path)-1]
		state[n] = 2
		out = append(out, n)
		return nil
	}
	for _, n := range g.nodes {
		if closure[n] {
			if err := visit(n); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// cycle describes the cycle that a path closes by coming to n again.
func cycle(path []*Node, n *Node) error {
	var names []string
	for i := len(path) - 1; i >= 0; i-- {
		names = append([]string{fmt.Sprintf("%s (operator %s)", path[i].Name, path[i].Op.Name)}, names...)
		if path[i] == n {
			break
		}
	}
	return fmt.Errorf("graph: want nodes without a cycle, got %s, each of which must run after the next", strings.Join(append(names, n.Name), ", "))
}
