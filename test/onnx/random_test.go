//go:build onnxruntime

package onnx

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

var (
	randomGraphs = flag.Int("graphs", 150, "number of random graphs that TestRandomInRuntime compares")
	randomSeed   = flag.Uint64("graph-seed", 1, "seed of the first random graph")
	randomOnly   = flag.String("graph-op", "", "the one kind of nodes that random graphs have; empty for all")
)

// randomValue is a value of a random graph.
type randomValue struct {
	name  string
	kind  dtype.Type
	shape []int
	exact bool // no rounding decides about its elements, so functions with jumps may read it
}

func (v randomValue) elements() int {
	n := 1
	for _, e := range v.shape {
		n *= e
	}
	return n
}

// randomGraph is a model that grows node by node. The extents of what a node gives are those that package
// onnx finds.
type randomGraph struct {
	*rand.Rand
	t       *testing.T
	h       *hand
	values  []randomValue
	names   int
	refused map[string]int
	draft   []*onnxpb.NodeProto // nodes of the step at hand, which are added together or not at all
	stored  map[string]safetensors.Tensor
}

func newRandomGraph(t *testing.T, seed uint64, refused map[string]int) *randomGraph {
	g := &randomGraph{Rand: rand.New(rand.NewPCG(seed, 41)), t: t, refused: refused}
	g.h = &hand{opset: 9 + g.IntN(14), fed: map[string]safetensors.Tensor{}, stored: map[string]safetensors.Tensor{}}
	shapes := [][]int{{2, 3, 4}, {1, 4, 6, 5}, {3, 4}, {2, 4, 5, 6}, {5}, {2, 1, 4}, {4, 4}, {1, 2, 6}}
	for range 2 + g.IntN(2) {
		g.feed(dtype.F32, shapes[g.IntN(len(shapes))])
	}
	g.feed(dtype.I64, shapes[g.IntN(len(shapes))])
	return g
}

// number draws an element: multiples of 1/4, so that sums and products are exact.
func (g *randomGraph) number(kind dtype.Type) float64 {
	x := float64(g.IntN(33) - 16)
	switch {
	case kind == dtype.Bool:
		return float64(g.IntN(2))
	case kind.IsFloat():
		return x / 4
	case kind == dtype.U8:
		return x + 100
	}
	return x
}

func (g *randomGraph) tensor(kind dtype.Type, shape []int) safetensors.Tensor {
	return each(kind, shape, func([]int) float64 { return g.number(kind) })
}

func (g *randomGraph) name() string { g.names++; return fmt.Sprintf("v%d", g.names) }

func (g *randomGraph) feed(kind dtype.Type, shape []int) {
	v := randomValue{g.name(), kind, shape, true}
	g.h.fed[v.name] = g.tensor(kind, shape)
	g.values = append(g.values, v)
}

// constant stores a tensor.
func (g *randomGraph) constant(x safetensors.Tensor) string {
	name := g.name()
	g.stored[name] = x
	return name
}

func (g *randomGraph) ints(x ...int) string {
	t := of(dtype.I64, []int{len(x)})
	t.Data = make([]byte, 8*len(x))
	for i, n := range x {
		dtype.I64.PutFloat64(t.Data[i*8:], float64(n))
	}
	return g.constant(t)
}

func (g *randomGraph) scalar(kind dtype.Type, x float64) string {
	return g.constant(of(kind, []int{}, x))
}

// floats stores random numbers.
func (g *randomGraph) floats(shape ...int) string { return g.constant(g.tensor(dtype.F32, shape)) }

// pick returns a value that some predicates hold of; its name is "" if there is none.
func (g *randomGraph) pick(that ...func(randomValue) bool) randomValue {
	for _, i := range g.Perm(len(g.values)) {
		v := g.values[i]
		if !slices.ContainsFunc(that, func(f func(randomValue) bool) bool { return !f(v) }) {
			return v
		}
	}
	return randomValue{}
}

func isFloat(v randomValue) bool { return v.kind == dtype.F32 }
func isWhole(v randomValue) bool { return v.kind == dtype.I64 }
func isTruth(v randomValue) bool { return v.kind == dtype.Bool }
func isExact(v randomValue) bool { return v.exact }
func isNumber(v randomValue) bool {
	return v.kind == dtype.F32 || v.kind == dtype.I64
}
func ofRank(n int) func(randomValue) bool {
	return func(v randomValue) bool { return len(v.shape) == n }
}
func atLeast(n int) func(randomValue) bool {
	return func(v randomValue) bool { return len(v.shape) >= n }
}
func small(v randomValue) bool { return v.elements() <= 2000 }

// node drafts a node with an output of its own, whose name it returns.
func (g *randomGraph) node(text string, attrs ...any) string {
	out := g.name()
	g.draft = append(g.draft, op(text+" -> "+out, attrs...))
	return out
}

// nodes drafts a node with several outputs.
func (g *randomGraph) nodes(n int, text string, attrs ...any) (outs []string) {
	for range n {
		outs = append(outs, g.name())
	}
	g.draft = append(g.draft, op(text+" -> "+strings.Join(outs, " "), attrs...))
	return outs
}

// axis draws a dimension, from the front or from behind.
func (g *randomGraph) axis(v randomValue) int {
	n := g.IntN(len(v.shape))
	if g.h.opset >= 11 && g.IntN(2) == 0 {
		return n - len(v.shape)
	}
	return n
}

func (g *randomGraph) unsqueeze(x string, axes ...int) string {
	if g.h.opset < 13 {
		return g.node("Unsqueeze "+x, "axes", axes)
	}
	return g.node("Unsqueeze " + x + " " + g.ints(axes...))
}

// slice drafts a slice along one dimension.
func (g *randomGraph) slice(x string, from, to, axis, step int) string {
	if g.h.opset < 10 {
		return g.node("Slice "+x, "starts", []int{from}, "ends", []int{to}, "axes", []int{axis})
	}
	return g.node("Slice " + x + " " + g.ints(from) + " " + g.ints(to) + " " + g.ints(axis) + " " + g.ints(step))
}

// extent drafts the nodes by which exporters read an extent, as a tensor of one element.
func (g *randomGraph) extent(v randomValue, d int) string {
	s := g.node("Shape " + v.name)
	if g.IntN(2) == 0 {
		return g.slice(s, d, d+1, 0, 1)
	}
	return g.unsqueeze(g.node("Gather "+s+" "+g.scalar(dtype.I64, float64(d)), "axis", 0), 0)
}

