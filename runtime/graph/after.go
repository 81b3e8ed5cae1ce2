package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/task"
)

// After adds explicit dependencies: the node runs after others, besides the nodes whose outputs it reads. A
// program that needs n also needs others. A cycle is an error of the programs that would contain it.
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

// reads reports whether a slot reads a tensor that others give: an input, or what takes the place of a
// weight.
func (n *Node) reads(slot int, t Tensor) bool {
	role := n.Op.Slots[slot].Role
	return role == task.RoleInput || role == task.RoleWeight && t.kind != variable
}

// before appends the nodes that n depends on to a list.
func (n *Node) before(list []*Node) []*Node {
	for slot := range n.Op.Slots {
		for _, t := range n.slots[slot] {
			if n.reads(slot, t) && t.node != nil && t.node != n {
				list = append(list, t.node)
			}
		}
	}
	return append(list, n.after...)
}

// order returns the transitive dependencies of need, need included, in topological order. Ties keep the
// order of insertion.
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
		first := len(pending)
		pending = n.before(pending)
		for _, m := range pending[first:] {
			if !known[m] {
				return nil, fmt.Errorf("graph: node %s: want nodes of its graph to run after, got %s of another", n.Name, m.Name)
			}
		}
	}
	w := &walk{state: make(map[*Node]progress, len(closure)), out: make([]*Node, 0, len(closure))}
	for _, n := range g.nodes {
		if closure[n] {
			if err := w.visit(n); err != nil {
				return nil, err
			}
		}
	}
	return w.out, nil
}

// progress is the state of a node in a depth-first search.
type progress uint8

const (
	unseen progress = iota
	open            // on the path
	done
)

// walk is a depth-first search that lists nodes in postorder. It uses an explicit stack, since a path may be
// as long as the graph.
type walk struct {
	state map[*Node]progress
	path  []visiting
	next  []*Node // the unvisited dependencies of the nodes on the path
	out   []*Node
}

// visiting is a node on the path of a depth-first search.
type visiting struct {
	node *Node
	next int // where its unvisited dependencies begin in walk.next
}

// visit lists a node after all that it depends on.
func (w *walk) visit(n *Node) error {
	if err := w.enter(n); err != nil {
		return err
	}
	for len(w.path) > 0 {
		last := w.path[len(w.path)-1]
		if len(w.next) == last.next {
			w.state[last.node] = done
			w.out = append(w.out, last.node)
			w.path = w.path[:len(w.path)-1]
			continue
		}
		m := w.next[len(w.next)-1]
		w.next = w.next[:len(w.next)-1]
		if err := w.enter(m); err != nil {
			return err
		}
	}
	return nil
}

// enter pushes a node on the path, unless it is done. A node on the path closes a cycle.
func (w *walk) enter(n *Node) error {
	switch w.state[n] {
	case open:
		return w.cycle(n)
	case done:
		return nil
	}
	w.state[n] = open
	first := len(w.next)
	w.path = append(w.path, visiting{n, first})
	w.next = n.before(w.next)
	slices.Reverse(w.next[first:]) // next is a stack
	return nil
}

// shown is the number of nodes at either end of a cycle that its error names.
const shown = 5

// cycle returns the error of the cycle that an edge to n closes.
func (w *walk) cycle(n *Node) error {
	from := slices.IndexFunc(w.path, func(v visiting) bool { return v.node == n })
	cycle := w.path[from:]
	var names []string
	for i, v := range cycle {
		switch {
		case i < shown || i >= len(cycle)-shown:
			names = append(names, fmt.Sprintf("%s (operator %s)", v.node.Name, v.node.Op.FullName()))
		case i == shown:
			names = append(names, fmt.Sprintf("%d others", len(cycle)-2*shown))
		}
	}
	return fmt.Errorf("graph: want nodes without a cycle, got %s, each of which must run after the next", strings.Join(append(names, n.Name), ", "))
}
