package kernels_test

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/taskbench"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/task"
)

// benchmarks are uses of operators at sizes of models: element-wise operators of 4 Mi elements, others of
// rows of 1024.
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
	{"layer_norm", `{"axes": [1]}`, map[string][]int{"input": {16384, 256}}},
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
	{"conv_2d", `{"out_channels": 32, "kernel_h": 3, "kernel_w": 3, "padding_h": 1, "padding_w": 1}`, map[string][]int{"input": {32, 16, 8, 8}}},
	{"conv_2d", `{"out_channels": 64, "kernel_h": 3, "kernel_w": 3, "padding_h": 1, "padding_w": 1}`, map[string][]int{"input": {8, 64, 56, 56}}},
	{"conv_2d", `{"out_channels": 64, "kernel_h": 1, "kernel_w": 1}`, map[string][]int{"input": {8, 64, 56, 56}}},
	{"einsum", `{"equation": "ij,jk->ik"}`, map[string][]int{"input.0": {512, 512}, "input.1": {512, 512}}},
	{"einsum", `{"equation": "bhqd,bhkd->bhqk"}`, map[string][]int{"input.0": {8, 8, 128, 64}, "input.1": {8, 8, 128, 64}}},
	{"einsum", `{"equation": "bqhd,bkhd->bhqk"}`, map[string][]int{"input.0": {8, 128, 8, 64}, "input.1": {8, 128, 8, 64}}},
	{"einsum", `{"equation": "bij,bjk,k->bi"}`, map[string][]int{"input.0": {16, 64, 64}, "input.1": {16, 64, 64}, "input.2": {64}}},
	{"einsum", `{"equation": "ii->i"}`, map[string][]int{"input.0": {1000, 1000}}},
	{"einsum", `{"equation": "bhwc->bchw"}`, map[string][]int{"input.0": {8, 32, 32, 64}}},
	{"einsum", `{"equation": "ij->j"}`, map[string][]int{"input.0": {4096, 1024}}},
	{"einsum", `{"equation": "ij->i"}`, map[string][]int{"input.0": {4096, 1024}}},
	{"cumprod", `{}`, map[string][]int{"input": {256, 1024}}},
	{"cumprod", `{"axis": 0}`, map[string][]int{"input": {1024, 256}}},
	{"sparse_matvec", `{}`, map[string][]int{"offsets": {65}, "columns": {4096}, "values": {4096}, "input": {1024}}},
	{"rope", `{}`, map[string][]int{"input": {8, 512, 64}}},
	{"topk", `{"k": 8}`, map[string][]int{"input": {1024, 256}}},
	{"group_by", `{"n": 8, "alpha": 1.5}`, map[string][]int{"input": {1024, 256}, "assign": {1024, 2}}},
	{"exponential_average", `{}`, map[string][]int{"input": {4096, 1024}}},
	{"exponential_average", `{}`, map[string][]int{"input": {65536, 32}}},
	{"lstm", `{"hidden_size": 128}`, map[string][]int{"input": {64, 32, 128}, "hidden": {32, 128}, "cell": {32, 128}}},
	{"gru", `{"hidden_size": 128}`, map[string][]int{"input": {64, 32, 128}, "hidden": {32, 128}}},
	{"selective_scan", `{}`, map[string][]int{"input": {4, 256, 128}, "delta": {4, 256, 128}, "rate": {128, 16}, "enter": {4, 256, 16}, "leave": {4, 256, 16}, "skip": {128}}},
	{"wkv", `{}`, map[string][]int{"key": {256, 8, 256}, "value": {256, 8, 256}, "decay": {256}, "bonus": {256}}},
	{"ctc_loss", `{}`, map[string][]int{"input": {150, 32, 64}, "target": {32, 30}, "samples": {32}, "labels": {32}}},
	{"viterbi", `{}`, map[string][]int{"input": {256, 32, 32}, "transition": {32, 32}}},
	{"uniform", `{"seed": 1}`, map[string][]int{"tensor": {1 << 20}}},
	{"normal", `{"seed": 1}`, map[string][]int{"tensor": {1 << 20}}},
}

// mostWindows is of how many elements loops compute a convolution here at most. They do not know that it is a
// product, so more take minutes.
const mostWindows = 1 << 16

// BenchmarkKernels times the tasks of operators in one goroutine: with the kernels of the catalogue, and
// where these are written by hand with loops that are made of the formulas, too.
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
		for i, s := range o.Signatures {
			for _, k := range []struct {
				name  string
				tasks *task.Registry
			}{{"catalogue", &kernels}, {"loops", &loops}} {
				var size int
				for _, dims := range x.shapes {
					size = max(size, product(dims))
				}
				if k.tasks == &loops && (!byHand(&kernels, &loops, s.ID) || x.op == "conv_2d" && size > mostWindows) {
					continue
				}
				b.Run(fmt.Sprintf("%s%s%v/%s/%s", x.op, x.attrs, size, s.Task, k.name), func(b *testing.B) {
					use, err := taskbench.New(&o.Operator, x.attrs, x.shapes, 0, 1)
					if err != nil {
						b.Fatal(err)
					}
					steps, err := use.Bind(i, k.tasks)
					if err != nil {
						b.Fatal(err)
					}
					least := time.Duration(math.MaxInt64)
					for b.Loop() {
						begin := time.Now()
						for _, step := range steps {
							if err := step.Run(); err != nil {
								b.Fatal(err)
							}
						}
						least = min(least, time.Since(begin))
					}
					b.ReportMetric(float64(least.Nanoseconds()), "least-ns/op") // other programs disturb the mean
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/element")
				})
			}
		}
	}
}

// byHand reports whether registries have different kinds of kernels for a task.
func byHand(kernels, loops *task.Registry, id task.ID) bool {
	kind := func(r *task.Registry) reflect.Type { return reflect.TypeOf(r.Task(id).Variants[0].Kernel) }
	return loops.Task(id) != nil && kind(kernels) != kind(loops)
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