// step drafts nodes of a kind that is drawn, and keeps them if package onnx takes them.
func (g *randomGraph) step() {
	names := slices.Sorted(maps.Keys(randomSteps))
	name := names[g.IntN(len(names))]
	if *randomOnly != "" {
		name = *randomOnly
	}
	s := randomSteps[name]
	g.draft, g.stored = nil, map[string]safetensors.Tensor{}
	outs := s(g)
	if len(outs) == 0 {
		return
	}
	h := &hand{opset: g.h.opset, fed: g.h.fed, stored: maps.Clone(g.h.stored), nodes: append(slices.Clone(g.h.nodes), g.draft...)}
	maps.Copy(h.stored, g.stored)
	for _, o := range outs {
		h.out = append(h.out, o.name)
	}
	tensors, err := h.insert(g.t)
	if err != nil {
		var r *onnx.Refused
		if !errors.As(err, &r) {
			g.t.Errorf("%s: refused without a name: %v", name, err)
			return
		}
		text := fmt.Sprintf("%s: %s %d: %s", name, r.Op, r.Version, r.Missing)
		if r.Err != nil {
			text += ": " + r.Err.Error()
		}
		g.refused[text]++
		return
	}
	g.h.nodes, g.h.stored = h.nodes, h.stored
	for i, o := range outs {
		o.kind, o.shape = tensors[i].Type(), tensors[i].Shape()
		g.values = append(g.values, o)
		g.h.out = append(g.h.out, o.name)
	}
}

// insert inserts the model into a graph, and returns its outputs.
func (h *hand) insert(t *testing.T) ([]graph.Tensor, error) {
	m, err := onnx.Read(h.bytes(t), target)
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New(1)
	inputs := map[string]graph.Tensor{}
	for name, x := range h.fed {
		inputs[name] = g.Input(name, x.Type, x.Shape...)
	}
	net, err := m.Insert(g, inputs)
	if err != nil {
		return nil, err
	}
	return net.Outputs, nil
}

func exactly(name string) []randomValue  { return []randomValue{{name: name, exact: true}} }
func rounding(name string) []randomValue { return []randomValue{{name: name}} }
func like(v randomValue, name string) []randomValue {
	return []randomValue{{name: name, exact: v.exact}}
}

// unaryStep drafts one of several operators of one input.
func unaryStep(exact bool, since map[string]int, that ...func(randomValue) bool) func(*randomGraph) []randomValue {
	return func(g *randomGraph) []randomValue {
		names := slices.Sorted(maps.Keys(since))
		name := names[g.IntN(len(names))]
		v := g.pick(that...)
		if v.name == "" || since[name] > g.h.opset {
			return nil
		}
		return []randomValue{{name: g.node(name + " " + v.name), exact: exact && v.exact}}
	}
}

