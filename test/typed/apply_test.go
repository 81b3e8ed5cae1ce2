package typed

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/accuracy"
	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/adamw"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/constant"
	"github.com/opgen/opgen/generated/conv2d"
	"github.com/opgen/opgen/generated/dropout"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementbinarycompare"
	"github.com/opgen/opgen/generated/elementbinarylogical"
	"github.com/opgen/opgen/generated/elementnary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/errormetric"
	"github.com/opgen/opgen/generated/flat"
	"github.com/opgen/opgen/generated/huber"
	"github.com/opgen/opgen/generated/layernorm"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/penalty"
	"github.com/opgen/opgen/generated/pool2d"
	"github.com/opgen/opgen/generated/reduce"
	"github.com/opgen/opgen/generated/reducearg"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/generated/softmax"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// network is a classifier whose operators are applied by their typed functions.
type network struct {
	g                  *graph.Graph
	image, label, mask graph.Tensor // inputs
	loss               graph.Tensor
	right              graph.Tensor // the number of right classes
	probs, logProb     graph.Tensor // probabilities of classes, from softmax, and their logarithms, from the loss
}

// newNetwork builds the network for a batch of 2, and checks the element types and shapes of its tensors.
func newNetwork(t *testing.T) *network {
	t.Helper()
	g := graph.New(3)
	n := &network{g: g, image: g.Input("image", dtype.F32, 2, 1, 6, 6), label: g.Input("label", dtype.I64, 2, 1), mask: g.Input("mask", dtype.Bool, 2, 8)}
	expect := func(x graph.Tensor, want string) graph.Tensor {
		t.Helper()
		if got := x.Operand().String(); got != want {
			t.Errorf("%s: got %s, want %s; error of the graph: %v", x.Name(), got, want, g.Err())
		}
		return x
	}
	conv := conv2d.Defaults(2, 3, 3).WithActivation(activation.Tanh)
	x := expect(conv2d.Apply(g, conv, n.image), "f32[2, 2, 4, 4]")
	pool := pool2d.Defaults(2, 2)
	pool.StrideH, pool.StrideW, pool.PoolType = 2, 2, pool2d.PoolTypeAvg
	x = expect(pool2d.Apply(g, pool, x), "f32[2, 2, 2, 2]")
	x = expect(flat.Apply(g, flat.Defaults().WithStartDim(1).WithEndDim(-1), x), "f32[2, 4, 2]")
	x = expect(flat.Apply(g, flat.Defaults().WithStartDim(-2), x), "f32[2, 8]")
	x = expect(dropout.Apply(g, dropout.Defaults(0.5), x, graph.With(dropout.SlotMask, n.mask)), "f32[2, 8]")
	unary := elementunary.Defaults(elementunary.OpTypeSilu)
	y := expect(elementunary.Apply(g, unary, x), "f32[2, 8]")
	unary.OpType = elementunary.OpTypeIdentity
	y = expect(elementunary.Apply(g, unary, y), "f32[2, 8]")
	binary := elementbinary.Defaults(elementbinary.TypeEwAdd)
	x = expect(elementbinary.Apply(g, binary, elementbinary.LhsInput(x), elementbinary.RhsInput(y)), "f32[2, 8]")
	out := linear.Defaults(3)
	out.Regularizer = attr.Some(linear.NewRegularizer(penalty.L2, 0.01))
	x = expect(linear.Apply(g, out, x, graph.Named("out")), "f32[2, 3]")
	n.probs = expect(softmax.Apply(g, softmax.Defaults(), x), "f32[2, 3]")
	n.right = expect(accuracy.Apply(g, accuracy.Defaults(), accuracy.Logit(x), accuracy.Label(n.label)), "i32[]")
	loss := scce.Defaults()
	loss.Reduction = scce.ReductionSum
	n.loss = expect(scce.Apply(g, loss, scce.Logit(x), scce.Label(n.label), graph.Request(scce.SlotLogProb)), "f32[]")
	n.logProb = expect(n.loss.Node().Tensor(int(scce.SlotLogProb)), "f32[2, 3]")
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestApply trains the network with each optimizer. The loss falls in every step. The probabilities of
// softmax agree with the logarithms of probabilities that the loss computes.
func TestApply(t *testing.T) {
	ctx := context.Background()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	for name, optimizer := range map[string]graph.Optimizer{
		"sgd":   sgd.Optimizer(sgd.Defaults(0.05).WithMomentum(0.5).WithNesterov(true)),
		"adam":  adam.Optimizer(adam.Defaults()),
		"adamw": adamw.Optimizer(adamw.Defaults()),
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			step, err := graph.Training(n.g, n.loss, optimizer, n.right, n.probs, n.logProb)
			if err != nil {
				t.Fatal(err)
			}
			start, err := graph.Initialization(step)
			if err != nil {
				t.Fatal(err)
			}
			e := engine.New(&registry, cpu.New(cpu.Config{Workers: 2}), engine.Config{})
			defer e.Close()
			var in *engine.Instance
			for _, p := range []*graph.Program{start, step} {
				pl, err := planner.Build(p)
				if err != nil {
					t.Fatal(err)
				}
				if in, err = e.Load(pl); err != nil {
					t.Fatal(err)
				}
				if p == start {
					if err := in.Run(ctx); err != nil {
						t.Fatal(err)
					}
				}
			}
			image := make([]float32, 72)
			for i := range image {
				image[i] = float32(math.Sin(float64(i * i)))
			}
			var losses []float32
			for range 5 {
				if err := engine.Feed(in, n.image.Name(), image); err != nil {
					t.Fatal(err)
				}
				if err := engine.Feed(in, n.label.Name(), []int64{2, 0}); err != nil {
					t.Fatal(err)
				}
				if err := engine.Feed(in, n.mask.Name(), slices.Repeat([]bool{true, true, false, true}, 4)); err != nil {
					t.Fatal(err)
				}
				if err := in.Run(ctx); err != nil {
					t.Fatal(err)
				}
				losses = append(losses, fetch[float32](t, in, n.loss)[0])
				logs := fetch[float32](t, in, n.logProb)
				for i, p := range fetch[float32](t, in, n.probs) {
					if d := math.Log(float64(p)) - float64(logs[i]); !(math.Abs(d) <= 1e-5) {
						t.Errorf("class %d: probability %v, want the logarithm %v, got %v", i, p, math.Log(float64(p)), logs[i])
					}
				}
				if r := fetch[int32](t, in, n.right)[0]; r < 0 || r > 2 {
					t.Errorf("got %d right classes, want 0 to 2", r)
				}
			}
			for i := 1; i < len(losses); i++ {
				if !(losses[i] < losses[i-1]) {
					t.Errorf("want losses that fall in every step, got %v", losses)
					break
				}
			}
		})
	}
}

