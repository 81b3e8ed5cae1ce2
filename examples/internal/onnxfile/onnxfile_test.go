package onnxfile

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

// answers runs a network on given numbers.
func answers(t *testing.T, s *opgen.Session, variables map[string]safetensors.Tensor, g *graph.Graph, x, y graph.Tensor) []float32 {
	t.Helper()
	p, err := s.Inference(context.Background(), g, y)
	if err == nil && variables != nil {
		err = s.SetVariables(variables)
	}
	if err == nil {
		err = p.Run(context.Background(), opgen.With(x, []float32{1, -2, 3, 0.5, 2, -1}))
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := opgen.Fetch[float32](p, y)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWrite writes a network, reads it in another session, and compares what both answer.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net.onnx")
	var want []float32
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 2, 3)
		y := linear.Apply(g, linear.Defaults(4).WithActivation(activation.Gelu), x, graph.Named("layer"))
		want = answers(t, s, nil, g, x, y)
		if err := Write("", s, g, y); err != nil {
			return err
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("want no file yet")
		}
		return Write(file, s, g, y)
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Load(file, &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries})
	if err != nil {
		t.Fatal(err)
	}
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(2)
		x := g.Input("x", dtype.F32, 2, 3)
		net, err := m.Insert(g, map[string]graph.Tensor{"x": x})
		if err != nil {
			return err
		}
		if got := answers(t, s, net.Variables, g, x, net.Outputs[0]); len(got) != 8 || !near(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func near(x, y []float32) bool {
	for i := range x {
		if d := x[i] - y[i]; d > 1e-6 || d < -1e-6 {
			return false
		}
	}
	return !reflect.DeepEqual(x, make([]float32, len(x)))
}
