package taskgraph

import "fmt"

// Error is a mistake in a layer. It names the layer, and what was expected and what came.
type Error struct {
	Graph string
	Layer string // "" if it is about no layer
	Slot  string // "" if it is about no tensor
	Axis  int    // dimension of the tensor or of the grid; -1 if it is about none
	Want  string
	Got   string
}

func (e *Error) Error() string {
	s := "task graph"
	if e.Graph != "" {
		s += " " + e.Graph
	}
	for _, part := range []string{e.Layer, e.Slot} {
		if part != "" {
			s += ", " + part
		}
	}
	if e.Axis >= 0 {
		s += fmt.Sprintf(", axis %d", e.Axis)
	}
	return s + ": want " + e.Want + ", got " + e.Got
}
