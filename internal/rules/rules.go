// Package rules holds the facts that follow from what a spec declares: permissions, trainable slots, the
// limits of variadic slots, the sources and types of arguments. Packages check and model share them: check
// reports contradictions, and model records the facts.
package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// AxisSlot returns the slot of whose shape an axis attribute names a dimension: the slot that the attribute
// names or, if it names none, the first slot whose shape the caller gives and, if the attribute binds a
// dimension, whose shape has that dimension. It returns nil if there is no such slot.
func AxisSlot(s *spec.Spec, a *spec.Attr) *spec.Slot {
	for _, sl := range s.Slots {
		if !scope.Provided(s, sl) {
			continue
		}
		if a.Of.Set() && sl.Name == a.Of.V || !a.Of.Set() && (!a.Binds.Set() || HasAxisDim(sl, a.Binds.V)) {
			return sl
		}
	}
	return nil
}

// HasAxisDim reports whether a slot's shape has a dimension of the given name, "R" or "R[i]".
func HasAxisDim(s *spec.Slot, name string) bool {
	return slices.ContainsFunc(s.Shape, func(n source.Node) bool {
		sc, ok := n.(*source.Scalar)
		if !ok {
			return false
		}
		text, _ := sc.Value.(string)
		dim, _, _ := strings.Cut(text, "[")
		return strings.TrimSpace(dim) == name
	})
}

// Limits returns how many tensors or values a variadic slot or argument holds at least and at most:
// task.Unbounded if there is no upper limit. If an attribute is their number, its limits count.
func Limits(s *spec.Spec, v *spec.Variadic) (lo, hi int) {
	lo, hi = int(v.Min.V), int(v.Max.V)
	for _, a := range s.Attrs {
		if v.Count.Set() && a.Name == strings.TrimSpace(v.Count.V) && a.Type.V == "int" && !a.List.V {
			if n, ok := Extent(a.Min); ok {
				lo = max(int(n), 0)
			}
			if n, ok := Extent(a.Max); ok {
				hi = max(int(n), 0)
			}
		}
	}
	if hi == 0 {
		hi = task.Unbounded
	}
	return lo, hi
}

// Extent returns the integer that an element of a shape, or a limit, consists of. ok is false if it is not an
// integer.
func Extent(n source.Node) (v int64, ok bool) {
	s, ok := n.(*source.Scalar)
	if !ok {
		return 0, false
	}
	if text, ok := s.Value.(string); ok {
		v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		return v, err == nil
	}
	v, ok = s.Value.(int64)
	return v, ok
}

// SplitMessage returns a message as a format of package fmt, with %v for each {name}, and the names. ok is
// false if a brace is not closed.
func SplitMessage(m string) (format string, names []string, ok bool) {
	for {
		before, rest, found := strings.Cut(m, "{")
		format += strings.ReplaceAll(before, "%", "%%")
		if !found {
			return format, names, true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return format, names, false
		}
		format += "%v"
		names = append(names, name)
		m = after
	}
}