// randomSteps lists kinds of nodes, of which a few each are drawn.
var randomSteps = map[string]func(*randomGraph) []randomValue{
	"smooth": unaryStep(false, map[string]int{"Exp": 6, "Tanh": 6, "Sigmoid": 6, "Erf": 9, "Softplus": 1, "Softsign": 1, "Sin": 7, "Cos": 7, "Atan": 7, "Elu": 6, "Selu": 6, "HardSigmoid": 6, "LeakyRelu": 6,
		"HardSwish": 14, "Mish": 18, "Gelu": 20, "Celu": 12, "Sinh": 9, "Asinh": 9, "ThresholdedRelu": 10, "Shrink": 9, "Identity": 1}, isFloat),
	"exact": unaryStep(true, map[string]int{"Neg": 6, "Abs": 6, "Sign": 9}, isNumber),
	"relu":  unaryStep(true, map[string]int{"Relu": 6, "Identity": 1}, isFloat),
	"jump":  unaryStep(true, map[string]int{"Floor": 6, "Ceil": 6, "Round": 11, "Sign": 9, "IsNaN": 9, "IsInf": 10}, isFloat, isExact),
	"root": func(g *randomGraph) []randomValue {
		v := g.pick(isFloat)
		return rounding(g.node("Sqrt " + g.node("Add "+g.node("Abs "+v.name)+" "+g.scalar(dtype.F32, 0.5))))
	},
	"not":     unaryStep(true, map[string]int{"Not": 1}, isTruth),
	"nonzero": func(g *randomGraph) []randomValue { return exactly(g.node("NonZero " + g.floats(2, 3))) },
	"binary": func(g *randomGraph) []randomValue {
		v := g.pick(isNumber)
		ops := []string{"Add", "Sub", "Mul", "Add", "Max", "Min"}
		name := ops[g.IntN(len(ops))]
		if (name == "Max" || name == "Min") && (v.kind != dtype.F32 && g.h.opset < 12) {
			return nil
		}
		w := g.pick(func(w randomValue) bool { return w.kind == v.kind && suits(v.shape, w.shape) })
		return []randomValue{{name: g.node(name + " " + v.name + " " + w.name), exact: v.exact && w.exact}}
	},
	"variadic": func(g *randomGraph) []randomValue {
		v := g.pick(isFloat)
		w := g.pick(isFloat, func(w randomValue) bool { return suits(v.shape, w.shape) })
		name := []string{"Sum", "Max", "Min", "Mean"}[g.IntN(4)]
		return []randomValue{{name: g.node(name + " " + v.name + " " + w.name + " " + v.name), exact: name != "Mean" && v.exact && w.exact}}
	},
	"divide": func(g *randomGraph) []randomValue {
		v := g.pick(isNumber)
		d := g.scalar(v.kind, 3)
		if v.kind == dtype.I64 && g.IntN(2) == 0 {
			d = g.scalar(v.kind, -4)
		}
		return []randomValue{{name: g.node("Div " + v.name + " " + d), exact: v.kind == dtype.I64}}
	},
	"mod": func(g *randomGraph) []randomValue {
		if g.h.opset < 10 {
			return nil
		}
		v := g.pick(isNumber, isExact)
		if v.kind == dtype.F32 {
			return exactly(g.node("Mod "+v.name+" "+g.scalar(dtype.F32, []float64{1.25, -0.75}[g.IntN(2)]), "fmod", 1))
		}
		return exactly(g.node("Mod "+v.name+" "+g.scalar(dtype.I64, []float64{3, -5}[g.IntN(2)]), "fmod", g.IntN(2)))
	},
	"pow": func(g *randomGraph) []randomValue {
		v := g.pick(isFloat)
		if g.h.opset >= 12 && g.IntN(3) == 0 {
			return rounding(g.node("Pow " + v.name + " " + g.scalar(dtype.I64, 3)))
		}
		return rounding(g.node("Pow " + v.name + " " + g.scalar(dtype.F32, []float64{2, 3, 1}[g.IntN(3)])))
	},
	"compare": func(g *randomGraph) []randomValue {
		v := g.pick(isNumber, isExact)
		name := []string{"Less", "Greater", "Equal"}[g.IntN(3)]
		if g.h.opset >= 12 && g.IntN(2) == 0 {
			name = []string{"LessOrEqual", "GreaterOrEqual"}[g.IntN(2)]
		}
		if name == "Equal" && v.kind == dtype.F32 && g.h.opset < 11 {
			return nil
		}
		w := g.pick(isExact, func(w randomValue) bool { return w.kind == v.kind && suits(v.shape, w.shape) })
		return exactly(g.node(name + " " + v.name + " " + w.name))
	},
	"logic": func(g *randomGraph) []randomValue {
		v := g.pick(isTruth)
		w := g.pick(isTruth, func(w randomValue) bool { return suits(v.shape, w.shape) })
		if v.name == "" || w.name == "" {
			return nil
		}
		return exactly(g.node([]string{"And", "Or", "Xor"}[g.IntN(3)] + " " + v.name + " " + w.name))
	},
	"where": func(g *randomGraph) []randomValue {
		c := g.pick(isTruth)
		v := g.pick(isNumber, func(v randomValue) bool { return suits(c.shape, v.shape) })
		if c.name == "" || v.name == "" {
			return nil
		}
		return []randomValue{{name: g.node("Where " + c.name + " " + v.name + " " + g.scalar(v.kind, -2)), exact: v.exact}}
	},
	"cast": func(g *randomGraph) []randomValue {
		v := g.pick(isExact)
		if g.h.opset < 10 {
			return nil
		}
		to := []dtype.Type{dtype.F32, dtype.I64, dtype.I32, dtype.Bool, dtype.F64, dtype.U8, dtype.I8}[g.IntN(7)]
		if (to == dtype.U8 || to == dtype.I8) && isNumber(v) { // what does not fit is up to the processor
			return exactly(g.node("Cast "+g.node("Mod "+v.name+" "+g.scalar(v.kind, 7), "fmod", map[bool]int{true: 1}[v.kind.IsFloat()]), "to", int(numbers[dtype.I64])))
		}
		x := g.node("Cast "+v.name, "to", int(numbers[to]))
		if to == dtype.I32 || to == dtype.F64 {
			x = g.node("Cast "+x, "to", int(numbers[v.kind]))
		}
		return exactly(x)
	},
	"narrow": func(g *randomGraph) []randomValue {
		v := g.pick(isFloat, isExact)
		if g.h.opset < 19 || v.name == "" {
			return nil
		}
		if g.h.opset >= 21 && g.IntN(2) == 0 {
			small, scale := g.node("QuantizeLinear "+v.name+" "+g.scalar(dtype.F32, 0.5), "output_dtype", 21+g.IntN(2)), g.scalar(dtype.F32, 0.5)
			return exactly(g.node("DequantizeLinear " + small + " " + scale))
		}
		scaled := g.node("Mul " + v.name + " " + g.scalar(dtype.F32, []float64{1.0 / 512, 0.3, 7, 300, 1e5}[g.IntN(5)]))
		small := g.node("Cast "+scaled, "to", 17+g.IntN(4), "saturate", g.IntN(2))
		return rounding(g.node("Cast "+small, "to", 1))
	},
	"sequence": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat, func(v randomValue) bool { return v.elements() > 0 && slices.Max(v.shape) < 8 })
		if g.h.opset < 11 || v.name == "" {
			return nil
		}
		d := g.axis(v)
		at := (d + len(v.shape)) % len(v.shape)
		switch g.IntN(3) {
		case 0:
			s := g.node("SplitToSequence "+v.name, "axis", d, "keepdims", 0)
			return like(v, g.node("ConcatFromSequence "+s, "axis", -1, "new_axis", 1))
		case 1:
			s := g.node("SplitToSequence "+v.name+" "+g.scalar(dtype.I64, 2), "axis", d)
			s = g.node("SequenceInsert " + s + " " + v.name + " " + g.scalar(dtype.I64, 0))
			last := g.node("Sub " + g.node("SequenceLength "+s) + " " + g.scalar(dtype.I64, 1))
			return append(like(v, g.node("ConcatFromSequence "+s, "axis", at)), like(v, g.node("SequenceAt "+s+" "+last))...)
		}
		s := g.node("SequenceErase " + g.node("SequenceConstruct "+v.name+" "+v.name+" "+v.name) + " " + g.scalar(dtype.I64, -2))
		return like(v, g.node("ConcatFromSequence "+s, "axis", 0, "new_axis", 1))
	},
	"clip": func(g *randomGraph) []randomValue {
		v := g.pick(isFloat)
		if g.h.opset < 11 {
			return like(v, g.node("Clip "+v.name, "min", -1.5, "max", 2.0))
		}
		lo, hi := g.scalar(dtype.F32, -1.5), g.scalar(dtype.F32, 2)
		return like(v, g.node("Clip "+v.name+" "+[]string{lo + " " + hi, "- " + hi, lo}[g.IntN(3)]))
	},
	"transpose": func(g *randomGraph) []randomValue {
		v := g.pick()
		if len(v.shape) == 0 || g.IntN(3) == 0 {
			return like(v, g.node("Transpose "+v.name))
		}
		return like(v, g.node("Transpose "+v.name, "perm", g.Perm(len(v.shape))))
	},
	"flatten": func(g *randomGraph) []randomValue {
		v := g.pick(isNumber)
		n := g.IntN(len(v.shape) + 1)
		if g.h.opset >= 11 && len(v.shape) > 0 && g.IntN(2) == 0 {
			n = g.IntN(len(v.shape)) - len(v.shape)
		}
		return like(v, g.node("Flatten "+v.name, "axis", n))
	},
	// The first extent of a tensor, and the rest.
	"reshape": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), func(v randomValue) bool { return v.elements() > 0 })
		switch g.IntN(4) {
		case 0:
			return like(v, g.node("Reshape "+v.name+" "+g.ints(0, -1)))
		case 1:
			return like(v, g.node("Reshape "+v.name+" "+g.ints(-1)))
		case 2:
			return like(v, g.node("Reshape "+v.name+" "+g.node("Concat "+g.extent(v, 0)+" "+g.ints(-1), "axis", 0)))
		}
		last := len(v.shape) - 1
		product := g.node("Mul " + g.extent(v, 0) + " " + g.node("ReduceProd "+g.node("Shape "+v.name), "keepdims", 1))
		first := g.node("Div " + product + " " + g.node("Mul "+g.extent(v, last)+" "+g.extent(v, 0)))
		return like(v, g.node("Reshape "+v.name+" "+g.node("Concat "+first+" "+g.extent(v, last), "axis", 0)))
	},
	"squeeze": func(g *randomGraph) []randomValue {
		v := g.pick()
		at := g.IntN(len(v.shape) + 1)
		x := g.unsqueeze(v.name, at)
		if g.IntN(2) == 0 {
			return like(v, x)
		}
		if g.h.opset < 13 {
			return like(v, g.node("Squeeze "+x, "axes", []int{at}))
		}
		return like(v, g.node("Squeeze "+x+" "+g.ints(at-len(v.shape)-1)))
	},
	"squeeze all": func(g *randomGraph) []randomValue { v := g.pick(); return like(v, g.node("Squeeze "+v.name)) },
	"concat": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), small)
		d := g.axis(v)
		w := g.pick(func(w randomValue) bool {
			a, b := slices.Clone(v.shape), slices.Clone(w.shape)
			if len(a) != len(b) || v.kind != w.kind {
				return false
			}
			at := (d + len(a)) % len(a)
			a[at], b[at] = 0, 0
			return slices.Equal(a, b)
		})
		return []randomValue{{name: g.node("Concat "+v.name+" "+w.name+" "+v.name, "axis", d), exact: v.exact && w.exact}}
	},
	"split": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1))
		d := g.axis(v)
		n := v.shape[(d+len(v.shape))%len(v.shape)]
		if n < 2 {
			return nil
		}
		k := 1 + g.IntN(n-1)
		var outs []string
		if g.h.opset < 13 {
			outs = g.nodes(2, "Split "+v.name, "axis", d, "split", []int{k, n - k})
		} else {
			outs = g.nodes(2, "Split "+v.name+" "+g.ints(k, n-k), "axis", d)
		}
		return append(like(v, outs[0]), like(v, outs[1])...)
	},
	"split evenly": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1))
		d := g.axis(v)
		n := v.shape[(d+len(v.shape))%len(v.shape)]
		if n < 2 || g.h.opset < 18 && n%2 != 0 {
			return nil
		}
		attrs := []any{"axis", d}
		if g.h.opset >= 18 {
			attrs = append(attrs, "num_outputs", 2)
		}
		outs := g.nodes(2, "Split "+v.name, attrs...)
		return append(like(v, outs[0]), like(v, outs[1])...)
	},
	"slice": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1))
		d := g.axis(v)
		from, to, step := g.IntN(9)-4, g.IntN(9)-4, 1+g.IntN(2)
		if g.h.opset >= 10 && g.IntN(3) == 0 {
			step = -step
		}
		if g.IntN(3) == 0 {
			to = 1<<31 - 1
			if step < 0 {
				to = -1 << 31
			}
		}
		if g.h.opset < 10 && d < 0 {
			d += len(v.shape)
		}
		return like(v, g.slice(v.name, from, to, d, step))
	},
	// The second half, as rotary embeddings take it.
	"halves": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat)
		if g.h.opset < 10 {
			return nil
		}
		last := len(v.shape) - 1
		half := g.node("Div " + g.extent(v, last) + " " + g.ints(2))
		a := g.node("Slice " + v.name + " " + g.ints(0) + " " + half + " " + g.ints(last))
		b := g.node("Slice " + v.name + " " + half + " " + g.ints(1<<62) + " " + g.ints(-1) + " " + g.ints(1))
		return append(like(v, g.node("Concat "+g.node("Neg "+b)+" "+a, "axis", -1)), like(v, b)...)
	},
	"gather": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), small)
		d := g.axis(v)
		n := v.shape[(d+len(v.shape))%len(v.shape)]
		if n == 0 {
			return nil
		}
		shape := [][]int{{}, {2}, {2, 2}, {1}}[g.IntN(4)]
		low := 0
		if g.h.opset >= 11 {
			low = n
		}
		index := each(dtype.I64, shape, func([]int) float64 { return float64(g.IntN(n+low) - low) })
		return like(v, g.node("Gather "+v.name+" "+g.constant(index), "axis", d))
	},
	"gather elements": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), small, func(v randomValue) bool { return v.elements() > 0 })
		if g.h.opset < 11 {
			return nil
		}
		d := g.axis(v)
		n := v.shape[(d+len(v.shape))%len(v.shape)]
		shape := slices.Clone(v.shape)
		shape[(d+len(v.shape))%len(v.shape)] = 1 + g.IntN(3)
		return like(v, g.node("GatherElements "+v.name+" "+g.constant(each(dtype.I64, shape, func([]int) float64 { return float64(g.IntN(2*n) - n) })), "axis", d))
	},
	"gather nd": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(2), small, func(v randomValue) bool { return v.elements() > 0 })
		if g.h.opset < 11 || v.name == "" {
			return nil
		}
		batch := 0
		if g.h.opset >= 12 {
			batch = g.IntN(2)
		}
		n := 1 + g.IntN(len(v.shape)-batch)
		shape := append(slices.Clone(v.shape[:batch]), 3, n)
		index := each(dtype.I64, shape, func(i []int) float64 { e := v.shape[batch+i[len(i)-1]]; return float64(g.IntN(2*e) - e) })
		if batch == 0 {
			return like(v, g.node("GatherND "+v.name+" "+g.constant(index)))
		}
		return like(v, g.node("GatherND "+v.name+" "+g.constant(index), "batch_dims", batch))
	},
	"scatter elements": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat, small, func(v randomValue) bool { return v.elements() > 0 })
		if g.h.opset < 11 || v.name == "" {
			return nil
		}
		d := g.axis(v)
		at := (d + len(v.shape)) % len(v.shape)
		shape := slices.Clone(v.shape)
		shape[at] = 1
		index := g.constant(each(dtype.I64, shape, func([]int) float64 { return float64(g.IntN(2*v.shape[at]) - v.shape[at]) }))
		attrs := []any{"axis", d}
		if g.h.opset >= 16 && g.IntN(2) == 0 {
			attrs = append(attrs, "reduction", []string{"add", "mul", "none"}[g.IntN(3)])
		}
		if g.h.opset >= 18 && g.IntN(3) == 0 {
			attrs = []any{"axis", d, "reduction", []string{"max", "min"}[g.IntN(2)]}
		}
		return like(v, g.node("ScatterElements "+v.name+" "+index+" "+g.floats(shape...), attrs...))
	},
	"scatter nd": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat, small, func(v randomValue) bool { return v.elements() > 0 })
		if g.h.opset < 11 || v.name == "" {
			return nil
		}
		n := 1 + g.IntN(len(v.shape))
		row := make([]float64, n)
		for i := range row {
			row[i] = float64(g.IntN(2*v.shape[i]) - v.shape[i])
		}
		return like(v, g.node("ScatterND "+v.name+" "+g.constant(of(dtype.I64, []int{1, n}, row...))+" "+g.floats(append([]int{1}, v.shape[n:]...)...)))
	},
	"expand": func(g *randomGraph) []randomValue {
		v := g.pick(small, atLeast(1))
		if g.IntN(2) == 0 {
			return like(v, g.node("Expand "+v.name+" "+g.ints(append([]int{2}, slices.Repeat([]int{1}, len(v.shape))...)...)))
		}
		w := g.pick(small, func(w randomValue) bool { return suits(v.shape, w.shape) })
		return like(v, g.node("Expand "+v.name+" "+g.node("Shape "+w.name)))
	},
	// -1 stands for an extent that stays, as torch.export writes it.
	"expand as torch": func(g *randomGraph) []randomValue {
		v := g.pick(small, atLeast(1))
		if v.name == "" {
			return nil
		}
		wish := slices.Clone(v.shape)
		wish[g.IntN(len(wish))] = -1
		c := g.ints(wish...)
		ones := g.node("ConstantOfShape "+g.node("Shape "+c), "value", of(dtype.I64, []int{1}, 1))
		minus := g.node("Mul " + ones + " " + g.scalar(dtype.I64, -1))
		return like(v, g.node("Expand "+v.name+" "+g.node("Where "+g.node("Equal "+c+" "+minus)+" "+ones+" "+c)))
	},
	"tile": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), func(v randomValue) bool { return v.elements() < 300 })
		if v.name == "" {
			return nil
		}
		times := make([]int, len(v.shape))
		for i := range times {
			times[i] = 1 + g.IntN(2)
		}
		return like(v, g.node("Tile "+v.name+" "+g.ints(times...)))
	},
	"constant of shape": func(g *randomGraph) []randomValue {
		v := g.pick(small)
		switch g.IntN(3) {
		case 0:
			return exactly(g.node("ConstantOfShape " + g.node("Shape "+v.name)))
		case 1:
			return exactly(g.node("ConstantOfShape "+g.node("Shape "+v.name), "value", of(dtype.I64, []int{1}, 7)))
		}
		return exactly(g.node("ConstantOfShape "+g.node("Shape "+v.name), "value", of(dtype.Bool, []int{1}, 1)))
	},
	"range": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1))
		if g.h.opset < 11 {
			return nil
		}
		n := g.node("Gather "+g.node("Shape "+v.name)+" "+g.scalar(dtype.I64, float64(g.IntN(len(v.shape)))), "axis", 0)
		r := g.node("Range " + g.scalar(dtype.I64, 0) + " " + n + " " + g.scalar(dtype.I64, float64(1+g.IntN(2))))
		if g.IntN(2) == 0 {
			return exactly(r)
		}
		return exactly(g.node("Cast "+r, "to", 1))
	},
	"size": func(g *randomGraph) []randomValue { return exactly(g.node("Size " + g.pick().name)) },
	"shape": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1))
		if g.h.opset >= 15 {
			return exactly(g.node("Shape "+v.name, "start", -1))
		}
		return exactly(g.node("Shape " + v.name))
	},
	"pad": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(2), isFloat, small, func(v randomValue) bool { return v.elements() > 0 && slices.Min(v.shape) > 1 })
		if v.name == "" {
			return nil
		}
		mode := []string{"constant", "reflect", "edge"}[g.IntN(3)]
		if g.h.opset >= 19 && g.IntN(3) == 0 {
			mode = "wrap"
		}
		pads := make([]int, 2*len(v.shape))
		for i := range pads {
			pads[i] = g.IntN(2)
			if mode == "constant" && g.IntN(6) == 0 {
				pads[i] = -1
			}
		}
		for i := range v.shape { // ONNX Runtime takes elements from where there is padding if both are in one dimension
			if pads[i] < 0 || pads[i+len(v.shape)] < 0 {
				pads[i] = min(pads[i], 0)
				pads[i+len(v.shape)] = 0
			}
		}
		if g.h.opset < 11 {
			return like(v, g.node("Pad "+v.name, "pads", pads, "mode", mode, "value", 0.5))
		}
		value := ""
		if mode == "constant" && g.IntN(2) == 0 {
			value = g.scalar(dtype.F32, -3)
		}
		if g.IntN(2) == 0 { // as exporters of PyTorch write it: pairs from the last dimension on
			var pairs []int
			for i := len(v.shape) - 1; i >= 0; i-- {
				pairs = append(pairs, pads[i], pads[i+len(v.shape)])
			}
			r := g.node("Reshape " + g.ints(pairs...) + " " + g.ints(-1, 2))
			r = g.slice(r, -1, -1<<63+1, 0, -1)
			r = g.node("Reshape " + g.node("Transpose "+r, "perm", []int{1, 0}) + " " + g.ints(-1))
			return like(v, g.node("Pad "+v.name+" "+g.node("Cast "+r, "to", 7)+" "+value, "mode", mode))
		}
		return like(v, g.node("Pad "+v.name+" "+g.ints(pads...)+" "+value, "mode", mode))
	},
	"matmul": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat, small)
		if v.name == "" {
			return nil
		}
		n := v.shape[len(v.shape)-1]
		switch g.IntN(3) {
		case 0:
			return rounding(g.node("MatMul " + v.name + " " + g.floats(n, 3)))
		case 1:
			return rounding(g.node("MatMul " + v.name + " " + g.floats(n)))
		}
		if len(v.shape) < 2 {
			return nil
		}
		perm := make([]int, len(v.shape))
		for i := range perm {
			perm[i] = i
		}
		slices.Reverse(perm[len(perm)-2:])
		return rounding(g.node("MatMul " + v.name + " " + g.node("Transpose "+v.name, "perm", perm)))
	},
	"gemm": func(g *randomGraph) []randomValue {
		v := g.pick(ofRank(2), isFloat)
		if v.name == "" {
			return nil
		}
		ta, tb := g.IntN(2), g.IntN(2)
		w := []int{v.shape[1-ta], 3}
		if tb == 1 {
			slices.Reverse(w)
		}
		c := g.floats([][]int{{3}, {1}, {v.shape[ta], 3}, {v.shape[ta], 1}}[g.IntN(4)]...)
		return rounding(g.node("Gemm "+v.name+" "+g.floats(w...)+" "+c, "transA", ta, "transB", tb, "alpha", 0.5, "beta", 2.0))
	},
	"einsum": func(g *randomGraph) []randomValue {
		v := g.pick(ofRank(3), isFloat, small)
		if g.h.opset < 12 || v.name == "" {
			return nil
		}
		switch g.IntN(3) {
		case 0:
			return rounding(g.node("Einsum "+v.name+" "+g.floats(v.shape[2], 2), "equation", "abc,cd->abd"))
		case 1:
			return rounding(g.node("Einsum "+v.name+" "+v.name, "equation", "bij, bkj -> bik"))
		}
		return rounding(g.node("Einsum "+v.name, "equation", "...ij->...ji"))
	},
	"reduce": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat, func(v randomValue) bool { return v.elements() > 0 })
		if v.name == "" {
			return nil
		}
		name := []string{"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceL1", "ReduceLogSumExp", "ReduceSumSquare", "ReduceProd"}[g.IntN(9)]
		axes := []int{g.axis(v)}
		attrs := []any{"keepdims", g.IntN(2)}
		exact := v.exact && (name == "ReduceMax" || name == "ReduceMin")
		if g.IntN(4) == 0 {
			return []randomValue{{name: g.node(name+" "+v.name, attrs...), exact: exact}}
		}
		if g.h.opset >= 18 || name == "ReduceSum" && g.h.opset >= 13 {
			return []randomValue{{name: g.node(name+" "+v.name+" "+g.ints(axes...), attrs...), exact: exact}}
		}
		return []randomValue{{name: g.node(name+" "+v.name, append(attrs, "axes", axes)...), exact: exact}}
	},
	"reduce integers": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isWhole, func(v randomValue) bool { return v.elements() > 0 })
		if v.name == "" {
			return nil
		}
		name := []string{"ReduceSum", "ReduceMax", "ReduceMin"}[g.IntN(3)]
		if g.h.opset < 13 {
			return nil
		}
		return exactly(g.node(name+" "+v.name, "keepdims", g.IntN(2)))
	},
	"argmax": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat, isExact, func(v randomValue) bool { return v.elements() > 0 })
		if v.name == "" {
			return nil
		}
		attrs := []any{"axis", g.axis(v), "keepdims", g.IntN(2)}
		if g.h.opset >= 12 {
			attrs = append(attrs, "select_last_index", g.IntN(2))
		}
		return exactly(g.node([]string{"ArgMax ", "ArgMin "}[g.IntN(2)]+v.name, attrs...))
	},
	"topk": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat, isExact, func(v randomValue) bool { return v.elements() > 0 })
		if v.name == "" {
			return nil
		}
		d := g.axis(v)
		k := 1 + g.IntN(v.shape[(d+len(v.shape))%len(v.shape)])
		if g.h.opset < 10 {
			return exactly(g.nodes(2, "TopK "+v.name, "k", k, "axis", d)[0])
		}
		attrs := []any{"axis", d}
		if g.h.opset >= 11 {
			attrs = append(attrs, "largest", g.IntN(2))
		}
		outs := g.nodes(2, "TopK "+v.name+" "+g.ints(k), attrs...)
		return append(exactly(outs[0]), exactly(outs[1])...)
	},
	"softmax": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat, func(v randomValue) bool { return v.elements() > 0 })
		if v.name == "" {
			return nil
		}
		name := []string{"Softmax ", "LogSoftmax "}[g.IntN(2)]
		if g.IntN(3) == 0 && len(v.shape) > 1 {
			return rounding(g.node(name + v.name))
		}
		return rounding(g.node(name+v.name, "axis", g.axis(v)))
	},
	"hardmax": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(2), isFloat, isExact, func(v randomValue) bool { return v.elements() > 0 })
		if v.name == "" {
			return nil
		}
		return exactly(g.node("Hardmax " + v.name))
	},
	"cumsum": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isNumber)
		if g.h.opset < 11 || v.name == "" {
			return nil
		}
		return []randomValue{{name: g.node("CumSum "+v.name+" "+g.scalar(dtype.I64, float64(g.axis(v))), "exclusive", g.IntN(2), "reverse", g.IntN(2)), exact: v.kind == dtype.I64}}
	},
	"trilu": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(2))
		if g.h.opset < 14 || v.name == "" {
			return nil
		}
		if g.IntN(2) == 0 {
			return like(v, g.node("Trilu "+v.name, "upper", g.IntN(2)))
		}
		return like(v, g.node("Trilu "+v.name+" "+g.scalar(dtype.I64, float64(g.IntN(5)-2)), "upper", g.IntN(2)))
	},
	"onehot": func(g *randomGraph) []randomValue {
		v := g.pick(isWhole, small, atLeast(1))
		if v.name == "" || g.h.opset < 11 {
			return nil
		}
		axis := -1
		if g.IntN(2) == 0 {
			axis = g.IntN(len(v.shape) + 1)
		}
		return exactly(g.node("OneHot "+v.name+" "+g.scalar(dtype.I64, 5)+" "+g.floats(2), "axis", axis))
	},
	"layer norm by hand": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(2), isFloat, small, func(v randomValue) bool { return v.elements() > 0 })
		if v.name == "" || g.h.opset >= 18 {
			return nil
		}
		d := g.node("Sub " + v.name + " " + g.node("ReduceMean "+v.name, "axes", []int{-1}))
		variance := g.node("ReduceMean "+g.node("Pow "+d+" "+g.scalar(dtype.F32, 2)), "axes", []int{-1})
		return rounding(g.node("Div " + d + " " + g.node("Sqrt "+g.node("Add "+variance+" "+g.scalar(dtype.F32, 1e-5)))))
	},
	"layer norm": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(2), isFloat, small, func(v randomValue) bool { return v.elements() > 0 })
		if v.name == "" || g.h.opset < 17 {
			return nil
		}
		n := v.shape[len(v.shape)-1]
		return rounding(g.node("LayerNormalization "+v.name+" "+g.floats(n)+" "+g.floats(n), "axis", -1))
	},
	"instance norm": func(g *randomGraph) []randomValue {
		v := g.pick(func(v randomValue) bool { return len(v.shape) >= 3 && v.elements() > 0 }, isFloat, small)
		if v.name == "" {
			return nil
		}
		return rounding(g.node("InstanceNormalization "+v.name+" "+g.floats(v.shape[1])+" "+g.floats(v.shape[1]), "epsilon", 0.01))
	},
	"batch norm": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(2), isFloat, small)
		if v.name == "" {
			return nil
		}
		n := v.shape[1]
		variance := g.constant(each(dtype.F32, []int{n}, func([]int) float64 { return 0.5 + g.Float64() }))
		return rounding(g.node("BatchNormalization " + v.name + " " + g.floats(n) + " " + g.floats(n) + " " + g.floats(n) + " " + variance))
	},
	"conv": func(g *randomGraph) []randomValue {
		v := g.pick(func(v randomValue) bool {
			return len(v.shape) >= 3 && len(v.shape) <= 5 && slices.Min(v.shape) > 0 && slices.Min(v.shape[2:]) > 2
		}, isFloat, small)
		if v.name == "" {
			return nil
		}
		r := len(v.shape) - 2
		some := func(f func() int) []int {
			out := make([]int, r)
			for i := range out {
				out[i] = f()
			}
			return out
		}
		kernel := some(func() int { return 1 + g.IntN(3) })
		attrs := []any{"strides", some(func() int { return 1 + g.IntN(2) }), "kernel_shape", kernel}
		switch g.IntN(3) {
		case 0:
			attrs = append(attrs, "auto_pad", []string{"SAME_UPPER", "SAME_LOWER", "VALID"}[g.IntN(3)])
		case 1:
			attrs = append(attrs, "pads", append(some(func() int { return g.IntN(2) }), some(func() int { return g.IntN(2) })...), "dilations", slices.Repeat([]int{1}, r))
		}
		c, group := v.shape[1], 1
		if g.IntN(2) == 0 {
			group = c
		}
		w := append([]int{2 * group, c / group}, kernel...)
		return rounding(g.node("Conv "+v.name+" "+g.floats(w...)+[]string{"", " " + g.floats(2*group)}[g.IntN(2)], append(attrs, "group", group)...))
	},
	"conv transpose": func(g *randomGraph) []randomValue {
		v := g.pick(func(v randomValue) bool { return (len(v.shape) == 3 || len(v.shape) == 4) && v.elements() > 0 }, isFloat, small)
		if v.name == "" {
			return nil
		}
		r := len(v.shape) - 2
		attrs := []any{"strides", slices.Repeat([]int{2}, r), "kernel_shape", slices.Repeat([]int{3}, r)}
		switch g.IntN(4) {
		case 0:
			attrs = append(attrs, "pads", slices.Repeat([]int{1}, 2*r), "output_padding", slices.Repeat([]int{1}, r))
		case 1:
			attrs = append(attrs, "pads", append(slices.Repeat([]int{1}, r), slices.Repeat([]int{0}, r)...))
		case 2:
			attrs = append(attrs, "auto_pad", []string{"SAME_UPPER", "SAME_LOWER"}[g.IntN(2)])
		}
		return rounding(g.node("ConvTranspose "+v.name+" "+g.floats(append([]int{v.shape[1], 2}, slices.Repeat([]int{3}, r)...)...)+" "+g.floats(2), attrs...))
	},
	"pool": func(g *randomGraph) []randomValue {
		v := g.pick(func(v randomValue) bool { return len(v.shape) >= 3 && slices.Min(v.shape[2:]) > 2 }, isFloat, small)
		if v.name == "" {
			return nil
		}
		r := len(v.shape) - 2
		name := []string{"MaxPool ", "AveragePool ", "LpPool "}[g.IntN(3)]
		attrs := []any{"kernel_shape", slices.Repeat([]int{2 + g.IntN(2)}, r), "strides", slices.Repeat([]int{1 + g.IntN(2)}, r)}
		switch g.IntN(4) {
		case 0:
			attrs = append(attrs, "auto_pad", []string{"SAME_UPPER", "SAME_LOWER", "VALID"}[g.IntN(3)])
		case 1:
			attrs = append(attrs, "pads", slices.Repeat([]int{1}, 2*r))
		case 2:
			if g.h.opset >= 10 && name != "LpPool " {
				attrs = append(attrs, "ceil_mode", 1)
			}
		}
		if name == "AveragePool " {
			attrs = append(attrs, "count_include_pad", g.IntN(2))
		}
		return []randomValue{{name: g.node(name+v.name, attrs...), exact: v.exact && name == "MaxPool "}}
	},
	"global pool": func(g *randomGraph) []randomValue {
		v := g.pick(func(v randomValue) bool { return len(v.shape) >= 3 && v.elements() > 0 }, isFloat)
		if v.name == "" {
			return nil
		}
		return rounding(g.node([]string{"GlobalAveragePool ", "GlobalMaxPool "}[g.IntN(2)] + v.name))
	},
	"resize": func(g *randomGraph) []randomValue {
		v := g.pick(ofRank(4), isFloat, func(v randomValue) bool { return v.elements() > 0 && v.elements() < 500 })
		if v.name == "" || g.h.opset < 11 {
			return nil
		}
		mode := []string{"nearest", "linear", "cubic"}[g.IntN(3)]
		attrs := []any{"mode", mode, "coordinate_transformation_mode", []string{"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"}[g.IntN(4)]}
		if mode == "nearest" {
			attrs = append(attrs, "nearest_mode", []string{"floor", "round_prefer_floor", "round_prefer_ceil", "ceil"}[g.IntN(4)])
		}
		if g.IntN(2) == 0 {
			scales := of(dtype.F32, []int{4}, 1, 1, []float64{2, 1.5, 0.5}[g.IntN(3)], []float64{2, 0.5}[g.IntN(2)])
			if attrs[3] == "align_corners" { // ONNX Runtime rounds extents before it aligns them
				scales = of(dtype.F32, []int{4}, 1, 1, 2, 3)
			}
			return rounding(g.node("Resize "+v.name+" "+g.constant(of(dtype.F32, []int{0}))+" "+g.constant(scales), attrs...))
		}
		first := g.slice(g.node("Shape "+v.name), 0, 2, 0, 1)
		sizes := g.node("Concat "+first+" "+g.node("Mul "+g.slice(g.node("Shape "+v.name), 2, 4, 0, 1)+" "+g.ints(2)), "axis", 0)
		empty := g.constant(of(dtype.F32, []int{0}))
		return rounding(g.node("Resize "+v.name+" "+empty+" "+empty+" "+sizes, attrs...))
	},
	"resize smoothly": func(g *randomGraph) []randomValue {
		v := g.pick(ofRank(4), isFloat, func(v randomValue) bool { return v.elements() > 0 && v.elements() < 500 })
		if v.name == "" || g.h.opset < 18 {
			return nil
		}
		none := g.constant(of(dtype.F32, []int{0}))
		sizes := g.ints(1+g.IntN(8), 1+g.IntN(8))
		return rounding(g.node("Resize "+v.name+" "+none+" "+none+" "+sizes, "mode", []string{"linear", "cubic"}[g.IntN(2)], "antialias", 1, "axes", []int{2, 3}))
	},
	"depth to space": func(g *randomGraph) []randomValue {
		v := g.pick(ofRank(4), func(v randomValue) bool { return v.shape[1]%4 == 0 && v.elements() > 0 }, isFloat)
		if v.name == "" {
			return nil
		}
		attrs := []any{"blocksize", 2}
		if g.h.opset >= 11 {
			attrs = append(attrs, "mode", []string{"DCR", "CRD"}[g.IntN(2)])
		}
		return like(v, g.node("DepthToSpace "+v.name, attrs...))
	},
	"quantized": func(g *randomGraph) []randomValue {
		v := g.pick(isFloat, small)
		if g.h.opset < 10 || v.name == "" {
			return nil
		}
		zero := g.constant(of([]dtype.Type{dtype.U8, dtype.I8}[g.IntN(2)], []int{}, 3))
		scale := g.scalar(dtype.F32, 0.25)
		if !v.exact {
			return nil
		}
		return like(v, g.node("DequantizeLinear "+g.node("QuantizeLinear "+v.name+" "+scale+" "+zero)+" "+scale+" "+zero))
	},
	"prelu": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(2), isFloat)
		if v.name == "" {
			return nil
		}
		return like(v, g.node("PRelu "+v.name+" "+g.floats(append([]int{v.shape[1]}, slices.Repeat([]int{1}, len(v.shape)-2)...)...)))
	},
	"grid sample": func(g *randomGraph) []randomValue {
		v := g.pick(ofRank(4), isFloat, func(v randomValue) bool { return v.elements() > 0 && v.elements() < 500 })
		if v.name == "" || g.h.opset < 16 {
			return nil
		}
		grid := g.constant(each(dtype.F32, []int{v.shape[0], 2, 3, 2}, func([]int) float64 { return 2.6*g.Float64() - 1.3 }))
		mode := []string{"bilinear", "nearest", "bicubic"}[g.IntN(3)]
		if g.h.opset >= 20 {
			mode = map[string]string{"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}[mode]
		}
		return rounding(g.node("GridSample "+v.name+" "+grid, "mode", mode, "padding_mode", []string{"zeros", "border", "reflection"}[g.IntN(3)], "align_corners", g.IntN(2)))
	},
	"suppression": func(g *randomGraph) []randomValue {
		if g.h.opset < 10 {
			return nil
		}
		corner := func([]int) float64 { return 4 * g.Float64() }
		if g.IntN(2) == 0 {
			boxes := g.constant(each(dtype.F32, []int{2, 7, 4}, corner))
			return exactly(g.node("NonMaxSuppression " + boxes + " " + g.floats(2, 2, 7) + " " + g.scalar(dtype.I64, 2) + " " + g.scalar(dtype.F32, 0.125)))
		}
		boxes, scores := g.constant(each(dtype.F32, []int{2, 7, 4}, corner)), g.node("Abs "+g.floats(2, 2, 7))
		text := "NonMaxSuppression " + boxes + " " + scores + " " + g.scalar(dtype.I64, float64(1+g.IntN(5))) + " " + g.scalar(dtype.F32, 0.125)
		if g.IntN(2) == 0 {
			text += " " + g.scalar(dtype.F32, 2)
		}
		g.node(text, "center_point_box", g.IntN(2))
		n := g.draft[len(g.draft)-1]
		g.h.out = append(g.h.out, n.Output[0]) // what nodes read has extents that are known
		g.h.nodes = append(g.h.nodes, g.draft...)
		maps.Copy(g.h.stored, g.stored)
		return nil
	},
	"regions": func(g *randomGraph) []randomValue {
		v := g.pick(ofRank(4), isFloat, func(v randomValue) bool { return v.elements() > 0 && v.elements() < 500 })
		if v.name == "" || g.h.opset < 10 || g.h.opset >= 22 { // ONNX Runtime lacks it
			return nil
		}
		boxes := g.constant(each(dtype.F32, []int{3, 4}, func(i []int) float64 { return 3*g.Float64() + float64(i[1]/2)*2 }))
		image := g.constant(each(dtype.I64, []int{3}, func([]int) float64 { return float64(g.IntN(v.shape[0])) }))
		return rounding(g.node("RoiAlign "+v.name+" "+boxes+" "+image, "output_height", 2, "output_width", 3, "sampling_ratio", g.IntN(3), "spatial_scale", 0.75, "mode", []string{"avg", "max"}[g.IntN(2)]))
	},
	"bits": func(g *randomGraph) []randomValue {
		v := g.pick(isWhole)
		if v.name == "" || g.h.opset < 18 {
			return nil
		}
		if g.IntN(3) == 0 {
			return exactly(g.node("BitwiseNot " + v.name))
		}
		return exactly(g.node([]string{"BitwiseAnd ", "BitwiseOr ", "BitwiseXor "}[g.IntN(3)] + v.name + " " + g.scalar(dtype.I64, -6)))
	},
	"if": func(g *randomGraph) []randomValue {
		v := g.pick(atLeast(1), isFloat)
		if v.name == "" || g.h.opset < 11 {
			return nil
		}
		yes := g.node("Equal " + g.extent(v, 0) + " " + g.ints(1+g.IntN(3)))
		a, b := g.name(), g.name()
		return rounding(g.node("If "+yes, "then_branch", typed(dtype.F32, within("", a, op("Squeeze "+v.name+" -> "+a))), "else_branch", typed(dtype.F32, within("", b, op("Neg "+v.name+" -> "+b)))))
	},
	"lstm": func(g *randomGraph) []randomValue {
		v := g.pick(ofRank(3), isFloat, func(v randomValue) bool { return v.elements() > 0 && v.elements() < 300 })
		if v.name == "" {
			return nil
		}
		n, gates, name := v.shape[2], 4, "LSTM "
		if g.IntN(2) == 0 {
			gates, name = 3, "GRU "
		}
		dirs := 1 + g.IntN(2)
		w, r, b := g.floats(dirs, gates*2, n), g.floats(dirs, gates*2, 2), g.floats(dirs, gates*4)
		attrs := []any{"hidden_size", 2, "direction", []string{"forward", "bidirectional"}[dirs-1]}
		if gates == 3 {
			attrs = append(attrs, "linear_before_reset", g.IntN(2))
		}
		text := name + v.name + " " + w + " " + r + " " + b
		if g.IntN(2) == 0 {
			h := g.floats(dirs, v.shape[1], 2)
			text += " - " + h
			if gates == 4 {
				text += " " + h
			}
		}
		outs := g.nodes(2, text, attrs...)
		return append(rounding(outs[0]), rounding(outs[1])...)
	},
}

