package kernels_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/formula"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// benchmarks are uses of operators at sizes of models: element-wise operators of 4 Mi elements, others of rows of 1024.
var benchmarks = []struct {
	op, attrs string
	shapes    map[string][]int
}{
	{"element_unary", `{"op_type": "GELU"}`, map[string][]int{"input": {4 << 20}}},
	{"element_unary", `{"op_type": "SIGMOID"}`, map[string][]int{"input": {4 << 20}}},
	{"element_unary", `{"op_type": "TANH"}`, map[string][]int{"input": {4 << 20}}},
	{"element_unary", `{"op_type": "RELU"}`, map[string][]int{"input": {4 << 20}}},
	{"element_unary", `{"op_type": "SILU"}`, map[string][]int{"input": {4 << 20}}},
	{"element_unary", `{"op_type": "EXP"}`, map[string][]int{"input": {4 << 20}}},
	{"element_binary", `{"type": "EW_ADD"}`, map[string][]int{"lhs_input": {4 << 20}, "rhs_input": {4 << 20}}},
	{"element_binary", `{"type": "EW_ADD"}`, map[string][]int{"lhs_input": {4096, 1024}, "rhs_input": {1024}}},
	{"adam", `{}`, map[string][]int{"weight": {4 << 20}, "grad": {4 << 20}}},
	{"adamw", `{}`, map[string][]int{"weight": {4 << 20}, "grad": {4 << 20}}},
	{"sgd", `{"lr": 0.1, "momentum": 0.9}`, map[string][]int{"weight": {4 << 20}, "grad": {4 << 20}}},
	{"layer_norm", `{"axes": [1]}`, map[string][]int{"input": {4096, 1024}}},
	{"rms_norm", `{"axes": [1]}`, map[string][]int{"input": {4096, 1024}}},
	{"softmax", `{"dim": 1}`, map[string][]int{"input": {4096, 1024}}},
	{"softmax", `{"dim": 1}`, map[string][]int{"input": {64, 1024, 64}}},
	{"batch_norm", `{}`, map[string][]int{"input": {32, 64, 32, 32}}},
	{"reduce", `{"op_type": "REDUCE_SUM", "axes": [1]}`, map[string][]int{"input": {4096, 1024}}},
	{"reduce", `{"op_type": "REDUCE_MAX", "axes": [0]}`, map[string][]int{"input": {4096, 1024}}},
	{"reduce_arg", `{"op_type": "REDUCE_ARGMAX", "axes": [1]}`, map[string][]int{"input": {4096, 1024}}},
	{"dropout", `{"rate": 0.1}`, map[string][]int{"input": {1 << 20}}},
	{"transpose", `{"permutation": [1, 0]}`, map[string][]int{"input": {2048, 2048}}},
	{"concat", `{"axis": 1}`, map[string][]int{"input.0": {2048, 1024}, "input.1": {2048, 1024}}},
	{"split", `{"axis": 1, "splits": [1024, 1024]}`, map[string][]int{"input": {2048, 2048}}},
	{"embedding", `{"num_entries": 32000, "out_channels": 512}`, map[string][]int{"input": {8, 1024}}},
	{"gather", `{"dim": 1}`, map[string][]int{"input": {1024, 1024}, "index": {1024, 1024}}},
	{"mean_squared_error", `{}`, map[string][]int{"logit": {4096, 1024}, "label": {4096, 1024}}},
	{"sparse_categorical_crossentropy", `{}`, map[string][]int{"logit": {4096, 1024}, "label": {4096, 1}}},
	{"categorical_crossentropy", `{}`, map[string][]int{"logit": {4096, 1024}, "label": {4096, 1024}}},
	{"linear", `{"out_channels": 512, "activation": "RELU"}`, map[string][]int{"input": {512, 512}}},
	{"batch_matmul", `{}`, map[string][]int{"lhs_input": {8, 256, 256}, "rhs_input": {8, 256, 256}}},
	{"multihead_attention", `{"embed_dim": 256, "num_heads": 4}`, map[string][]int{"query": {4, 128, 256}, "key": {4, 128, 256}, "value": {4, 128, 256}}},
	{"pool_2d", `{"pool_type": "MAX", "kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2}`, map[string][]int{"input": {16, 32, 64, 64}}},
	{"pool_2d", `{"pool_type": "AVG", "kernel_h": 2, "kernel_w": 2, "stride_h": 2, "stride_w": 2}`, map[string][]int{"input": {16, 32, 64, 64}}},
	{"conv_2d", `{"out_channels": 32, "kernel_h": 3, "kernel_w": 3, "padding_h": 1, "padding_w": 1}`, map[string][]int{"input": {4, 32, 32, 32}}},
	{"topk", `{"k": 8}`, map[string][]int{"input": {1024, 256}}},
	{"group_by", `{"n": 8, "alpha": 1.5}`, map[string][]int{"input": {1024, 256}, "assign": {1024, 2}}},
	{"uniform", `{"seed": 1}`, map[string][]int{"tensor": {1 << 20}}},
	{"normal", `{"seed": 1}`, map[string][]int{"tensor": {1 << 20}}},
}

