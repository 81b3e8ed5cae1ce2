// Package typed tests the types of generated code: mistakes do not compile, and networks are built from typed
// functions.
package typed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// programs lists functions and declarations that must not compile, in groups. want is a part of the message
// of the compiler. Each group also has a control without want: a similar program that compiles.
var programs = []struct {
	group, code string
	want        string
}{
	// A view has only the methods that the permission of its slot allows.
	{"views", `func f(a *linear.Forward[float32]) { a.Output.Set(0, a.Input.At(0)) }`, ""},
	{"views", `func f(a *linear.Forward[float32]) { a.Input.Set(0, 1) }`, "a.Input.Set undefined (type tensor.RO[float32] has no field or method Set)"},
	{"views", `func f(a *softmax.Forward[float32]) float32 { return a.Output.At(0) }`, "a.Output.At undefined (type tensor.WO[float32] has no field or method At)"},
	{"views", `func f(a *softmax.Forward[float32]) float32 { return a.Output.Lane(0).At(0) }`, "a.Output.Lane(0).At undefined (type tensor.WOLane[float32] has no field or method At)"},
	{"views", `func f(a *linear.Backward[float32]) { a.GradInput.Set(0, 1) }`, "a.GradInput.Set undefined (type tensor.Grad[float32] has no field or method Set)"},
	{"views", `func f(a *linear.Backward[float32]) float32 { return a.GradInput.At(0) }`, "a.GradInput.At undefined (type tensor.Grad[float32] has no field or method At)"},
	{"views", `func f(a *linear.Backward[float32]) { a.GradInput.Lane(0).Set(0, 1) }`, "a.GradInput.Lane(0).Set undefined (type tensor.GradLane[float32] has no field or method Set)"},
	{"views", `func f(a *linear.Backward[float32]) { a.GradInput.Mat(0, 1, 1).Row(0).Set(0, 1) }`, "a.GradInput.Mat(0, 1, 1).Row undefined (type tensor.OutMat[float32] has no field or method Row)"},
	{"views", `func f(a *linear.Backward[float32]) { a.GradOutput.Put(0, 1) }`, "a.GradOutput.Put undefined (type tensor.RO[float32] has no field or method Put)"},
	{"views", `func f(a *softmax.Backward[float32]) float32 { return a.Input.At(0) }`, "a.Input undefined (type *softmax.Backward[float32] has no field or method Input)"},
	{"views", `func f(a *linear.Forward[float32]) { a.Output.Set(0, float64(1)) }`, "cannot use float64(1) (constant 1 of type float64) as float32 value in argument to a.Output.Set"},
	{"views", `func f(a *linear.Forward[float32]) { vec.ExpNorm(a.Input.Lane(0), a.Input.Lane(0)) }`, "in call to vec.ExpNorm, type tensor.ROLane[float32] of a.Input.Lane(0) does not match inferred type tensor.WOLane[float32]"},

	// The view of an optional slot comes from Get, which reports whether the slot has a tensor.
	{"optional", `func f(a *linear.Forward[float32]) float32 { if b, ok := a.Bias.Get(); ok { return b.At(0) }; return 0 }`, ""},
	{"optional", `func f(a *linear.Forward[float32]) float32 { return a.Bias.At(0) }`, "a.Bias.At undefined (type tensor.Opt[tensor.RO[float32]] has no field or method At)"},

	// A view is no slice. Only the runtime gets the memory of a view.
	{"memory", `func f(a *linear.Forward[float32]) float32 { return a.Input.At(0) }`, ""},
	{"memory", `func f(a *linear.Forward[float32]) float32 { return a.Input[0] }`, "cannot index a.Input (variable of struct type tensor.RO[float32])"},
	{"memory", `func f(a *linear.Forward[float32]) { for range a.Input {} }`, "cannot range over a.Input (variable of struct type tensor.RO[float32])"},
	{"memory", `func f(a *linear.Forward[float32]) []float32 { return []float32(a.Input) }`, "cannot convert a.Input (variable of struct type tensor.RO[float32]) to type []float32"},
	{"memory", `func f(a *linear.Forward[float32]) []float32 { return a.Input.data }`, "a.Input.data undefined (cannot refer to unexported field data)"},
	{"memory", `func f(a *linear.Forward[float32]) []float32 { p, _, _ := a.Input.Lane(0).Sealed(); return p.data }`, "p.data undefined (cannot refer to unexported field data)"},
	{"memory", `func f(a *linear.Forward[float32]) []float32 { p, _, _ := a.Input.Mat(0, 1, 1).Sealed(); return []float32(p) }`, "cannot convert p (variable of struct type unlock.Part[float32]) to type []float32"},
	{"memory", `func open[K, T any](f func(K) ([]T, int, int)) (d []T) { var k K; d, _, _ = f(k); return d }; func f(a *linear.Forward[float32]) []float32 { return open(a.Input.Lane(0).Sealed) }`, "does not match"},
	{"memory", `func f(a *linear.Forward[float32]) { a.Input.Lane(0).Unlock(struct{}{}) }`, "has no field or method Unlock"},
	{"memory", `func f(data []float32) tensor.RW[float32] { return tensor.MakeRW(data, nil) }`, "type []float32 of data does not match unlock.Memory[T]"},
	{"memory", `func f(a *linear.Forward[float32]) tensor.RW[float32] { p, _, _ := a.Input.Lane(0).Sealed(); return tensor.MakeRW(p, nil) }`, "type unlock.Part[float32] of p does not match inferred type unlock.Memory[float32]"},

	// The slots of each operator have a type of their own.
	{"slots", `func f(n *graph.Node, x graph.Tensor) { graph.NewBinding[linear.Slot](n, task.KindForward).Bind(linear.SlotInput, x) }`, ""},
	{"slots", `func f(n *graph.Node, x graph.Tensor) { graph.NewBinding[linear.Slot](n, task.KindForward).Bind(softmax.SlotInput, x) }`, "cannot use softmax.SlotInput (constant 0 of int type softmax.Slot) as linear.Slot value in argument to"},
	{"slots", `func f(g *graph.Graph, x graph.Tensor) { graph.Insert[linear.Slot](g, 0, linear.Operator, linear.Defaults(3)).Bind(dropout.SlotMask, x) }`, "cannot use dropout.SlotMask (constant 1 of int type dropout.Slot) as linear.Slot value in argument to"},
	{"slots", `func f(b *opimpl.Binder[linear.Slot]) tensor.RO[bool] { return opimpl.ReadOnly[bool](b, dropout.SlotMask) }`, "does not match inferred type"},

	// A call takes slots of one operator, and numbers as element types.
	{"call", `func f(s *opgen.Session, x []float32) { opgen.NewCall(s, softmax.Operator, softmax.Defaults(), opgen.On(softmax.SlotInput, x, 3), opgen.On(softmax.SlotOutput, x, 3)) }`, ""},
	{"call", `func f(s *opgen.Session, x []float32) { opgen.NewCall(s, softmax.Operator, softmax.Defaults(), opgen.On(softmax.SlotInput, x, 3), opgen.On(linear.SlotOutput, x, 3)) }`, "type opgen.Operand[linear.Slot]"},
	{"call", `func f(s *opgen.Session, x []string) { opgen.NewCall(s, softmax.Operator, softmax.Defaults(), opgen.On(softmax.SlotInput, x, 3)) }`, "string does not satisfy dtype.Element"},

	// Tensors of Apply cannot be swapped or left out.
	{"apply", `func f(g *graph.Graph, a, b graph.Tensor) { elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(a), elementbinary.RhsInput(b)) }`, ""},
	{"apply", `func f(g *graph.Graph, a, b graph.Tensor) { elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.RhsInput(b), elementbinary.LhsInput(a)) }`, "cannot use elementbinary.RhsInput(b) (value of struct type elementbinary.RhsInput) as elementbinary.LhsInput value in argument to elementbinary.Apply"},
	{"apply", `func f(g *graph.Graph, a, b graph.Tensor) { elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), a, b) }`, "cannot use a (variable of struct type graph.Tensor) as elementbinary.LhsInput value in argument to elementbinary.Apply"},
	{"apply", `func f(g *graph.Graph, a graph.Tensor) { elementbinary.Apply(g, elementbinary.Defaults(elementbinary.TypeEwAdd), elementbinary.LhsInput(a)) }`, "not enough arguments in call to elementbinary.Apply"},
	{"apply", `func f(g *graph.Graph, a graph.Tensor) { linear.Apply(g, softmax.Defaults(), a) }`, "cannot use softmax.Defaults() (value of struct type softmax.Attrs) as linear.Attrs value in argument to linear.Apply"},
	{"apply", `func f(g *graph.Graph, a graph.Tensor) graph.Tensor { return softmax.Apply(g, softmax.Defaults()) }`, "not enough arguments in call to softmax.Apply"},
	{"apply", `func f(g *graph.Graph) graph.Tensor { return softmax.Apply(g, softmax.Defaults(), nil) }`, "cannot use nil as graph.Tensor value in argument to softmax.Apply"},

	// Tensors and gradients of an invocation cannot be swapped or left out.
	{"invoke", `func f(n *graph.Node, x, y graph.Tensor) { softmax.ForwardTensors{Input: x, Output: y}.Invoke(n) }`, ""},
	{"invoke", `func f(n *graph.Node, x graph.Tensor) { softmax.ForwardTensors{x}.Invoke(n) }`, "too few values in struct literal of type softmax.ForwardTensors"},
	{"invoke", `func f(n *graph.Node, x graph.Tensor) { softmax.ForwardTensors{Weight: x}.Invoke(n) }`, "unknown field Weight in struct literal of type softmax.ForwardTensors"},
	{"invoke", `func f(n *graph.Node, x graph.Tensor) { softmax.BackwardTensors{Output: x, GradOutput: x}.Invoke(n) }`, "cannot use x (variable of struct type graph.Tensor) as graph.Gradient value in struct literal"},
	{"invoke", `func f(n *graph.Node, g graph.Gradient) { softmax.BackwardTensors{Output: g}.Invoke(n) }`, "cannot use g (variable of struct type graph.Gradient) as graph.Tensor value in struct literal"},

	// Constraints can be added only where the task declares none.
	{"constraints", `func f(n *graph.Node, x, y graph.Tensor, c partition.Constraint) error { inv, err := softmax.ForwardTensors{Input: x, Output: y}.Invoke(n); if err != nil { return err }; return inv.AddConstraint(c) }`, ""},
	{"constraints", `func f(inv *graph.Invocation, c partition.Constraint) error { return inv.AddConstraint(c) }`, "inv.AddConstraint undefined (type *graph.Invocation has no field or method AddConstraint)"},

	// Attributes have the types of the spec.
	{"attrs", `var a = linear.Defaults(3).WithActivation(activation.Relu)`, ""},
	{"attrs", `var a = linear.Defaults(3).WithActivation("RELU")`, `cannot use "RELU" (untyped string constant) as activation.Activation value in argument to`},
	{"attrs", `var a = linear.Defaults(3).WithActivation(pool2d.PoolTypeMax)`, "as activation.Activation value in argument to"},
	{"attrs", `var a = linear.Defaults(3).WithChannels(3)`, "WithChannels undefined (type linear.Attrs has no field or method WithChannels)"},
	{"attrs", `var a = linear.Defaults(3).WithOutChannels(3)`, "WithOutChannels undefined (type linear.Attrs has no field or method WithOutChannels)"},
	{"attrs", `var a = linear.Attrs{Channels: 3}`, "unknown field Channels in struct literal of type linear.Attrs"},

	// What must be given is a parameter. Without it, nothing compiles.
	{"required", `var a = split.Defaults(1, split.Attrs{}.Splits)`, ""},
	{"required", `var a = linear.Defaults()`, "not enough arguments in call to linear.Defaults"},
	{"required", `var a = split.Defaults(1)`, "not enough arguments in call to split.Defaults"},
	{"required", `var a = linear.Attrs{made: true}`, "cannot refer to unexported field made in struct literal of type linear.Attrs"},

	// Kernels, and sets of kernels that are registered, are complete and of the right type.
	{"kernels", `var _ conv2d.Kernel[float32] = kernels.Conv2d[float32]{}`, ""},
	{"kernels", `type k struct{ softmaxKernel[float32] }; func (k) Backward() {}; var _ softmax.Kernel[float32] = k{}`, "wrong type for method Backward"},
	{"kernels", `type k struct{}; func (k) Forward(*op.Ctx, *softmax.Forward[float32], op.Range) error { return nil }; var _ softmax.Kernel[float32] = k{}`, "missing method Backward"},
	{"kernels", `var _ conv2d.Kernel[float32] = kernels.Conv2d[float64]{}`, "wrong type for method BackwardFilter"},
	{"kernels", `var _ conv2d.Kernel[float32] = softmaxKernel[float32]{}`, "missing method BackwardFilter"},
	{"kernels", `type k[T dtype.Float] struct{}; var _ softmax.Kernel[int32] = nil`, "int32 does not satisfy dtype.Float"},
	{"register", `type set struct{}; func (set) F32() softmax.Kernel[float32] { return softmaxKernel[float32]{} }; func (set) F64() softmax.Kernel[float64] { return softmaxKernel[float64]{} }; func f(r *task.Registry) error { return softmax.Register(r, op.CPU, set{}) }`, ""},
	{"register", `type set struct{}; func (set) F32() softmax.Kernel[float32] { return softmaxKernel[float32]{} }; func f(r *task.Registry) error { return softmax.Register(r, op.CPU, set{}) }`, "Kernels (type set) does not satisfy interface{F32() softmax.Kernel[float32]; F64() softmax.Kernel[float64]} (missing method F64)"},
	{"register", `type set struct{}; func (set) F32() softmax.Kernel[float32] { return struct{}{} }`, "struct{} does not implement softmax.Kernel[float32] (missing method Backward)"},
	{"register", `type set struct{}; func (set) F32() softmax.Kernel[float32] { return softmaxKernel[float64]{} }`, "does not implement softmax.Kernel[float32] (wrong type for method Backward)"},
	{"register", `type set struct{}; func (set) F32() softmax.Kernel[float64] { return softmaxKernel[float64]{} }; func (set) F64() softmax.Kernel[float64] { return softmaxKernel[float64]{} }; func f(r *task.Registry) error { return softmax.Register(r, op.CPU, set{}) }`, "Kernels (type set) does not satisfy interface{F32() softmax.Kernel[float32]; F64() softmax.Kernel[float64]} (wrong type for method F32)"},
}

