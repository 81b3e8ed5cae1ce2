package typed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/adam"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/softmax"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// drift lists mistakes that occur where the slots of an operator are declared several times by hand, as in
// FlexFlow (https://github.com/flexflow/flexflow-train). The equivalent of each mistake is a spec with a
// finding, a program that does not compile, or a call that returns an error. what gives the operators of
// FlexFlow that have the mistake, and the mistake.
var drift = []struct {
	what string
	// spec is added to a spec whose forward task has the arguments args. finding begins the finding of opgen
	// check, with its code.
	args, spec, finding string
	// code is a program. It does not compile, and want is a part of the message. If want is empty, the
	// program compiles: the mistake cannot occur, as the declaration is generated.
	code, want string
	// call returns an error that contains want.
	call func() error
}{
	// Types of arguments that differ between signature and accessor.
	{what: "attention: HANDLE declared as one type, bound as another", args: `"handle"`,
		spec: "[args.handle]\ntype = \"example.com/m.PerDeviceFFHandle\"\nfrom = \"handle\"\nunchecked = true", finding: "OP509: an argument from handle is of type task.Handle"},
	{what: "batch_norm, cast, combine, concat, conv_2d, gather, replicate: PROFILING declared as bool", args: `"profiling"`,
		spec: "[args.profiling]\ntype = \"bool\"\nfrom = \"profiling\"", finding: "OP509: an argument from profiling is of type task.Profiling, not bool"},
	{what: "element_binary: ATTRS declared as BatchMatmulAttrs", args: `"all"`,
		spec: "[args.all]\ntype = \"BatchMatmulAttrs\"\nfrom = \"attrs\"", finding: "OP509: an argument from attrs is of type Attrs, not BatchMatmulAttrs"},
	{what: "embedding: KERNEL_DEVICE_TYPE declared as ProfilingSettings", args: `"device_type"`,
		spec: "[args.device_type]\ntype = \"task.Profiling\"\nfrom = \"handle\"\nunchecked = true", finding: "OP509: an argument from handle is of type task.Handle, not task.Profiling"},
	{what: "batch_matmul: iteration_config() has the type of a handle", args: `"step"`,
		spec: "[args.step]\ntype = \"task.Handle\"\nfrom = \"iteration\"", finding: "OP509: an argument from iteration is of type int, not task.Handle"},
	{what: "attention: input_parallel_tensor_shape drops which input", args: `"parts"`,
		spec: "[args.parts]\nfrom = \"shape()\"", finding: "OP203: there is no slot "},
	{what: "attention: per-device state declared plain", args: `"state"`,
		spec: "[args.state]\ntype = \"*example.com/m.State\"\nfrom = \"init\"\n[tasks.init]\nreturns = \"state\"\n[tasks.cleanup]\nargs = [\"state\"]", finding: "OP509: state holds per-device state, which is not plain data"},

	// Slots and arguments that a kernel reads, but that are not in the signature.
	{what: "batch_matmul: ITERATION_CONFIG read, not in the signature", code: `func f(ctx *op.Ctx, a *softmax.Forward[float32]) int { return a.Iteration(ctx) }`, want: "a.Iteration undefined"},
	{what: "element_unary: HANDLE read, not in the signature", code: `func f(a *elementunary.Forward[float32]) any { return a.Handle }`, want: "a.Handle undefined"},
	{what: "element_unary init: PROFILING read, not in the signature", code: `func f(a *elementunary.Backward[float32]) any { return a.Profiling }`, want: "a.Profiling undefined"},
	{what: "conv_2d init: a gradient read, not in the signature", spec: "[args.state]\ntype = \"*example.com/m.State\"\nfrom = \"init\"\nunchecked = true\n[tasks.init]\nreturns = \"state\"\naccess = { input = \"read\" }\n[tasks.cleanup]\nargs = [\"state\"]",
		args: `"state"`, finding: "OP502: init gets no tensors"},
	{what: "dropout backward: ATTRS read, never bound", code: `func f(a *dropout.Backward[float32]) float64 { return a.Attrs.Rate }`},
	{what: "transpose, reverse, split forward: ATTRS read, neither bound nor in the signature", code: `func f(a *softmax.Forward[float32]) int { return a.Attrs.Dim }`},
	{what: "softmax init: OUTPUT read, never bound", code: `func f(n *graph.Node, x graph.Tensor) { softmax.ForwardTensors{x}.Invoke(n) }`, want: "too few values in struct literal of type softmax.ForwardTensors"},
	{what: "gather: PER_DEVICE_STATE read, not declared", args: `"per_device_state"`, finding: "OP203: there is no argument per_device_state"},

	// Slots and arguments that are bound, but not in the signature, or in the signature, but not bound.
	{what: "batch_matmul: ITERATION_CONFIG bound, not in the signature", want: "want an argument of the task", call: func() error {
		return bind(softmax.Operator, task.KindForward, func(b *graph.Binding[int], _ graph.Tensor) { b.BindArg(int(softmax.SlotInput), 1) })
	}},
	{what: "softmax: INPUT bound to backward, which is not given it", want: "slot input: want a slot that the task uses", call: func() error {
		return bind(softmax.Operator, task.KindBackward, func(b *graph.Binding[int], _ graph.Tensor) { b.Bind(int(softmax.SlotInput)) })
	}},
	{what: "element_unary init: HANDLE in the signature, not bound", want: "want an argument that the caller passes, got one from iteration", call: func() error {
		g := graph.New(1)
		w := g.Input("w", dtype.F32, 2)
		n := graph.Insert[int](g, 0, adam.Operator, adam.Defaults()).Bind(int(adam.SlotWeight), w).Bind(int(adam.SlotGrad), w).Node()
		_, err := graph.NewBinding[int](n, task.KindUpdate).BindArg(int(adam.SlotIteration), 3).Invocation()
		return err
	}},
	{what: "element_binary: measuring leaves ATTRS out", code: `func f(g *graph.Graph, a, b graph.Tensor) { elementbinary.Apply(g, elementbinary.LhsInput(a), elementbinary.RhsInput(b)) }`, want: "not enough arguments in call to elementbinary.Apply"},
	{what: "any: a slot bound twice, the second binding dropped", want: "slot input: want one binding, got a second one", call: func() error {
		return bind(softmax.Operator, task.KindForward, func(b *graph.Binding[int], x graph.Tensor) {
			b.Bind(int(softmax.SlotInput), x).Bind(int(softmax.SlotInput), x)
		})
	}},

	// Roles and permissions.
	{what: "embedding: OUTPUT declared as an input", spec: "[slots.made]\nrole = \"input\"\ntype = \"T\"\nshape = [\"N\"]\n[tasks.forward.access]\nmade = \"write\"", finding: "OP502: forward may not have write access to made"},
	{what: "batch_norm: weights bound as inputs", code: `func f(g *graph.Graph, x, w graph.Tensor) { linear.Apply(g, linear.Defaults(3), x, w) }`, want: "cannot use w (variable of struct type graph.Tensor) as graph.Option value"},
	{what: "batch_norm: bias taken from SCALE", code: `func f(x, w graph.Tensor) { _ = linear.ForwardTensors{Input: x, Weight: w, Scale: w} }`, want: "unknown field Scale in struct literal of type linear.ForwardTensors"},
	{what: "conv_2d init: an input taken for writing", code: `func f(a *conv2d.Forward[float32]) { a.Input.Set(0, 1) }`, want: "a.Input.Set undefined"},
	{what: "conv_2d backward: OUTPUT taken for writing", spec: "[tasks.backward]\nover = \"N\"\naccess = { output = \"write\" }", finding: "OP502: backward may not have write access to output"},
	{what: "cast, combine, partition, replicate backward: permissions of gradients swapped (input)", code: `func f(a *softmax.Backward[float32]) float32 { return a.GradInput.At(0) }`, want: "a.GradInput.At undefined"},
	{what: "cast, combine, partition, replicate backward: permissions of gradients swapped (output)", code: `func f(a *softmax.Backward[float32]) { a.GradOutput.Put(0, 1) }`, want: "a.GradOutput.Put undefined"},
	{what: "layer_norm: GAMMA and BETA taken for writing", code: `func f(a *linear.Forward[float32]) { a.Weight.Set(0, 1) }`, want: "a.Weight.Set undefined"},
	{what: "gather: INDEX is an input in one task and a weight in another", spec: "[slots.index]\nrole = \"input\"\ntype = \"i64\"\nshape = [\"N\"]\n[slots.index]\nrole = \"weight\"", finding: "OP001:"},
	{what: "gather, embedding: INDEX is trainable", spec: "[slots.index]\nrole = \"input\"\ntype = \"i64\"\nshape = [\"N\"]\ntrainable = true", finding: "OP504: i64 is not floating-point"},

	// Backward.
	{what: "embedding, pool_2d backward: a value where its gradient is needed", code: `func f(y graph.Tensor) { _ = softmax.BackwardTensors{Output: y, GradOutput: y} }`, want: "cannot use y (variable of struct type graph.Tensor) as graph.Gradient value"},
	{what: "linear backward: the bias passed as its gradient", code: `func f(b graph.Tensor) { _ = linear.BackwardTensors{GradBias: b} }`, want: "cannot use b (variable of struct type graph.Tensor) as graph.Gradient value"},
	{what: "gather backward: the forward kernel called", code: `func f(ctx *op.Ctx, a *softmax.Backward[float32], r op.Range) error { return softmaxKernel[float32]{}.Forward(ctx, a, r) }`, want: "cannot use a (variable of type *softmax.Backward[float32]) as *softmax.Forward[float32] value"},
	{what: "infer_bwd_binding: integers get gradients", code: `func f(g graph.Gradient) { _ = sparsecategoricalcrossentropy.BackwardTensors{GradLabel: g} }`, want: "unknown field GradLabel"},

	// Optional and variadic slots.
	{what: "linear: BIAS read without a check that it is present", code: `func f(a *linear.Forward[float32]) float32 { return a.Bias.At(0) }`, want: "a.Bias.At undefined"},
	{what: "split: one OUTPUT for many outputs", code: `func f(g *graph.Graph, a split.Attrs, x graph.Tensor) graph.Tensor { return split.Apply(g, a, x) }`, want: "as graph.Tensor value in return statement"},
	{what: "transpose: measuring binds several inputs", want: "slot input: want one tensor, got 2", call: func() error {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 2, 2)
		graph.Insert[int](g, 0, softmax.Operator, softmax.Defaults()).Bind(int(softmax.SlotInput), x, x).Node()
		return g.Err()
	}},
	{what: "layer_norm: measuring gives weights the shape of the input", want: "slot weight: want f32[3, 4], got x f32[5, 4]", call: func() error {
		g := graph.New(1)
		x := g.Input("x", dtype.F32, 5, 4)
		a := linear.Defaults(3)
		y := linear.Apply(g, a, x)
		_, err := linear.ForwardTensors{Input: x, Weight: x, Output: y}.Invoke(y.Node())
		return err
	}},

	// Init and per-device state.
	{what: "batch_norm: init returns nothing", args: `"state"`, spec: "[args.state]\ntype = \"*example.com/m.State\"\nfrom = \"init\"\nunchecked = true\n[tasks.init]\n[tasks.cleanup]\nargs = [\"state\"]", finding: "OP503: init returns nothing"},
	{what: "any: no task frees per-device state", args: `"state"`, spec: "[args.state]\ntype = \"*example.com/m.State\"\nfrom = \"init\"\nunchecked = true\n[tasks.init]\nreturns = \"state\"", finding: "OP503: nothing frees the per-device state"},
	{what: "batch_norm: running statistics begin uninitialized", spec: "[slots.mean]\nrole = \"weight\"\ntype = \"T\"\nshape = [\"N\"]\ntrainable = false", finding: "OP102: init is missing"},

	// Unused slots.
	{what: "batch_norm: RELU is a slot that no task uses", spec: "[args.relu]\ntype = \"bool\"\nfrom = \"true\"", finding: "OP205: no task takes the argument relu"},
	{what: "any: scratch memory that no task uses", spec: "[slots.one]\nrole = \"scratch\"\ntype = \"T\"\nshape = [\"N\"]", finding: "OP205: no task uses the scratch slot one"},

	// Positional parameters, registration, ids.
	{what: "batch_matmul, partition, linear init: parameters in another order in the header", code: `type k struct{ softmaxKernel[float32] }; func (k) Forward(*softmax.Forward[float32], *op.Ctx, op.Range) error { return nil }; var _ softmax.Kernel[float32] = k{}`, want: "wrong type for method Forward"},
	{what: "partition, pool_2d, reduce, split, topk, transpose: backward not registered", code: `type k struct{ softmaxKernel[float32] }; func (k) Backward() {}; type set struct{}; func (set) F32() softmax.Kernel[float32] { return k{} }`, want: "wrong type for method Backward"},
	{what: "replicate: registered with the kernel of CAST", code: `type set struct{}; func (set) F32() elementunary.Kernel[float32] { return softmaxKernel[float32]{} }`, want: "does not implement elementunary.Kernel[float32]"},
	{what: "reduce: registered under the id of TRANSPOSE", want: "want task id", call: func() error {
		return new(task.Registry).RegisterTask(softmax.ForwardTask, "linear", linear.Operator.Signature(task.KindForward))
	}},
	{what: "LAYERNORM_FWD: registered with another task's signature", want: "want task id", call: func() error {
		return new(task.Registry).RegisterTask(linear.ForwardTask, "linear", linear.Operator.Signature(task.KindBackward))
	}},
	{what: "ELEMENTUNARY_BWD: backward of element_binary called", code: `func f(ctx *op.Ctx, a *elementunary.Backward[float32], r op.Range) error { return softmaxKernel[float32]{}.Backward(ctx, a, r) }`, want: "as *softmax.Backward[float32] value"},
	{what: "any: the enum value of another operator's slot", code: `func f(n *graph.Node, x graph.Tensor) { graph.NewBinding[linear.Slot](n, task.KindForward).Bind(softmax.SlotInput, x) }`, want: "cannot use softmax.SlotInput"},
	{what: "reverse: the same axis counted from different ends in forward and backward", spec: "[require.axis]\nthat = \"axs >= 0\"\nmessage = \"no axis\"", finding: "OP203: axs is not defined"},
}