// suits reports whether shapes are repeated to each other.
func suits(a, b []int) bool {
	for i := 1; i <= min(len(a), len(b)); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		if x != y && x != 1 && y != 1 {
			return false
		}
	}
	return true
}

// typed says of what element type the outputs of a branch are.
func typed(kind dtype.Type, g *onnxpb.GraphProto) *onnxpb.GraphProto {
	for _, o := range g.Output {
		n := numbers[kind]
		o.Type = &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: &n}}}
	}
	return g
}

// TestRandomInRuntime runs random graphs here and with ONNX Runtime: what package onnx takes gives the same,
// and what it does not take is refused by name.
func TestRandomInRuntime(t *testing.T) {
	j, _ := newJudge(t)
	j.least = 1
	refused := map[string]int{}
	for n := range *randomGraphs {
		seed := *randomSeed + uint64(n)
		g := newRandomGraph(t, seed, refused)
		for range 8 {
			g.step()
		}
		if len(g.h.out) == 0 {
			continue
		}
		out, err := g.h.run(t)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		want := map[string]safetensors.Tensor{}
		for i, name := range g.h.out {
			want[name] = out[i]
		}
		j.hands[fmt.Sprintf("random-%d.onnx", seed)] = g.h
		j.add(t, fmt.Sprintf("random-%d.onnx", seed), g.h.bytes(t), g.h.fed, want)
	}
	for _, text := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%d refused: %s", refused[text], text)
	}
	j.run(t)
}
