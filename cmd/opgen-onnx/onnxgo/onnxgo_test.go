package onnxgo

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/onnx"
)

var target = &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries}

// port returns an input or an output of f32; extents are numbers or names.
func port(name string, extents ...any) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, e := range extents {
		d := &onnxpb.TensorShapeProto_Dimension{}
		switch e := e.(type) {
		case int:
			d.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(e)}
		case string:
			d.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: e}
		}
		shape.Dim = append(shape.Dim, d)
	}
	return &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), Shape: shape}}}}
}

// node returns a node; "a b -> c" are its inputs and its outputs.
func node(op, values string, attrs ...*onnxpb.AttributeProto) *onnxpb.NodeProto {
	in, out, _ := strings.Cut(values, "->")
	return &onnxpb.NodeProto{OpType: &op, Input: strings.Fields(in), Output: strings.Fields(out), Name: proto.String("node of " + strings.Fields(out)[0]), Attribute: attrs}
}

func integer(name string, n int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_INT.Enum(), I: &n}
}

func integers(name string, dims []int64, list ...int64) *onnxpb.TensorProto {
	return &onnxpb.TensorProto{Name: &name, DataType: proto.Int32(int32(onnxpb.TensorProto_INT64)), Dims: dims, Int64Data: list}
}

// weights returns numbers from 0 on.
func weights(name string, dims ...int64) *onnxpb.TensorProto {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	t := &onnxpb.TensorProto{Name: &name, DataType: proto.Int32(int32(onnxpb.TensorProto_FLOAT)), Dims: dims}
	for i := range n {
		t.FloatData = append(t.FloatData, float32(i)/float32(n))
	}
	return t
}

// write writes the package of a graph and returns its files by their names.
func write(t *testing.T, g *onnxpb.GraphProto, o Options) (map[string]string, error) {
	t.Helper()
	data, err := proto.Marshal(&onnxpb.ModelProto{IrVersion: proto.Int64(8), Graph: g, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Read(data, target)
	if err != nil {
		t.Fatal(err)
	}
	o.Package, o.Source = "net", "net.onnx"
	files, err := Write(m, target, o)
	if err != nil {
		return nil, err
	}
	again, err := Write(m, target, o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i, f := range files {
		if !bytes.Equal(f.Data, again[i].Data) {
			t.Errorf("%s differs when it is written again", f.Path)
		}
		out[f.Path] = string(f.Data)
		if text, err := format.Source(f.Data); strings.HasSuffix(f.Path, ".go") && (err != nil || !bytes.Equal(text, f.Data)) {
			t.Errorf("%s is not as gofmt writes it: %v", f.Path, err)
		}
	}
	return out, nil
}

// has fails unless a file of Go has lines, in any order.
func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == want }) {
			t.Errorf("want the line\n%s\nin\n%s", want, text)
		}
	}
}