// imports maps the package names that programs use to the folders of the packages.
var imports = map[string]string{
	"activation": inGenerated, "conv2d": inGenerated, "elementunary": inGenerated, "sparsecategoricalcrossentropy": inGenerated, "split": inGenerated, "dropout": inGenerated,
	"elementbinary": inGenerated, "linear": inGenerated, "pool2d": inGenerated, "softmax": inGenerated,
	"dtype": inRuntime, "graph": inRuntime, "op": inRuntime, "opimpl": inRuntime, "partition": inRuntime, "task": inRuntime, "tensor": inRuntime, "vec": inRuntime,
	"kernels": "opgen", "opgen": "",
}

// softmaxKernel is a kernel that programs use by its name. It is added to them.
const softmaxKernel = `
type softmaxKernel[T dtype.Float] struct{}

func (softmaxKernel[T]) Forward(_ *op.Ctx, a *softmax.Forward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		vec.ExpNorm(a.Output.Lane(i), a.Input.Lane(i))
	}
	return nil
}

func (softmaxKernel[T]) Backward(_ *op.Ctx, a *softmax.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		y, g, to := a.Output.Lane(i), a.GradOutput.Lane(i), a.GradInput.Lane(i)
		dot := vec.Dot(y, g)
		for k := range y.Len() {
			to.Put(k, y.At(k)*(g.At(k)-dot))
		}
	}
	return nil
}
`

