package graph

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/opgen/opgen/runtime/internal/numbering"
)

// names counts the requests of each name in a graph.
type names struct {
	numbers *numbering.Numbering[string]
	of      []named // per number
}

// named is the number of requests of a name, and the call that inserted the node or input with the name, or
// 0.
type named struct {
	asked int
	by    uintptr
}

func newNames() names { return names{numbers: numbering.New[string](0)} }

// ask counts a request of a name, and returns the number of earlier requests.
func (n *names) ask(name string) int {
	i, added := n.numbers.Add(name)
	if added {
		n.of = append(n.of, named{})
	}
	n.of[i].asked++
	return n.of[i].asked - 1
}

// asked returns the number of requests of a name.
func (n *names) asked(name string) int {
	if i, ok := n.numbers.Find(name); ok {
		return n.of[i].asked
	}
	return 0
}

// put records the call that inserted the node or input with a name.
func (n *names) put(name string, by uintptr) {
	if i, ok := n.numbers.Find(name); ok {
		n.of[i].by = by
	}
}

// place returns the file and line of the call that inserted the node or input with a name, or "".
func (n *names) place(name string) string {
	if i, ok := n.numbers.Find(name); ok {
		return place(n.of[i].by)
	}
	return ""
}

// clone returns an independent copy.
func (n *names) clone() names { return names{n.numbers.Clone(), slices.Clone(n.of)} }

// caller returns the program counter skip calls above caller, or 0.
func caller(skip int) uintptr {
	var pc [1]uintptr
	runtime.Callers(skip+1, pc[:])
	return pc[0]
}

// place returns the file and line of a program counter, or "".
func place(call uintptr) string {
	if call == 0 {
		return ""
	}
	frame, _ := runtime.CallersFrames([]uintptr{call}).Next()
	if frame.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
}

// sorted returns the keys of a map, ascending.
func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
