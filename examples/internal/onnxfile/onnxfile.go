// Package onnxfile writes what an example trained as a file of ONNX, which other systems run.
package onnxfile

import (
	"io"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/trainlog"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
)

// Write writes the network that computes outputs, with the values that its variables have in a session. All
// ranks of a session call it; the first one writes. With the path "" there is nothing to do.
func Write(path string, s *opgen.Session, g *graph.Graph, outputs ...graph.Tensor) error {
	if path == "" {
		return nil
	}
	p, err := graph.Inference(g, outputs...)
	if err != nil {
		return err
	}
	variables, err := s.Variables()
	if rank, _ := s.Rank(); err != nil || rank > 0 {
		return err
	}
	c := &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries}
	return trainlog.WriteFile(path, func(w io.Writer) error { return onnx.Save(w, c, p, variables) })
}