const module = "github.com/opgen/opgen"

// The folders of packages, beside that of the module.
const inGenerated, inRuntime = "opgen/generated", "opgen/runtime"

// source returns a program as a file of a package.
func source(code string) string {
	if strings.Contains(code, "softmaxKernel") {
		code += "\n" + softmaxKernel
	}
	var b strings.Builder
	b.WriteString("package p\n\nimport (\n")
	for name, folder := range imports {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(code) {
			fmt.Fprintf(&b, "\t%q\n", path.Join(path.Dir(module), folder, name))
		}
	}
	fmt.Fprintf(&b, ")\n\n%s\n", code)
	return b.String()
}

// build compiles packages, each with one source file, and returns the output of the go command. The packages
// exist only in an overlay of this module.
func build(t *testing.T, sources []string, args ...string) string {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for i, text := range sources {
		file := filepath.Join(dir, fmt.Sprintf("p%02d.go", i))
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(here, folder(i), "p.go")] = file
		args = append(args, "./"+folder(i))
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append([]string{"build", "-gcflags=-e", "-overlay", file}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		t.Fatal(err)
	}
	return out.String()
}

// folder returns the name of the folder of package i.
func folder(i int) string { return fmt.Sprintf("p%02d", i) }

// messages returns the messages of the go command about packages that do not compile, by folder. The output
// of the command has a block for each such package: a line with # and its path, and then the messages.
func messages(out string) map[string]string {
	all := map[string]string{}
	for block := range strings.SplitSeq(out, "# ") {
		head, rest, _ := strings.Cut(block, "\n")
		all[filepath.Base(head)] = rest
	}
	return all
}