// bind applies an operator with one input, binds a task of it with f, and returns the error of the
// invocation.
func bind(op *graph.Operator, kind task.Kind, f func(*graph.Binding[int], graph.Tensor)) error {
	g := graph.New(1)
	x := g.Input("x", dtype.F32, 2, 2)
	attrs, err := op.DecodeAttrs([]byte("{}"))
	if err != nil {
		return err
	}
	b := graph.NewBinding[int](graph.Insert[int](g, 0, op, attrs).Bind(0, x).Node(), kind)
	f(b, x)
	_, err = b.Invocation()
	return err
}

// TestDriftInSpecs checks the finding of opgen check for each spec with a mistake.
func TestDriftInSpecs(t *testing.T) {
	t.Parallel()
	const before = "edition = 1\nname = \"scale\"\ndoc = \"Multiplies by a factor.\"\n[dtypes]\nT = [\"f32\"]\n[slots.input]\nrole = \"input\"\ntype = \"T\"\nshape = [\"N\"]\n[slots.output]\nrole = \"output\"\ntype = \"T\"\nshape = [\"N\"]\n[tasks.forward]\nover = \"N\"\n"
	for _, d := range drift {
		if d.finding == "" {
			continue
		}
		root := t.TempDir()
		text := before + fmt.Sprintf("args = [%s]\n", d.args) + d.spec + "\n"
		for name, data := range map[string]string{"go.mod": "module example.com/m\n\nrequire github.com/opgen/opgen v0.1.0\n", "opgen.toml": "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n", "specs/scale.toml": text} {
			p := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(data), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r, err := driver.Load(root)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Findings.Sorted() {
			got = append(got, fmt.Sprintf("%s: %s", f.Code, f.Message))
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], d.finding) {
			t.Errorf("%s: got %q, want %s...", d.what, got, d.finding)
		}
	}
}

// TestDriftInCalls checks that each call with a mistake returns its error.
func TestDriftInCalls(t *testing.T) {
	t.Parallel()
	for _, d := range drift {
		if d.call == nil {
			continue
		}
		if err := d.call(); err == nil || !strings.Contains(err.Error(), d.want) {
			t.Errorf("%s: got %v, want ...%s", d.what, err, d.want)
		}
	}
}

// TestDriftInPrograms checks that each program with a mistake does not compile.
func TestDriftInPrograms(t *testing.T) {
	t.Parallel()
	var sources, whats, wants []string
	for _, d := range drift {
		if d.code != "" {
			sources, whats, wants = append(sources, source(d.code)), append(whats, d.what), append(wants, d.want)
		}
	}
	got := messages(build(t, sources))
	for i := range sources {
		switch m := got[folder(i)]; {
		case wants[i] == "" && m != "":
			t.Errorf("%s: want a program that compiles, got\n%s", whats[i], m)
		case wants[i] != "" && !strings.Contains(m, wants[i]):
			t.Errorf("%s: got %q, want ...%s", whats[i], m, wants[i])
		}
	}
}
