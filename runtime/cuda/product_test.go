//go:build cuda

package cuda_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/batchmatmul"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/tensordot"

	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

const blasVariable = "OPGEN_LIBCUBLAS"

// emulated is the library that tests begin with.
var emulated = os.Getenv(blasVariable)

// multiplied runs a graph with two inputs, and returns the bytes of its result.
func multiplied(t *testing.T, typ dtype.Type, shapes [2][]int, build func(*graph.Graph, graph.Tensor, graph.Tensor) graph.Tensor) ([]byte, error) {
	t.Helper()
	b, err := cuda.New(cuda.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var r task.Registry
	if err := catalogue.RegisterCUDA(&r); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&r, b, engine.Config{})
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	g := graph.New(1)
	x, y := g.Input("x", typ, shapes[0]...), g.Input("y", typ, shapes[1]...)
	z := build(g, x, y)
	p, err := graph.Inference(g, z)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := planner.Build(p, e.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(pl)
	if err != nil {
		return nil, err
	}
	for k, name := range []string{"x", "y"} {
		n := 1
		for _, d := range shapes[k] {
			n *= d
		}
		data := make([]byte, n*typ.Size())
		for i := range n {
			put(typ, data[i*typ.Size():], float64((7*i+3*k)%23-11)/16)
		}
		if err := in.FeedBytes(name, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Run(t.Context()); err != nil {
		return nil, err
	}
	return in.FetchBytes(z.Name())
}

func put(typ dtype.Type, to []byte, v float64) {
	if p, ok := typ.Packed(); ok {
		p.Encode(to[:typ.Size()], []float32{float32(v)})
		return
	}
	typ.PutFloat64(to, v)
}

func get(typ dtype.Type, from []byte) float64 {
	if p, ok := typ.Packed(); ok {
		var v [1]float32
		p.Decode(v[:], from[:typ.Size()])
		return float64(v[0])
	}
	return typ.Float64(from)
}

// TestProducts compares products of the library with those of device code, for factors by rows and by
// columns, in batches and alone. The library gives the same bits in each run.
func TestProducts(t *testing.T) {
	control := controls(t)
	dot := func(left, right int) func(*graph.Graph, graph.Tensor, graph.Tensor) graph.Tensor {
		return func(g *graph.Graph, x, y graph.Tensor) graph.Tensor {
			return tensordot.Apply(g, tensordot.Defaults().WithLhsDim(left).WithRhsDim(right), tensordot.Lhs(x), tensordot.Rhs(y))
		}
	}
	batches := func(g *graph.Graph, x, y graph.Tensor) graph.Tensor {
		return batchmatmul.Apply(g, batchmatmul.Defaults(), batchmatmul.LhsInput(x), batchmatmul.RhsInput(y))
	}
	for _, typ := range []dtype.Type{dtype.F32, dtype.F64, dtype.F16, dtype.BF16} {
		for _, tt := range []struct {
			name   string
			shapes [2][]int
			build  func(*graph.Graph, graph.Tensor, graph.Tensor) graph.Tensor
			calls  int64 // of the library
		}{
			{"one", [2][]int{{1, 17, 40}, {1, 40, 33}}, batches, 1},
			{"batch", [2][]int{{3, 9, 24}, {3, 24, 11}}, batches, 1},
			{"turned factors", [2][]int{{24, 9}, {11, 24}}, dot(0, 1), 1},
			{"rows of two indices", [2][]int{{2, 5, 24}, {24, 11}}, dot(2, 0), 1},
			{"sums in the middle", [2][]int{{9, 24, 5}, {24, 11}}, dot(1, 0), 0}, // rows that lie in no one way
			{"small", [2][]int{{3, 5}, {5, 4}}, dot(1, 0), 0},
		} {
			t.Run(fmt.Sprint(typ, " ", tt.name), func(t *testing.T) {
				var results [3][]byte
				for i := range results {
					want := tt.calls
					if i == 0 {
						t.Setenv(blasVariable, "none")
						want = 0
					} else if i == 1 {
						t.Setenv(blasVariable, emulated)
					}
					before := control.Products.Load()
					var err error
					if results[i], err = multiplied(t, typ, tt.shapes, tt.build); err != nil {
						t.Fatal(err)
					}
					if got := control.Products.Load() - before; got != want {
						t.Errorf("%d calls of the library, want %d", got, want)
					}
				}
				if !slices.Equal(results[1], results[2]) {
					t.Error("two runs give other bits")
				}
				most := map[dtype.Type]float64{dtype.F32: 1e-5, dtype.F64: 1e-13, dtype.F16: 4e-3, dtype.BF16: 3e-2}[typ]
				for i := 0; i < len(results[0]); i += typ.Size() {
					own, got := get(typ, results[0][i:]), get(typ, results[1][i:])
					if !(math.Abs(own-got) <= most*max(1, math.Abs(own))) {
						t.Fatalf("element %d: got %v, device code gives %v", i/typ.Size(), got, own)
					}
				}
			})
		}
	}
}

// TestProductErrors makes calls of the library fail. The error names the call, the operator and the task, and
// the next run works.
func TestProductErrors(t *testing.T) {
	control := controls(t)
	before := control.Alive()
	run := func() error {
		return opgen.Do(catalogue.RegisterCUDA, func(s *opgen.Session) error {
			g := graph.New(1)
			x := g.Input("x", dtype.F32, 16, 16)
			z := linear.Apply(g, linear.Defaults(16), x)
			p, err := s.Inference(t.Context(), g, z)
			if err != nil {
				return err
			}
			return p.Run(t.Context(), opgen.With(x, ramp(256)))
		}, opgen.Backend(open(t)(1)))
	}
	defer control.Fail(0, "", 0)
	for _, tt := range []struct {
		call string
		code int64
		want string
	}{
		{"cublasGemmEx", 13, "cublasGemmEx: the function failed to launch on the GPU (cuBLAS error 13)"},
		{"cublasCreate_v2", 3, "cublasCreate: an error (cuBLAS error 3)"},
		{"cublasSetWorkspace_v2", 7, "cublasSetWorkspace: the function got a value that is not permitted (cuBLAS error 7)"},
		{"cublasSetStream_v2", 15, "cublasSetStream: the function is not supported (cuBLAS error 15)"},
	} {
		control.Fail(1, tt.call, tt.code)
		err := run()
		control.Fail(0, "", 0)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.call, err, tt.want)
		}
		if te := (*engine.TaskError)(nil); tt.call == "cublasGemmEx" && (!errors.As(err, &te) || te.Operator != "linear" || te.Task != "forward") {
			t.Errorf("%s: got %v, want an error of linear.forward", tt.call, err)
		}
		if after := control.Alive(); after != before {
			t.Errorf("%s left %s, want %s", tt.call, after, before)
		}
		if err := run(); err != nil {
			t.Errorf("the run after %s: %v", tt.call, err)
		}
	}
	t.Setenv(blasVariable, "/nowhere/libcublas.so")
	if _, err := cuda.New(cuda.Config{}); err == nil || !strings.Contains(err.Error(), "OPGEN_LIBCUBLAS: /nowhere/libcublas.so") {
		t.Errorf("got %v", err)
	}
	t.Setenv(blasVariable, "libm.so.6")
	if _, err := cuda.New(cuda.Config{}); err == nil || !strings.Contains(err.Error(), "the library has no cublasCreate_v2") {
		t.Errorf("got %v", err)
	}
}