func fetch[T dtype.Element](t *testing.T, in *engine.Instance, x graph.Tensor) []T {
	t.Helper()
	data, err := engine.Fetch[T](in, x.Name())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestDefaults checks that decoding fills in the typed defaults. It also checks that slots print their names.
func TestDefaults(t *testing.T) {
	a, err := constant.Operator.DecodeAttrs([]byte(`{"value": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := constant.Defaults(1)
	if a != want {
		t.Errorf("decoded %v, want %v", a, want)
	}
	for slot, name := range map[interface{ String() string }]string{
		linear.SlotGradPre: "grad_pre", dropout.SlotIteration: "iteration", linear.Slot(99): "Slot(99)",
	} {
		if slot.String() != name {
			t.Errorf("slot prints as %s, want %s", slot, name)
		}
	}
}

// TestLiterals checks that attributes are refused that lack the mark of Defaults, and that the mark survives
// JSON.
func TestLiterals(t *testing.T) {
	for _, o := range catalogue.Operators() {
		made, err := o.DecodeAttrs([]byte(o.Examples[0].Attrs))
		if err != nil {
			t.Fatal(err)
		}
		literal := reflect.New(reflect.TypeOf(made)).Elem()
		for i := range o.AttrNames {
			literal.Field(i).Set(reflect.ValueOf(made).Field(i))
		}
		want := "operator " + o.Name + ": want attributes made by Defaults, got a literal"
		if err := task.Validate(literal.Interface()); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		data, err := json.Marshal(made)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := o.DecodeAttrs(data); again != made || err != nil {
			t.Errorf("%s became %+v, %v, want %+v", data, again, err, made)
		}
		if same, err := task.Override(&o.Operator, made, []byte("{}")); same != made || err != nil {
			t.Errorf("an override of nothing gives %+v, %v, want %+v", same, err, made)
		}
	}
}

// TestLiteralLine checks that the mistake is reported at the line of the call.
func TestLiteralLine(t *testing.T) {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 3)
	_, _, line, _ := runtime.Caller(0)
	layernorm.Apply(g, layernorm.Attrs{Axes: attr.ListOf(1)}, x)
	want := fmt.Sprintf("apply_test.go:%d: node layer_norm: operator layer_norm: want attributes made by Defaults, got a literal", line+1)
	if err := g.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestShortForms checks that each short form inserts what Apply does, and that a mistake is reported at the
// line of its call.
func TestShortForms(t *testing.T) {
	type unary = func(*graph.Graph, graph.Tensor, ...graph.Option) graph.Tensor
	type withScalar = func(*graph.Graph, graph.Tensor, float64, ...graph.Option) graph.Tensor
	type binary = func(_ *graph.Graph, _, _ graph.Tensor, _ ...graph.Option) graph.Tensor
	type nary = func(*graph.Graph, []graph.Tensor, ...graph.Option) graph.Tensor
	type along = func(*graph.Graph, graph.Tensor, attr.List[int], ...graph.Option) graph.Tensor
	g := graph.New(1)
	x, b := g.Input("x", dtype.F32, 2, 3), g.Input("b", dtype.Bool, 2, 3)
	axes := attr.ListOf(1)
	same := func(short graph.Tensor, op *graph.Operator, attrs task.Attrs) {
		t.Helper()
		if n := short.Node(); n == nil || n.Op != op || n.Attrs != attrs {
			t.Errorf("want %s with %+v, got %+v: %v", op.Name, attrs, n, g.Err())
		}
	}
	for v, f := range map[elementunary.OpType]unary{
		elementunary.OpTypeIdentity:  elementunary.Identity,
		elementunary.OpTypeExp:       elementunary.Exp,
		elementunary.OpTypeLog:       elementunary.Log,
		elementunary.OpTypeSqrt:      elementunary.Sqrt,
		elementunary.OpTypeRsqrt:     elementunary.Rsqrt,
		elementunary.OpTypeSin:       elementunary.Sin,
		elementunary.OpTypeCos:       elementunary.Cos,
		elementunary.OpTypeCeil:      elementunary.Ceil,
		elementunary.OpTypeRound:     elementunary.Round,
		elementunary.OpTypeRelu:      elementunary.Relu,
		elementunary.OpTypeLeakyrelu: elementunary.Leakyrelu,
		elementunary.OpTypeElu:       elementunary.Elu,
		elementunary.OpTypeSigmoid:   elementunary.Sigmoid,
		elementunary.OpTypeTanh:      elementunary.Tanh,
		elementunary.OpTypeGelu:      elementunary.Gelu,
		elementunary.OpTypeGeluTanh:  elementunary.GeluTanh,
		elementunary.OpTypeSilu:      elementunary.Silu,
		elementunary.OpTypeErfc:      elementunary.Erfc,
		elementunary.OpTypeTan:       elementunary.Tan,
		elementunary.OpTypeAsin:      elementunary.Asin,
		elementunary.OpTypeAcos:      elementunary.Acos,
		elementunary.OpTypeAtan:      elementunary.Atan,
		elementunary.OpTypeSinh:      elementunary.Sinh,
		elementunary.OpTypeCosh:      elementunary.Cosh,
		elementunary.OpTypeAsinh:     elementunary.Asinh,
		elementunary.OpTypeAtanh:     elementunary.Atanh,
		elementunary.OpTypeSign:      elementunary.Sign,
		elementunary.OpTypeSoftplus:  elementunary.Softplus,
		elementunary.OpTypeErf:       elementunary.Erf,
		elementunary.OpTypeLgamma:    elementunary.Lgamma,
		elementunary.OpTypeDigamma:   elementunary.Digamma,
	} {
		same(f(g, x), elementunary.Operator, elementunary.Defaults(v))
	}
	for v, f := range map[elementunary.OpType]withScalar{
		elementunary.OpTypePow:            elementunary.Pow,
		elementunary.OpTypeScalarAdd:      elementunary.ScalarAdd,
		elementunary.OpTypeScalarSub:      elementunary.ScalarSub,
		elementunary.OpTypeScalarMultiply: elementunary.ScalarMultiply,
		elementunary.OpTypeScalarTrueDiv:  elementunary.ScalarTrueDiv,
		elementunary.OpTypeScalarFloorDiv: elementunary.ScalarFloorDiv,
	} {
		same(f(g, x, 3), elementunary.Operator, elementunary.Defaults(v).WithScalar(3))
	}
	for v, f := range map[elementbinary.Type]binary{
		elementbinary.TypeEwAdd:   elementbinary.Add,
		elementbinary.TypeEwSub:   elementbinary.Sub,
		elementbinary.TypeEwMul:   elementbinary.Mul,
		elementbinary.TypeEwDiv:   elementbinary.Div,
		elementbinary.TypeEwMax:   elementbinary.Max,
		elementbinary.TypeEwMin:   elementbinary.Min,
		elementbinary.TypeEwPow:   elementbinary.Pow,
		elementbinary.TypeEwHypot: elementbinary.Hypot,
		elementbinary.TypeEwAtan2: elementbinary.Atan2,
	} {
		same(f(g, x, x), elementbinary.Operator, elementbinary.Defaults(v))
	}
	for v, f := range map[elementbinarycompare.Type]binary{
		elementbinarycompare.TypeEwEqual:        elementbinarycompare.Equal,
		elementbinarycompare.TypeEwGreater:      elementbinarycompare.Greater,
		elementbinarycompare.TypeEwLess:         elementbinarycompare.Less,
		elementbinarycompare.TypeEwGreaterEqual: elementbinarycompare.GreaterEqual,
		elementbinarycompare.TypeEwLessEqual:    elementbinarycompare.LessEqual,
	} {
		same(f(g, x, x), elementbinarycompare.Operator, elementbinarycompare.Defaults(v))
	}
	for v, f := range map[elementbinarylogical.Type]binary{
		elementbinarylogical.TypeEwLogicalAnd: elementbinarylogical.And,
		elementbinarylogical.TypeEwLogicalOr:  elementbinarylogical.Or,
		elementbinarylogical.TypeEwLogicalXor: elementbinarylogical.Xor,
	} {
		same(f(g, b, b), elementbinarylogical.Operator, elementbinarylogical.Defaults(v))
	}
	for v, f := range map[errormetric.Metric]binary{
		errormetric.MetricMeanSquaredError:     errormetric.MeanSquaredError,
		errormetric.MetricRootMeanSquaredError: errormetric.RootMeanSquaredError,
		errormetric.MetricMeanAbsoluteError:    errormetric.MeanAbsoluteError,
	} {
		same(f(g, x, x), errormetric.Operator, errormetric.Defaults(v))
	}
	for v, f := range map[elementnary.OpType]nary{
		elementnary.OpTypeSum:  elementnary.Sum,
		elementnary.OpTypeMean: elementnary.Mean,
		elementnary.OpTypeProd: elementnary.Prod,
		elementnary.OpTypeMax:  elementnary.Max,
		elementnary.OpTypeMin:  elementnary.Min,
	} {
		same(f(g, []graph.Tensor{x, x}), elementnary.Operator, elementnary.Defaults(v))
	}
	for v, f := range map[reduce.OpType]along{
		reduce.OpTypeReduceSum:  reduce.Sum,
		reduce.OpTypeReduceMean: reduce.Mean,
		reduce.OpTypeReduceMax:  reduce.Max,
		reduce.OpTypeReduceMin:  reduce.Min,
		reduce.OpTypeReduceProd: reduce.Prod,
	} {
		same(f(g, x, axes), reduce.Operator, reduce.Defaults(v, axes))
	}
	for v, f := range map[reducearg.OpType]along{
		reducearg.OpTypeReduceArgmax: reducearg.Argmax,
		reducearg.OpTypeReduceArgmin: reducearg.Argmin,
	} {
		same(f(g, x, axes), reducearg.Operator, reducearg.Defaults(v, axes))
	}
	same(huber.Huber(g, huber.Logit(x), huber.Label(x)), huber.Operator, huber.Defaults(huber.LossTypeHuber))
	same(huber.SmoothL1(g, huber.Logit(x), huber.Label(x)), huber.Operator, huber.Defaults(huber.LossTypeSmoothL1))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	y := g.Input("y", dtype.F32, 4)
	_, _, line, _ := runtime.Caller(0)
	elementbinary.Add(g, x, y, graph.Named("sum"))
	want := fmt.Sprintf("apply_test.go:%d: node sum: ", line+1)
	if err := g.Err(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s...", err, want)
	}
}
