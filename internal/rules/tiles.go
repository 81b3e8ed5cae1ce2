package rules

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// Span says with which dimension of a step's domain an element of a slot's shape moves.
type Span struct {
	Dim    int  // -1 for none: every index touches all of it
	Flat   bool // the element is a run, whose elements the dimension counts
	Window *spec.Window
}

// Domain returns what the step runs over that tiles are about; nil if the task has no such step.
func Domain(t *spec.Task, x *spec.Tiles) []spec.Str {
	if !x.Step.Set() {
		return append([]spec.Str{t.Over}, t.Inner...)
	}
	for _, s := range t.Steps {
		if s.Name == x.Step.V {
			return append([]spec.Str{s.Over}, s.Inner...)
		}
	}
	return nil
}

// Element returns the text of an element of a shape.
func Element(n source.Node) string {
	if s, ok := n.(*source.Scalar); ok {
		return strings.TrimSpace(fmt.Sprint(s.Value))
	}
	return ""
}

// Spans returns the span of each element of a slot's shape. An element moves with the dimension that is
// written as it is, N... with prod(N), unless a window says otherwise.
func Spans(x *spec.Tiles, domain []spec.Str, s *spec.Slot) []Span {
	var spans []Span
	for _, n := range s.Shape {
		text := Element(n)
		span := Span{Dim: -1}
		for d, over := range domain {
			if over.V == text {
				span = Span{Dim: d}
			} else if run, ok := strings.CutSuffix(text, "..."); ok && over.V == "prod("+run+")" {
				span = Span{Dim: d, Flat: true}
			}
		}
		for _, w := range x.Windows {
			if w.Slot != s.Name || w.Axis != text {
				continue
			}
			for d, over := range domain {
				if over.V == w.Of.V {
					span = Span{Dim: d, Window: w}
				}
			}
		}
		spans = append(spans, span)
	}
	return spans
}
