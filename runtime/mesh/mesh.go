// Package mesh completes strategies: from a few words about how tensors are divided among devices, it finds
// how all tensors of a graph are.
//
// Devices form a mesh, whose axes have names, such as data and model. A strategy divides dimensions of some
// tensors over axes. Propagate divides the same index everywhere: which dimensions of tensors have an index
// in common follows from the formulas of operators. What does not fit is an error that names the rules of
// both sides. Divide makes a program for all devices of one for a single device. A pipeline has stages, each
// with a mesh of its own, that work on micro-batches at the same time.
package mesh

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/graph"
)

// Axis is an axis of the mesh, over whose Size positions dimensions are divided.
type Axis struct {
	Name string
	Size int
}

// Rule divides a dimension of a tensor over an axis of the mesh.
type Rule struct {
	Tensor string // its name in the graph
	Dim    int    // from 0 on; -1 is the last one
	Axis   string
	// Read says that the rule is for the tensor as nodes read it: what its node writes may be divided
	// otherwise along this dimension, and is moved in between. Such a rule without an axis lets other rules
	// decide, or leaves the dimension whole.
	Read bool
	// At is the place of the rule, as FILE:LINE:COLUMN; empty if no file has it.
	At string
}

// String formats the rule for messages.
func (r Rule) String() string {
	text := fmt.Sprintf("%s dimension %d over %s", r.Tensor, r.Dim, r.Axis)
	if r.Read {
		text = fmt.Sprintf("%s dimension %d over %s as it is read", r.Tensor, r.Dim, r.Axis)
	}
	if r.At != "" {
		text += " (" + r.At + ")"
	}
	return text
}

// Strategy says how some tensors are divided among the devices of a mesh.
type Strategy struct {
	Mesh  []Axis
	Rules []Rule
	// Pipeline divides the network into stages, each with a mesh of its own; nil if there is one stage.
	Pipeline *Pipeline
}

// Devices returns the number of devices of all stages.
func (s *Strategy) Devices() int {
	if s.Pipeline == nil {
		return s.positions()
	}
	return s.positions() * (len(s.Pipeline.Stages) + 1)
}

// positions returns the number of devices of the mesh.
func (s *Strategy) positions() int {
	n := 1
	for _, a := range s.Mesh {
		n *= a.Size
	}
	return n
}

// size returns the size of an axis; 0 if there is none of this name.
func (s *Strategy) size(axis string) int {
	for _, a := range s.Mesh {
		if a.Name == axis {
			return a.Size
		}
	}
	return 0
}

// check returns an error for a mesh that is none, or for a rule with another axis.
func (s *Strategy) check() error {
	known := map[string]bool{}
	var names []string
	for _, a := range s.Mesh {
		if a.Name == "" || a.Size < 1 || known[a.Name] {
			return fmt.Errorf("mesh: want axes with different names and sizes of 1 or more, got %q of %d", a.Name, a.Size)
		}
		known[a.Name] = true
		names = append(names, a.Name)
	}
	for _, r := range s.Rules {
		if !known[r.Axis] && !(r.Read && r.Axis == "") {
			return r.errorf("want an axis of the mesh, one of %s, got %q", strings.Join(names, ", "), r.Axis)
		}
	}
	if p := s.Pipeline; p != nil && p.Batches < 1 {
		return fmt.Errorf("mesh: want 1 micro-batch or more in a pipeline, got %d", p.Batches)
	}
	return nil
}

// errorf returns an error of a rule, with its place.
func (r Rule) errorf(format string, args ...any) error {
	at := "mesh: "
	if r.At != "" {
		at = r.At + ": "
	}
	return fmt.Errorf(at+r.Tensor+": "+format, args...)
}

// version is a tensor as its node writes it, or as others read it, if the strategy moves it in between.
type version struct {
	graph.Tensor
	read bool
}

// dim is a dimension of a version.
type dim struct {
	of   version
	axis int
}

// list returns the members of a set in order, for messages.
func list(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}