// TestExtents writes a network whose shapes follow from the extents of its input.
func TestExtents(t *testing.T) {
	g := &onnxpb.GraphProto{
		Input: []*onnxpb.ValueInfoProto{port("x", "batch", 4, "time")}, Output: []*onnxpb.ValueInfoProto{port("y")},
		Initializer: []*onnxpb.TensorProto{integers("two", []int64{1}, 2), integers("rest", []int64{1}, -1), integers("first", []int64{}, 0), integers("axis", []int64{1}, 0)},
		Node: []*onnxpb.NodeProto{
			node("Shape", "x -> shape"), node("Gather", "shape first -> n", integer("axis", 0)), node("Unsqueeze", "n axis -> n1"),
			node("Concat", "n1 two rest -> target", integer("axis", 0)), node("Reshape", "x target -> halves"), node("Relu", "halves -> y"),
		},
	}
	files, err := write(t, g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	has(t, files["net.go"], `if err := check("x", x, dtype.F32, -1, 4, -1); err != nil {`, "batch := x.Shape()[0]", "x = reshape.Apply(g, reshape.Defaults(attr.ListOf(batch, 2, 2*time)), x)", "x = elementunary.Relu(g, x)")
	if files["weights.safetensors"] != "" || strings.Contains(files["net.go"], "Load") {
		t.Error("a network without weights has a file of weights")
	}
	files, err = write(t, g, Options{Extents: map[string][]int{"x": {3, 4, 5}}, Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	has(t, files["net.go"], `if err := check("x", x, dtype.F32, 3, 4, 5); err != nil {`, "x = reshape.Apply(g, reshape.Defaults(attr.ListOf(3, 2, 10)), x)")
}

// TestSums writes a network with an extent that is the sum of two others, of which none changes alone.
func TestSums(t *testing.T) {
	g := &onnxpb.GraphProto{
		Input: []*onnxpb.ValueInfoProto{port("x", "new", 4), port("past", "old", 4), port("mask", "all", 1)}, Output: []*onnxpb.ValueInfoProto{port("y")},
		Initializer: []*onnxpb.TensorProto{integers("shape", []int64{2}, -1, 2)},
		Node:        []*onnxpb.NodeProto{node("Concat", "past x -> tokens", integer("axis", 0)), node("Mul", "tokens mask -> kept"), node("Reshape", "kept shape -> y")},
	}
	given := map[string][]int{"x": {3, 4}, "past": {5, 4}, "mask": {8, 1}}
	files, err := write(t, g, Options{Extents: given})
	if err != nil {
		t.Fatal(err)
	}
	has(t, files["net.go"], `if err := check("x", x, dtype.F32, -1, 4); err != nil {`, `if err := check("past", past, dtype.F32, -1, 4); err != nil {`, `if err := check("mask", mask, dtype.F32, -1, 1); err != nil {`)
	if files, err = write(t, g, Options{Extents: given, Fixed: true}); err != nil {
		t.Fatal(err)
	}
	has(t, files["net.go"], `if err := check("x", x, dtype.F32, 3, 4); err != nil {`, `if err := check("mask", mask, dtype.F32, 8, 1); err != nil {`)
}

// TestSeveralWithin writes a function whose statements give several tensors on the way.
func TestSeveralWithin(t *testing.T) {
	g := &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{port("x", "batch", 4)}, Output: []*onnxpb.ValueInfoProto{port("y")}}
	value := "x"
	for i, next := range []string{"p", "q", "y"} {
		name := fmt.Sprintf("w%d", i)
		g.Initializer = append(g.Initializer, weights(name, 4, 4))
		g.Node = append(g.Node, node("MatMul", fmt.Sprintf("%s %s -> %[2]s.all", value, name)), node("Relu", fmt.Sprintf("%s.all -> %[1]s.kept", name)),
			node("Split", fmt.Sprintf("%s.kept -> %[1]s.left %[1]s.right", name), integer("axis", 1)), node("Sub", fmt.Sprintf("%s.left %[1]s.right -> %[1]s.less", name)),
			node("Concat", fmt.Sprintf("%s.less %[1]s.left -> %s", name, next), integer("axis", 1)))
		value = next
	}
	files, err := write(t, g, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := files["net.go"]; strings.Count(text, "split.Apply(") != 1 || !strings.Contains(text, ":= split.Apply(") {
		t.Errorf("want a function that names what split gives, got\n%s", text)
	}
}

// layers returns a network of layers, each a product and further operators: four of equal sizes, and another
// one.
func layers(then ...string) *onnxpb.GraphProto {
	g := &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{port("x", "batch", 3)}}
	value := "x"
	layer := func(name string, in, out int64) {
		g.Initializer = append(g.Initializer, weights(name+".weight", in, out), weights(name+".bias", out))
		g.Node = append(g.Node, node("Gemm", fmt.Sprintf("%s %s.weight %[2]s.bias -> %[2]s.sum", value, name)))
		next := name + ".sum"
		for _, op := range then {
			g.Node = append(g.Node, node(op, fmt.Sprintf("%s -> %s.%s", next, name, op)))
			next = name + "." + op
		}
		value = next
	}
	for i := range 4 {
		layer(fmt.Sprintf("layers.%d", i), 3, 3)
	}
	layer("head", 3, 7)
	g.Output = []*onnxpb.ValueInfoProto{port(value)}
	return g
}

// TestLoops writes layers whose names are numbers as a loop, and what repeats otherwise as a function.
func TestLoops(t *testing.T) {
	for _, tt := range []struct{ then, lines []string }{
		{[]string{"Relu"}, []string{"for i := range 4 {", `x = linear.Apply(g, linear.Defaults(3), x, graph.Named(fmt.Sprintf("layers.%d", i)))`, "x = elementunary.Relu(g, x)", `x = linear.Apply(g, linear.Defaults(7), x, graph.Named("head"))`}},
		{[]string{"Relu", "Exp", "Tanh"}, []string{"for i := range 4 {", `x = layer(g, x, fmt.Sprintf("layers.%d", i), 3)`, `x = layer(g, x, "head", 7)`, "func layer(g *graph.Graph, x graph.Tensor, name string, outChannels int) graph.Tensor {"}},
	} {
		files, err := write(t, layers(tt.then...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		has(t, files["net.go"], tt.lines...)
		for i := range 4 {
			if !strings.Contains(files["weights.safetensors"], fmt.Sprintf(`"layers.%d.`, i)) {
				t.Errorf("the file of weights lacks those of layer %d", i)
			}
		}
	}
}

// list returns an input or an output that is a sequence of tensors of f32.
func list(name string, extents ...any) *onnxpb.ValueInfoProto {
	of := &onnxpb.TypeProto_Sequence{ElemType: port("x", extents...).GetType()}
	return &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_SequenceType{SequenceType: of}}}
}

// optional returns an input or an output that may be absent.
func optional(p *onnxpb.ValueInfoProto) *onnxpb.ValueInfoProto {
	return &onnxpb.ValueInfoProto{Name: p.Name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_OptionalType{OptionalType: &onnxpb.TypeProto_Optional{ElemType: p.GetType()}}}}
}

// TestSequences writes sequences among inputs and outputs as arrays, and optional values as tensors, or not
// at all.
func TestSequences(t *testing.T) {
	y := port("y", "rows")
	files, err := write(t, &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{list("s", "rows"), port("x", 2), optional(port("z", 2))}, Output: []*onnxpb.ValueInfoProto{y, list("t"), optional(port("w", 2))},
		Node: []*onnxpb.NodeProto{node("ConcatFromSequence", "s -> y", integer("axis", 0)), node("Relu", "x -> u"), node("SequenceInsert", "s u -> t"), node("Optional", "z -> w")}},
		Options{Lists: map[string][][]int{"s": {{3}, {5}, {3}}}, Absent: map[string]bool{"z": true}})
	if err != nil {
		t.Fatal(err)
	}
	has(t, files["net.go"], "func Build(g *graph.Graph, s [3]graph.Tensor, x graph.Tensor) (Outputs, error) {", "rows := s[0].Shape()[0]", `if err := check("s[1]", s[1], dtype.F32, -1); err != nil {`, "rows2 := s[1].Shape()[0]", `if err := check("s[2]", s[2], dtype.F32, rows); err != nil {`,
		"T [4]graph.Tensor // f32", "return Outputs{Y: y, T: [4]graph.Tensor{z, reshape2, reshape3, x}}, g.Err()")
	files, err = write(t, &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{optional(port("z", 2)), list("none")}, Output: []*onnxpb.ValueInfoProto{list("t")},
		Node: []*onnxpb.NodeProto{node("OptionalGetElement", "z -> u"), node("Relu", "u -> v"), node("SequenceInsert", "none v -> t")}}, Options{Lists: map[string][][]int{"none": {}}})
	if err != nil {
		t.Fatal(err)
	}
	has(t, files["net.go"], "func Build(g *graph.Graph, z graph.Tensor, none [0]graph.Tensor) ([1]graph.Tensor, error) {", "return [1]graph.Tensor{x}, g.Err()")
	x := port("x", 2)
	both := []*onnxpb.NodeProto{node("ConcatFromSequence", "s -> y", integer("axis", 0))}
	for want, c := range map[string]struct {
		g *onnxpb.GraphProto
		o Options
	}{
		"input s: want the extents of each tensor of the sequence": {g: &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{list("s", 2)}, Output: []*onnxpb.ValueInfoProto{y}, Node: both}},
		"input s[1]: want the extent 2 in dimension 0, as the file says, got 3": {&onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{list("s", 2)}, Output: []*onnxpb.ValueInfoProto{y}, Node: both},
			Options{Lists: map[string][][]int{"s": {{2}, {3}}}}},
		"input x: want a value, since it is not optional, got none": {&onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{x}, Output: []*onnxpb.ValueInfoProto{y}, Node: []*onnxpb.NodeProto{node("Relu", "x -> y")}},
			Options{Absent: map[string]bool{"x": true}}},
		"output y: want a tensor, got 2 of them": {g: &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{x}, Output: []*onnxpb.ValueInfoProto{y}, Node: []*onnxpb.NodeProto{node("SequenceConstruct", "x x -> y")}}},
	} {
		if _, err := write(t, c.g, c.o); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestRefused refuses what depends on extents in a way that no expression says, and what the catalogue does
// not compute: with operator, version and node.
func TestRefused(t *testing.T) {
	x, y := []*onnxpb.ValueInfoProto{port("x", "length")}, []*onnxpb.ValueInfoProto{port("y")}
	scalars := []*onnxpb.TensorProto{integers("zero", []int64{}, 0), integers("one", []int64{}, 1), integers("most", []int64{}, 5)}
	tests := []struct {
		name, want string
		nodes      []*onnxpb.NodeProto
	}{
		{"a constant", `onnx: Constant of version 17, node "places": a constant depends on the extents of inputs; fixed extents have no such difference`, []*onnxpb.NodeProto{
			node("Shape", "x -> shape"), node("Expand", "one shape -> ones"), node("NonZero", "ones -> places"), node("Cast", "places -> floats", integer("to", 1)), node("Add", "x floats -> y")}},
		{"a fraction", `onnx: Range of version 17, node "node of numbers": the attribute start depends on the extents of inputs; fixed extents have no such difference`, []*onnxpb.NodeProto{
			node("Shape", "x -> shape"), node("Gather", "shape zero -> n"), node("Cast", "n -> number", integer("to", 1)), node("Cast", "most -> five", integer("to", 1)), node("Cast", "one -> step", integer("to", 1)),
			node("Div", "number five -> part"), node("Add", "part five -> end"), node("Range", "part end step -> numbers"), node("Concat", "x numbers -> y", integer("axis", 0))}},
		{"a count of rows", `onnx: Constant of version 17, node "kept": a constant depends on the extents of inputs; fixed extents have no such difference`, []*onnxpb.NodeProto{
			node("Shape", "x -> shape"), node("Gather", "shape zero -> n"), node("Range", "zero n one -> numbers"), node("Unique", "numbers -> kept"), node("Cast", "kept -> floats", integer("to", 1)), node("Add", "x floats -> y")}},
		{"no operator", `onnx: Loud of version 17, node "node of y": the catalogue has no such operator`, []*onnxpb.NodeProto{node("Loud", "x -> y")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := write(t, &onnxpb.GraphProto{Input: x, Output: y, Node: tt.nodes, Initializer: scalars}, Options{})
			if r := (*onnx.Refused)(nil); !errors.As(err, &r) || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestComputed writes nodes for constants that depend on extents: numbers up to an extent, filled tensors,
// parameters that are repeated, and extents themselves.
func TestComputed(t *testing.T) {
	x, y := []*onnxpb.ValueInfoProto{port("x", "length", 3)}, []*onnxpb.ValueInfoProto{port("y")}
	stored := []*onnxpb.TensorProto{integers("zero", []int64{}, 0), integers("one", []int64{}, 1), integers("list", []int64{1}, 0), weights("token", 1, 3), integers("axis", []int64{1}, 1)}
	count := []*onnxpb.NodeProto{node("Shape", "x -> shape"), node("Gather", "shape zero -> n")}
	for name, c := range map[string]struct {
		line  string
		nodes []*onnxpb.NodeProto
	}{
		"numbers": {"sequence.Apply(g, sequence.Defaults(0, length).WithDataType(dtype.I64))", []*onnxpb.NodeProto{
			node("Range", "zero n one -> numbers"), node("Cast", "numbers -> floats", integer("to", 1)), node("Unsqueeze", "floats axis -> column"), node("Add", "x column -> y")}},
		"filled":   {"full.Apply(g, full.Defaults(attr.ListOf(length, 3)).WithValue(0).WithDataType(dtype.F32))", []*onnxpb.NodeProto{node("ConstantOfShape", "shape -> zeros"), node("Concat", "x zeros -> y", integer("axis", 0))}},
		"repeated": {`broadcast.Apply(g, broadcast.Defaults(attr.ListOf(length, 3)), parameter(g, "token", dtype.F32, 1, 3))`, []*onnxpb.NodeProto{node("Expand", "token shape -> tokens"), node("Concat", "x tokens -> y", integer("axis", 0))}},
		"extents":  {"sequence.Apply(g, sequence.Defaults(float64(length), 1).WithDataType(dtype.I64))", []*onnxpb.NodeProto{node("Cast", "n -> number", integer("to", 1)), node("Div", "x number -> y")}},
	} {
		files, err := write(t, &onnxpb.GraphProto{Input: x, Output: y, Node: append(slices.Clone(count), c.nodes...), Initializer: stored}, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(files["net.go"], c.line) {
			t.Errorf("%s: want the line %s, got %s", name, c.line, files["net.go"])
		}
	}
}

// TestManyExtents refuses inputs with so many open extents that building for them would take long.
func TestManyExtents(t *testing.T) {
	var extents []any
	for i := range maxSymbols + 1 {
		extents = append(extents, fmt.Sprintf("n%d", i))
	}
	g := &onnxpb.GraphProto{Input: []*onnxpb.ValueInfoProto{port("x", extents...)}, Output: []*onnxpb.ValueInfoProto{port("y")}, Node: []*onnxpb.NodeProto{node("Relu", "x -> y")}}
	if _, err := write(t, g, Options{}); err == nil || err.Error() != "want at most 16 extents that callers choose, got 17; give extents, and fix them" {
		t.Errorf("got %v", err)
	}
	ones := make([]int, maxSymbols+1)
	for i := range ones {
		ones[i] = 1
	}
	if _, err := write(t, g, Options{Extents: map[string][]int{"x": ones}, Fixed: true}); err != nil {
		t.Error(err)
	}
}

// TestFit finds integers as expressions of extents.
func TestFit(t *testing.T) {
	symbols := []symbol{{seen: []int{2, 3, 5, 4}}, {seen: []int{8, 9, 10, 16}}}
	operands := [][][]int{{{2, 3, 5, 4}, {7, 7, 7, 7}, {4, 4, 5, 8}}, {{6, 9, 20, 28}}}
	name := func(a atom) string {
		if a.symbol >= 0 {
			return string(rune('a' + a.symbol))
		}
		return fmt.Sprintf("x%d", a.axis)
	}
	tests := []struct {
		want   string
		values []int
	}{
		{"6", []int{6, 6, 6, 6}}, {"a", []int{2, 3, 5, 4}}, {"b", []int{8, 9, 10, 16}}, {"x2", []int{4, 4, 5, 8}}, {"7*a", []int{14, 21, 35, 28}},
		{"a*b", []int{16, 27, 50, 64}}, {"7*a*x2", []int{56, 84, 175, 224}}, {"3*a+1", []int{7, 10, 16, 13}}, {"(b+1)/3", []int{3, 3, 3, 5}}, {"(b+1)/3+1", []int{4, 4, 4, 6}},
		{"x0/max(a, 1)", []int{3, 3, 4, 7}}, {"a*a", []int{4, 9, 25, 16}}, {"none", []int{1, 0, 1, 7}},
	}
	for _, tt := range tests {
		got := "none"
		if e, ok := fit(tt.values, symbols, operands); ok {
			got = e.text(name)
			for i, v := range tt.values {
				if e.at(i) != v {
					t.Errorf("%v: %s gives %d in build %d", tt.values, got, e.at(i), i)
				}
			}
		}
		if got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.values, got, tt.want)
		}
	}
}
