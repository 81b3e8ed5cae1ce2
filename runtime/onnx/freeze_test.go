package onnx_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
)

// TestFrozen lists the nodes of networks that are not trained, and compares their outputs with those of all
// nodes. Lines are nodes: the operator, its inputs, its output and attributes. Constants are named for their
// shapes, and begin with k; v names variances.
func TestFrozen(t *testing.T) {
	t.Parallel()
	const image = "2 4 5 6"
	for _, c := range []struct {
		name, input, nodes, want string
	}{
		{"a normalization", image, "Conv x k3.4.3.3 = a; BatchNormalization a k3 k3' k3'' v3 = y", "Conv"},
		{"with a bias, and other parameters", image, "Conv x k3.4.1.1 k3 = a; BatchNormalization a k3a k3b k3c v3 = y epsilon=0.01", "Conv"},
		{"in groups, with strides", image, "Conv x k8.1.3.3 = a group=4; BatchNormalization a k8 k8' k8'' v8 = y", "Conv"},
		{"transposed", image, "ConvTranspose x k4.3.2.2 k3 = a; BatchNormalization a k3' k3'' k3''' v3 = y", "ConvTranspose"},
		{"transposed, in groups", image, "ConvTranspose x k4.3.2.2 = a group=2; BatchNormalization a k6 k6' k6'' v6 = b; Mul b k6.1.1 = y", "ConvTranspose"},
		{"arithmetic", image, "Conv x k3.4.1.1 = a; Mul a k1 = b; Add k1.3.1.1 b = c; Sub c k = d; Div d k3.1.1 = e; Sub k1' e = y", "Conv"},
		{"the bias alone", image, "Conv x k3.4.1.1 = a; Add a k3.1.1 = y", "Conv"},
		{"a function between", image, "Conv x k3.4.1.1 = a; Add a k3.1.1 = b; Relu b = c; Mul c k1 = y", "Conv Relu Mul"},
		{"an inverse", image, "Conv x k3.4.1.1 = a; Div k1 a = y", "Conv Div"},
		{"quotients", image, "Relu x = a; Div a k4.1.6 = b; Sigmoid b = c; Div c k = d; Div c d = y", "Relu Mul Sigmoid Mul Div"},
		{"what is read twice", image, "Conv x k3.4.1.1 = a; Mul a k1 = b; Mul a b = y", "Conv Mul Mul"},
		{"weights that two read", image, "Conv x k4.4.1.1 = a; Mul a k1 = b; Conv b k4.4.1.1 = c; Mul c k1 = y", "Conv Mul Conv Mul"},
		{"the bias of two", image, "Conv x k4.4.1.1 k4 = a; Mul a k1 = b; Conv b k4.4.1.1' k4 = c; Mul c k1 = y", "Conv Conv"},
		{"another dimension", image, "Conv x k3.4.1.1 = a; Mul a k6 = y", "Conv Mul"},
		{"as many columns as channels", image, "Conv x k6.4.1.1 k6 = a; Mul a k6 = y", "Conv Mul"},
		{"more dimensions", image, "Conv x k3.4.1.1 = a; Mul a k1.1.1.1.1 = y", "Conv Mul"},
		{"zero in a quotient", image, "Conv x k3.4.1.1 = a; Div a z1 = y", "Conv Div"},
		{"weights that follow from others", image, "Sin k3.4.1.1 = s; Conv x s = a; Mul a k1 = y", "Conv Mul"},
		{"a product", "5 4", "Gemm x k4.3 k3 = a; Add a k3' = b; Mul b k1.3 = y", "Gemm"},
		{"a product with a transpose and factors", "5 4", "Gemm x k3.4 k1.3 = a transB=1 alpha=0.5 beta=2.0; BatchNormalization a k3 k3' k3'' v3 = y", "Gemm"},
		{"a product without a bias", "5 4", "Gemm x k4.3 = a beta=3.0; Add a k1 = y", "Gemm"},
		{"rows of a product", "5 4", "Gemm x k4.3 = a; Add a k5.1 = y", "Gemm Add"},
		{"a product of stacks", "2 5 4", "MatMul x k4.3 = a; Mul a k3 = y", "MatMul"},
		{"a product of stacks that is shifted", "2 5 4", "MatMul x k4.3 = a; Mul a k = b; Add b k3 = y", "MatMul Add"},
		{"a product of stacks with more dimensions", "5 4", "MatMul x k4.3 = a; Mul a k1.1.3 = y", "MatMul Mul"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, err := onnx.Read(frozenModel(t, c.input, c.nodes), target)
			if err != nil {
				t.Fatal(err)
			}
			before, ops := runModel(t, m, c.input)
			after, frozen := runModel(t, m, c.input, onnx.Frozen())
			if got := strings.Join(frozen, " "); got != c.want {
				t.Errorf("want %s, got %s of %s", c.want, got, ops)
			}
			var most float64
			for _, v := range before {
				most = max(most, math.Abs(float64(v)))
			}
			for i := range before {
				if d := math.Abs(float64(before[i] - after[i])); before[i] != after[i] && !(d <= 1e-5*most) { // infinities are equal
					t.Fatalf("element %d: want %v, got %v", i, before[i], after[i])
				}
			}
		})
	}
}