// TestDoesNotCompile checks that each program fails with its message, and that each control compiles.
func TestDoesNotCompile(t *testing.T) {
	var sources []string
	for _, p := range programs {
		sources = append(sources, source(p.code))
	}
	messages := messages(build(t, sources))
	controls := map[string]bool{}
	for i, p := range programs {
		got := messages[folder(i)]
		switch {
		case p.want == "" && got != "":
			t.Errorf("%s: want a control that compiles:\n%s\ngot\n%s", p.group, p.code, got)
		case p.want == "":
			controls[p.group] = true
		case got == "":
			t.Errorf("%s: want the message %s, but the program compiles:\n%s", p.group, p.want, p.code)
		case !strings.Contains(got, p.want):
			t.Errorf("%s: %s\nwant %s\ngot  %s", p.group, p.code, p.want, got)
		}
		if strings.Contains(got, "imported and not used") || strings.Contains(got, ": undefined: ") {
			t.Errorf("%s: the imports or names of the program are wrong:\n%s\n%s", p.group, p.code, got)
		}
	}
	for _, p := range programs {
		if !controls[p.group] {
			t.Errorf("group %s: want a control that compiles, got none", p.group)
		}
	}
}

// TestF1KeyIsInternal checks that only the runtime can import what opens the memory of views.
func TestF1KeyIsInternal(t *testing.T) {
	const code = `package p

import (
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/internal/unlock"
)

func f(a *linear.Forward[float32]) { unlock.Lane(a.Input.Lane(0).Sealed()) }
`
	const want = "use of internal package github.com/opgen/opgen/runtime/internal/unlock not allowed"
	if out := build(t, []string{code}); !strings.Contains(out, want) {
		t.Errorf("got %q, want %q", out, want)
	}
}

