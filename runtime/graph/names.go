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

// names are the names that were asked for in a graph.
type names struct {
	numbers *numbering.Numbering[string]
	of      []named // per number
}

// named says how often a name was asked for, and by which call a node or an input of this name was inserted;
// 0 if by none.
type named struct {
	asked int
	by    uintptr
}

func newNames() names { return names{numbers: numbering.New[string](0)} }

// ask notes that a name is asked for, and returns how often it was before.
func (n *names) ask(name string) int {
	i, added := n.numbers.Add(name)
	if added {
		n.of = append(n.of, named{})
	}
	n.of[i].asked++
	return n.of[i].asked - 1
}

// asked returns how often a name was asked for.
func (n *names) asked(name string) int {
	if i, ok := n.numbers.Find(name); ok {
		return n.of[i].asked
	}
	return 0
}

// put notes by which call a node or an input was inserted.
func (n *names) put(name string, by uintptr) {
	if i, ok := n.numbers.Find(name); ok {
		n.of[i].by = by
	}
}

// place returns the file and line that inserted a node or an input, or nothing if there is none of this name.
func (n *names) place(name string) string {
	if i, ok := n.numbers.Find(name); ok {
		return place(n.of[i].by)
	}
	return ""
}

// clone returns a copy.
func (n *names) clone() names { return names{n.numbers.Clone(), slices.Clone(n.of)} }

// caller returns the call skip calls above caller itself, for place; 0 if it is not known.
func caller(skip int) uintptr {
	var pc [1]uintptr
	runtime.Callers(skip+1, pc[:])
	return pc[0]
}

// place returns the file and line of a call, or nothing if they are not known.
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