// BenchmarkKernels times the tasks of operators in one goroutine: with the kernels of the catalogue, with loops that are made
// of formulas, and where it ends soon with the reference.
func BenchmarkKernels(b *testing.B) {
	var kernels, loops task.Registry
	if err := catalogue.Register(&kernels); err != nil {
		b.Fatal(err)
	}
	for _, o := range catalogue.Operators() {
		if len(o.Formula) == 0 {
			continue
		}
		if err := formula.Register(&loops, op.CPU, &o.Operator); err != nil {
			b.Fatal(err)
		}
	}
	for _, x := range benchmarks {
		o := operatorNamed(b, x.op)
		attrs, err := o.DecodeAttrs([]byte(x.attrs))
		if err != nil {
			b.Fatal(err)
		}
		for i, s := range o.Signatures {
			for _, k := range []struct {
				name  string
				tasks *task.Registry
			}{{"catalogue", &kernels}, {"loops", &loops}} {
				var size int
				for _, dims := range x.shapes {
					size = max(size, product(dims))
				}
				b.Run(fmt.Sprintf("%s%s%v/%s/%s", x.op, x.attrs, size, s.Task, k.name), func(b *testing.B) {
					steps := boundSteps(b, o, i, attrs, x.shapes, k.tasks)
					for b.Loop() {
						for _, run := range steps {
							if err := run(); err != nil {
								b.Fatal(err)
							}
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/element")
				})
			}
		}
	}
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func operatorNamed(b *testing.B, name string) *graph.Operator {
	for _, o := range catalogue.Operators() {
		if o.Name == name {
			return o
		}
	}
	b.Fatalf("there is no operator %s", name)
	return nil
}

// boundSteps returns functions that run the steps of a task on values drawn at random.
func boundSteps(b *testing.B, o *graph.Operator, number int, attrs task.Attrs, shapes map[string][]int, tasks *task.Registry) []func() error {
	var chosen []dtype.Type
	for _, v := range o.Types {
		t := v.Types[0].Host()
		for _, u := range v.Types {
			if u == dtype.F32 {
				t = u
			}
		}
		chosen = append(chosen, t)
	}
	given := task.NoneGiven(&o.Operator)
	for slot, s := range o.Slots {
		typ, err := dtype.Parse(s.Type)
		if err != nil {
			typ = chosen[slices.IndexFunc(o.Types, func(v task.TypeVar) bool { return v.Name == s.Type })]
		}
		for _, name := range []string{s.Name, s.Name + ".0", s.Name + ".1"} {
			if dims, ok := shapes[name]; ok {
				given.Operands[slot] = append(given.Operands[slot], task.Operand{Type: typ, Shape: dims})
			}
		}
	}
	r, err := task.Resolve(&o.Operator, attrs, given)
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	memory := map[[2]int][]task.Buffer{}
	buffers := func(slot int, grad bool) []task.Buffer {
		key := [2]int{slot, 0}
		if grad {
			key[1] = 1
		}
		if _, ok := memory[key]; !ok {
			bound, bounded := r.Below(slot)
			for _, operand := range r.Operands(slot) {
				memory[key] = append(memory[key], task.Buffer{Operand: operand, Bytes: drawn(random, operand, bound, bounded), Mode: tensor.Store})
			}
		}
		return memory[key]
	}
	registered := tasks.Task(o.Signatures[number].ID)
	if registered == nil || len(registered.Variants) == 0 {
		b.Skip("the catalogue has no kernel") // never: the catalogue registers all tasks
	}
	for _, v := range registered.Variants {
		if dtype.Format(v.Types) != dtype.Format(chosen) {
			continue
		}
		bodies, err := v.Bind(&task.Accessor{Signature: registered.Signature, Attrs: attrs, Resolved: r, Memory: buffers,
			Workers: func(slot int) []task.Buffer {
				var out []task.Buffer
				for _, o := range r.Operands(slot) {
					out = append(out, task.Buffer{Operand: o, Bytes: make([]byte, o.Bytes())})
				}
				return out
			}})
		if err != nil {
			b.Fatal(err)
		}
		var steps []func() error
		for i, body := range bodies {
			g := r.Work(number, i)
			if g.Tiles() == 0 {
				continue
			}
			spans := [][2]int{{0, g.Over}}
			for d := 1; d < g.Rank(); d++ {
				spans = append(spans, [2]int{0, g.Dim(d).Over})
			}
			steps = append(steps, func() error { return body.Run(&op.Ctx{}, op.Box(spans...)) })
		}
		return steps
	}
	b.Fatalf("%s has no kernel for %s", registered.Name, dtype.Format(chosen))
	return nil
}

// drawn returns the memory of a tensor with values from 0 to 1, or integers below a bound.
func drawn(random *rand.Rand, o task.Operand, bound int, bounded bool) []byte {
	if !bounded {
		bound = 2
	}
	data := make([]byte, o.Bytes())
	for i := 0; i < len(data); i += o.Type.Size() {
		switch o.Type {
		case dtype.F32:
			binary.LittleEndian.PutUint32(data[i:], math.Float32bits(random.Float32()))
		case dtype.F64:
			binary.LittleEndian.PutUint64(data[i:], math.Float64bits(random.Float64()))
		case dtype.I32:
			binary.LittleEndian.PutUint32(data[i:], uint32(random.IntN(bound)))
		case dtype.I64:
			binary.LittleEndian.PutUint64(data[i:], uint64(random.IntN(bound)))
		}
	}
	return data
}
