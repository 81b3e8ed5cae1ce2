package breaches

// breach is a kernel that breaks a rule.
type breach struct {
	number string // in the audit; those with a letter are variants
	what   string
	code   string // of a package; empty if it is a run
	by     string // what stops it
	want   string // a part of the message
}

const (
	compiler = "the Go compiler"
	vetting  = "opgen vet"
	checking = "checked mode"
	running  = "a run"
	nothing  = "nothing, as nothing is wrong"
)

const (
	forward = "func (k *K) Forward(ctx *op.Ctx, a *softmax.Forward[float32], r op.Range) error { "
	end     = "; return nil }; type K struct{ f func(); g func(func()) }"
)

// breaches lists the kernels. Those without code are functions of package breaches, by number.
var breaches = []breach{
	{"0", "harmless", forward + `for i := r.Lo; i < r.Hi; i++ { vec.ExpNorm(a.Output.Lane(i), a.Input.Lane(i)) }` + end, nothing, ""},
	{"0a", "a closure that is called", forward + `at := func(i int) float32 { return a.Input.At(i) }; order := []int{1, 0}; slices.SortFunc(order, func(i, j int) int { return cmp.Compare(at(i), at(j)) }); each(2, func(i int) { a.Output.Set(i, at(order[i])) })` + end + `; func each(n int, f func(int)) { for i := range n { f(i) } }`, nothing, ""},
	{"0b", "own copies are changed", forward + `d := a.Dims; d.R = 2; s := slices.Clone(a.Input.Shape()); s[0] = 1; attrs := a.Attrs; attrs.Dim = 2; list := []tensor.RO[float32]{a.Input}; list[0] = a.Input; _, _, _ = d, attrs, list` + end, nothing, ""},
	{"1", "an input becomes a view for writing", forward + `tensor.WO[float32](a.Input).Set(0, 99)` + end, compiler, "cannot convert a.Input"},
	{"2", "an output becomes a view for reading", forward + `_ = tensor.RO[float32](a.Output).At(0)` + end, compiler, "cannot convert a.Output"},
	{"2a", "a gradient becomes a view for reading", `func f(a *softmax.Backward[float32]) float32 { return tensor.RO[float32](a.GradInput).At(0) }`, compiler, "cannot convert a.GradInput"},
	{"3", "a lane becomes one for writing", forward + `tensor.RWLane[float32](a.Input.Lane(0)).Set(0, 99)` + end, compiler, "cannot convert a.Input.Lane(0)"},
	{"3a", "a lane becomes one of a gradient that is added to", forward + `tensor.ScatterLane[float32](a.Input.Lane(0)).Add(0, 99)` + end, compiler, "cannot convert a.Input.Lane(0)"},
	{"3b", "a type of the kernel's own between them", forward + `type mine tensor.RO[float32]; _ = tensor.RW[float32](mine(a.Input))` + end, compiler, "cannot convert mine(a.Input)"},
	{"4", "a key made by hand", forward + `a.Input.Lane(0).Unlock(struct{}{})` + end, compiler, "Unlock undefined"},
	{"5", "a key by inference", forward + `open(a.Input.Lane(0).Unlock)[0] = 99` + end + `; func open[K, T any](f func(K) ([]T, int, int)) []T { var k K; d, _, _ := f(k); return d }`, compiler, "Unlock undefined"},
	{"5a", "what is sealed is opened", forward + `p, _, _ := a.Input.Lane(0).Sealed(); _ = ([]float32)(p)` + end, compiler, "cannot convert p"},
	{"5b", "a view is made of what is sealed", forward + `p, _, _ := a.Input.Lane(0).Sealed(); tensor.MakeRW(p, nil).Set(0, 99)` + end, compiler, "does not match"},
	{"5c", "what is sealed is kept", `var last any; ` + forward + `p, _, _ := a.Input.Lane(0).Sealed(); last = p` + end, vetting, "becomes any"},
	{"6", "raw memory with a reason is written", "", checking, "input"},
	{"7", "raw memory without a reason", forward + `d, _ := raw.Slice(a.Input.Lane(0)); d[0] = 1` + end, vetting, "raw.Slice gives access"},
	{"8", "reflection", forward + `_ = reflect.ValueOf(a.Output).Field(1)` + end, vetting, "becomes any"},
	{"8a", "formatting, which reads", forward + `_ = fmt.Sprint(a.Output)` + end, vetting, "becomes any"},
	{"9", "an unsafe cast of the view", forward + `(*tensor.WO[float32])(unsafe.Pointer(&a.Input)).Set(0, 99)` + end, vetting, "unsafe.Pointer gives access"},
	{"10", "a view in a global", `var last tensor.RO[float32]; ` + forward + `last = a.Input` + end, vetting, "package variable last"},
	{"10a", "the arguments in a global of another type", `var last []any; ` + forward + `last = append(last, a)` + end, vetting, "package variable last"},
	{"10b", "a view in a global, by range", `var last tensor.RO[float32]; ` + forward + `for _, last = range []tensor.RO[float32]{a.Input} {}` + end, vetting, "package variable last"},
	{"10c", "raw memory of a view in a field", forward + `k.f = func() { a.Output.Set(0, 1) }` + end, vetting, "kept in k.f"},
	{"11", "kept through a local any", `var last any; ` + forward + `x := any(a.Input); last = x` + end, vetting, "becomes any"},
	{"11a", "kept through a declared any", `var last any; ` + forward + `var x any = a.Input; last = x` + end, vetting, "becomes any"},
	{"11b", "kept through a struct of any", `var last any; ` + forward + `x := struct{ v any }{a.Input}; last = x` + end, vetting, "becomes any"},
	{"11c", "kept by a panic", forward + `panic(a)` + end, vetting, "value of a panic"},
	{"12", "sync.Map", `var m sync.Map; ` + forward + `m.Store(0, a.Input)` + end, vetting, "becomes any"},
	{"12a", "atomic.Pointer", `var p atomic.Pointer[tensor.RO[float32]]; ` + forward + `p.Store(&a.Input)` + end, vetting, "type parameter"},
	{"12b", "context.WithValue", forward + `_ = context.WithValue(context.Background(), 0, a)` + end, vetting, "becomes any"},
	{"13", "a closure through a local", `var later func(); ` + forward + `f := func() { a.Output.Set(0, 1) }; later = f` + end, vetting, "package variable later"},
	{"13a", "a method value through a local", `var later func(int, float32); ` + forward + `f := a.Output.Set; later = f` + end, vetting, "package variable later"},
	{"13b", "a closure that a function makes", `var later func(int) float32; func reader(v tensor.RO[float32]) func(int) float32 { return v.At }; ` + forward + `later = reader(a.Input)` + end, vetting, "package variable later"},
	{"13c", "a closure that a function keeps", `var later []func(); func keep(f func()) { later = append(later, f) }; ` + forward + `keep(func() { a.Output.Set(0, 1) })` + end, vetting, "a function that may keep it"},
	{"13d", "a closure that a function of a field may keep", forward + `k.g(func() { a.Output.Set(0, 1) })` + end, vetting, "a function that may keep it"},
	{"14", "a generic function", `var last any; func keep[V any](v V) { last = v }; ` + forward + `keep(a.Input)` + end, vetting, "type parameter"},
	{"14a", "a generic type", `var last any; type box[V any] struct{ v V }; func (b *box[V]) put(v V) { b.v = v }; ` + forward + `b := &box[tensor.RO[float32]]{}; b.put(a.Input); last = b` + end, vetting, "becomes any"},
	{"15", "time.AfterFunc", forward + `time.AfterFunc(time.Second, func() { a.Output.Set(0, 1) })` + end, vetting, "a function that may keep it"},
	{"15a", "a cleanup", forward + `runtime.AddCleanup(new(int), func(f func(int, float32)) { f(0, 1) }, a.Output.Set)` + end, vetting, "a function that may keep it"},
	{"16", "a go statement", forward + `go func() { a.Output.Set(0, 1) }()` + end, vetting, "given to a goroutine"},
	{"16a", "a go statement of a local", forward + `f := func() { a.Output.Set(0, 1) }; go f()` + end, vetting, "given to a goroutine"},
	{"16b", "WaitGroup.Go", forward + `var w sync.WaitGroup; w.Go(func() { a.Output.Set(0, 1) }); w.Wait()` + end, vetting, "a function that may keep it"},
	{"17", "views of the shared arguments are swapped", `func f(a *dropout.Forward[float32], b *dropout.Forward[float32]) { a.Output, b.Output = b.Output, a.Output }`, vetting, "a.Output"},
	{"18", "attributes are changed", forward + `a.Attrs.Dim = 3` + end, vetting, "a.Attrs.Dim is changed"},
	{"18a", "dimensions are changed", forward + `a.Dims.R++` + end, vetting, "a.Dims.R is changed"},
	{"18b", "dimensions in a list are changed", forward + `d := a.Dims; d.A[0] = 3` + end, vetting, "d.A[0] is changed"},
	{"18c", "dimensions in a list are sorted", forward + `slices.Sort(a.Dims.A)` + end, vetting, "a.Dims.A is changed"},
	{"18d", "attributes by a pointer", forward + `p := &a.Attrs; p.Dim = 1` + end, vetting, "p.Dim is changed"},
	{"18e", "attributes by a function", `func set(p *softmax.Attrs) { p.Dim = 1 }; ` + forward + `set(&a.Attrs)` + end, vetting, "&a.Attrs is changed"},
	{"18f", "all arguments", forward + `*a = softmax.Forward[float32]{}` + end, vetting, "*a is changed"},
	{"19", "the shape of a view is changed", forward + `a.Input.Shape()[0] = 1` + end, vetting, "a.Input.Shape()[0] is changed"},
	{"19a", "the shape by a local", forward + `s := a.Input.Shape(); s[0]--` + end, vetting, "s[0] is changed"},
	{"19b", "the shape by copy", forward + `copy(a.Input.Shape(), []int{1})` + end, vetting, "a.Input.Shape() is changed"},
	{"20", "the context is changed", forward + `ctx.Worker = 100` + end, vetting, "ctx.Worker is changed"},
	{"21", "an interface with the method", forward + `_, _ = any(a.Input).(interface{ Set(int, float32) })` + end, vetting, "becomes any"},
	{"22", "elements of another range are written", "", checking, "output"},
	{"23", "elements beyond the end are written", "", running, "out of range"},
	{"24", "an unexported field", forward + `_ = a.Input.data` + end, compiler, "unexported field data"},
	{"25", "a conversion to a slice", forward + `_ = []float32(a.Input)` + end, compiler, "cannot convert a.Input"},
	{"27", "scratch memory of another range is read", "", checking, "order"},
	{"27a", "scratch memory of another worker is written", "", checking, "order"},
	{"28", "a raw slice is appended to", "", nothing, ""},
	{"29", "a name of the runtime is linked to", "//go:linkname secret github.com/opgen/opgen/runtime/cpu.host\nfunc secret()\n" + forward + end, vetting, "is linked to by name"},
	{"30", "views are bound by the kernel itself", `func bind(acc *task.Accessor) []byte { _ = tensor.RO[float32]{}; return acc.Memory(0, false)[0].Bytes }`, vetting, "task.Accessor.Memory gives access"},
	{"30a", "package opimpl", `func f(b *opimpl.Binder[softmax.Slot]) tensor.RW[float32] { return opimpl.ReadWrite[float32](b, softmax.SlotInput) }`, vetting, "package opimpl"},
}