// TestF1NoConversions checks that no view, no part of one and nothing that holds one converts to that of
// another permission.
func TestF1NoConversions(t *testing.T) {
	kinds := []string{"RO", "WO", "RW", "Grad", "Scatter", "Reduction", "ROLane", "WOLane", "RWLane", "GradLane", "ScatterLane", "ROMat", "OutMat", "PerWorker"}
	forms := []string{"%s", "*%s", "[]%s", "[1]%s", "map[int]%s", "chan %s", "func(%s)", "func() %s", "struct{ V %s }", "tensor.Opt[%s]"}
	var code strings.Builder
	var lines []string // by number, from the sixth on
	code.WriteString("package p\n\nimport \"github.com/opgen/opgen/runtime/tensor\"\n\n")
	for _, form := range forms {
		for _, from := range kinds {
			for _, to := range kinds {
				if from == to || form != "%s" && (from != "RO" || to != "WO") {
					continue
				}
				from, to := fmt.Sprintf(form, "tensor."+from+"[float32]"), fmt.Sprintf(form, "tensor."+to+"[float32]")
				lines = append(lines, fmt.Sprintf("var _ = func(v %s) { _ = (%s)(v) }", from, to))
			}
		}
	}
	lines = append(lines,
		"var _ = func(v tensor.RO[float32]) { type mine tensor.RO[float32]; _ = tensor.WO[float32](mine(v)) }",
		"func as[W, V any](v V) W { return W(v) }",
		"func between[W tensor.WO[float32] | tensor.RW[float32], V tensor.RO[float32]](v V) W { return W(v) }",
	)
	code.WriteString(strings.Join(lines, "\n") + "\n")
	out := build(t, []string{code.String()})
	for i, line := range lines {
		if !regexp.MustCompile(fmt.Sprintf(`\.go:%d:\d+: cannot convert`, i+5)).MatchString(out) {
			t.Errorf("this compiles: %s", line)
		}
	}
}