// TestFrozenWithin freezes a network whose values a branch reads: they stay.
func TestFrozenWithin(t *testing.T) {
	t.Parallel()
	inner := func(op string) *onnxpb.GraphProto {
		return &onnxpb.GraphProto{Node: []*onnxpb.NodeProto{node(op, []string{"a", "b"}, []string{"c"})}, Output: []*onnxpb.ValueInfoProto{{Name: proto.String("c")}}}
	}
	nodes := []*onnxpb.NodeProto{node("MatMul", []string{"x", "w"}, []string{"a"}), node("Mul", []string{"a", "s"}, []string{"b"}),
		node("If", []string{"on"}, []string{"y"}, branch("then_branch", inner("Add")), branch("else_branch", inner("Sub")))}
	truth := &onnxpb.TensorProto{Name: proto.String("on"), DataType: new(int32(onnxpb.TensorProto_BOOL)), Int32Data: []int32{1}}
	m, err := onnx.Read(model(t, nodes, []*onnxpb.TensorProto{floats("w", []int64{3, 3}, make([]float32, 9)...), floats("s", nil, 2), truth}), target)
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New(1)
	net, err := m.Insert(g, map[string]graph.Tensor{"x": g.Input("x", dtype.F32, 2, 3)}, onnx.Frozen())
	if err != nil {
		t.Fatal(err)
	}
	if got := operations(g, net); !slices.Equal(got, []string{"MatMul", "Mul", "Add"}) {
		t.Errorf("got %s", got)
	}
}

// operations lists the operators of ONNX from which the nodes of a graph come that compute something.
func operations(g *graph.Graph, net *onnx.Network) (ops []string) {
	for _, n := range g.Nodes() {
		if o := net.Origins[n]; o.Op != "" && o.Op != "Constant" {
			ops = append(ops, o.Op)
		}
	}
	return ops
}

// frozenModel makes a model of lines as TestFrozen has them, with the input x and the output y.
func frozenModel(t *testing.T, input, lines string) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	m := &onnxpb.ModelProto{IrVersion: proto.Int64(8), OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}},
		Graph: &onnxpb.GraphProto{Name: proto.String("g"), Input: []*onnxpb.ValueInfoProto{value("x", onnxpb.TensorProto_FLOAT, extentsOf(input, " ")...)},
			Output: []*onnxpb.ValueInfoProto{{Name: proto.String("y")}}}}
	made := map[string]bool{}
	for line := range strings.SplitSeq(lines, "; ") {
		call, rest, _ := strings.Cut(line, " = ")
		words, behind := strings.Fields(call), strings.Fields(rest)
		n := node(words[0], words[1:], behind[:1])
		for _, a := range behind[1:] {
			name, text, _ := strings.Cut(a, "=")
			var f float32
			fmt.Sscan(text, &f)
			if strings.Contains(text, ".") {
				n.Attribute = append(n.Attribute, &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_FLOAT.Enum(), F: &f})
			} else {
				n.Attribute = append(n.Attribute, integer(name, int64(f)))
			}
		}
		m.Graph.Node = append(m.Graph.Node, n)
		for _, name := range words[1:] {
			if !strings.ContainsAny(name[:1], "kvz") || made[name] {
				continue
			}
			made[name] = true
			dims := extentsOf(strings.TrimRight(name[1:], "'abc"), ".")
			size := int64(1)
			for _, d := range dims {
				size *= d
			}
			values := make([]float32, size)
			for i := range values {
				switch values[i] = float32(r.NormFloat64()); name[0] {
				case 'v':
					values[i] = 0.5 + r.Float32()
				case 'z':
					values[i] = 0
				}
			}
			m.Graph.Initializer = append(m.Graph.Initializer, floats(name, dims, values...))
		}
	}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func extentsOf(text, between string) (out []int64) {
	for _, word := range strings.Split(text, between) {
		var n int64
		if _, err := fmt.Sscan(word, &n); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// runModel runs a network on random numbers, and returns its output and the operators that compute it.
func runModel(t *testing.T, m *onnx.Model, input string, opts ...onnx.Option) (out []float32, ops []string) {
	t.Helper()
	err := opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		var shape []int
		size := 1
		for _, n := range extentsOf(input, " ") {
			shape, size = append(shape, int(n)), size*int(n)
		}
		x := g.Input("x", dtype.F32, shape...)
		net, err := m.Insert(g, map[string]graph.Tensor{"x": x}, opts...)
		if err != nil {
			return err
		}
		ops = operations(g, net)
		p, err := s.Inference(context.Background(), g, net.Outputs...)
		if err != nil {
			return err
		}
		if err := s.SetVariables(net.Variables); err != nil {
			return err
		}
		r, data := rand.New(rand.NewPCG(8, 8)), make([]float32, size)
		for i := range data {
			data[i] = float32(r.NormFloat64())
		}
		if err := p.Run(context.Background(), opgen.With(x, data)); err != nil {
			return err
		}
		out, err = opgen.Fetch[float32](p, net.Outputs[0])
		return err
	}, opgen.Workers(1))
	if err != nil {
		t.Fatal(err)
	}
	return out, ops
}
