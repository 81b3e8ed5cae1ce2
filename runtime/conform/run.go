package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/safetensors"
	"github.com/opgen/opgen/runtime/task"
)

// Status is the outcome of a case.
type Status uint8

const (
	Passed Status = iota
	Failed
	Skipped // the operator does not support the case, or the case expects nothing
)

// Result is the outcome of a case, with the computed tensors.
type Result struct {
	Case   *Case
	Status Status
	Reason string
	// Computed holds the computed tensors, by their names in the case.
	Computed map[string]safetensors.Tensor
}

// Runner runs cases.
type Runner struct {
	Registry  *task.Registry
	Operators []*graph.Operator
	// Double computes in float64 what a case gives in float32, and tightens the tolerances of
	// references that were computed in float64 by a factor of 1000.
	Double bool
	// Backend makes a backend. Every case has an engine of its own, on a backend that no other case uses
	// meanwhile.
	Backend func() (engine.Backend, error)
	// Load, unless nil, loads the program of a case in place of an engine on Backend, and initializes its
	// variables. Operators and inputs are on the first of several devices.
	Load func(ctx context.Context, p *graph.Program) (Loaded, error)

	mu   sync.Mutex
	idle []engine.Backend
}

// Close closes the backends of cases that have run.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, b := range r.idle {
		errs = append(errs, b.Close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// take returns a backend that no case uses.
func (r *Runner) take() (engine.Backend, error) {
	r.mu.Lock()
	if n := len(r.idle); n > 0 {
		b := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return b, nil
	}
	r.mu.Unlock()
	return r.Backend()
}

// Loaded is a program that can run, such as an engine.Instance, whose methods these are. Tensors have names.
type Loaded interface {
	Uses(name string) bool
	FeedBytes(name string, data []byte) error
	Run(ctx context.Context) error
	FetchBytes(name string) ([]byte, error)
	Shape(name string) ([]int, error)
	Close() error
}

// lent is a loaded program, and the engine with the backend that it has for a case, unless Runner.Load has
// loaded it.
type lent struct {
	Loaded
	engine  *engine.Engine
	runner  *Runner
	backend engine.Backend
	worked  bool // whether the case has come to its end, so that another one may have the backend
}

// Close unloads the program, and closes the engine.
func (l *lent) Close() error {
	if l.engine == nil {
		return l.Loaded.Close()
	}
	err := l.engine.Close()
	if err != nil || !l.worked {
		return errors.Join(err, l.backend.Close())
	}
	l.runner.mu.Lock()
	defer l.runner.mu.Unlock()
	l.runner.idle = append(l.runner.idle, l.backend)
	return nil
}

// unsupported is an error that makes a case skipped rather than failed.
type unsupported struct{ error }

func unsupportedf(format string, args ...any) error {
	return unsupported{fmt.Errorf(format, args...)}
}

// Run runs a case, which it does not change. The content of a case cannot make it panic.
func (r *Runner) Run(ctx context.Context, c *Case) *Result {
	res := &Result{Case: c}
	computed, err := r.run(ctx, c)
	res.Computed = computed
	var u unsupported
	switch {
	case errors.As(err, &u):
		res.Status, res.Reason = Skipped, err.Error()
	case err != nil:
		res.Status, res.Reason = Failed, err.Error()
	}
	return res
}

func (r *Runner) run(ctx context.Context, c *Case) (map[string]safetensors.Tensor, error) {
	if c.Op == "graph" {
		computed, err := (&execution{runner: r, c: c}).graph(ctx)
		if err != nil {
			return nil, err
		}
		return computed, r.compare(c, computed)
	}
	op, attrs, err := r.operator(c.Op, c.Attrs)
	if err != nil {
		return nil, err
	}
	x := &execution{runner: r, c: c, op: op, attrs: attrs}
	var computed map[string]safetensors.Tensor
	switch {
	case op.Signature(task.KindUpdate) != nil:
		computed, err = x.optimizer(ctx)
	case c.Check == "statistical":
		return x.statistical(ctx)
	case c.Has("unsorted"):
		c, computed, err = x.unsorted(ctx)
	default:
		computed, err = x.plain(ctx)
	}
	if err != nil {
		return nil, err
	}
	return computed, r.compare(c, computed)
}

// protocol lists attributes of cases that say how to run an operator rather than what it is.
var protocol = []string{"steps", "per_step"}

// flexflowTypes gives the element types of FlexFlow's DataType names, which are values in cases.
var flexflowTypes = map[string]dtype.Type{
	`"BOOL"`: dtype.Bool, `"INT32"`: dtype.I32, `"INT64"`: dtype.I64, `"HALF"`: dtype.F16, `"FLOAT"`: dtype.F32, `"DOUBLE"`: dtype.F64,
}

// operator finds an operator by its name. Of a family of operators, it takes the first that accepts the
// attributes.
func (r *Runner) operator(name string, given map[string]json.RawMessage) (*graph.Operator, task.Attrs, error) {
	object := maps.Clone(given)
	for _, p := range protocol {
		delete(object, p)
	}
	for name, value := range object {
		if t, ok := flexflowTypes[string(value)]; ok {
			object[name], _ = json.Marshal(t)
		}
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, nil, err
	}
	found := false
	var errs []error
	for _, op := range r.Operators {
		if op.FullName() != name && op.Name != name && op.Family != name {
			continue
		}
		found = true
		attrs, err := op.DecodeAttrs(data)
		if err == nil {
			return op, r.retype(op, attrs), nil
		}
		errs = append(errs, err)
	}
	if !found {
		return nil, nil, unsupportedf("no operator %s", name)
	}
	return nil, nil, unsupported{errors.Join(errs...)}
}

// retype changes attributes that name element types to float64, as the tensors are. It keeps the type to
// which an operator converts, since such a case tests the rounding.
func (r *Runner) retype(op *graph.Operator, attrs task.Attrs) task.Attrs {
	if !r.Double {
		return attrs
	}
	v := reflect.New(reflect.TypeOf(attrs)).Elem()
	v.Set(reflect.ValueOf(attrs))
	for i, name := range op.AttrNames {
		if t, ok := v.Field(i).Interface().(dtype.Type); ok && t == dtype.F32 && !converts(op, name) {
			v.Field(i).Set(reflect.ValueOf(dtype.F64))
		}
	}
	return v.Interface().(task.Attrs)
}

// converts reports whether an attribute determines the type of outputs, and nothing else.
func converts(op *graph.Operator, attr string) bool {
	return slices.ContainsFunc(op.Types, func(v task.TypeVar) bool {
		other := func(s task.Slot) bool { return s.Type == v.Name && s.Role != task.RoleOutput }
		return slices.Contains(v.From, attr) && !slices.ContainsFunc(op.Slots, other)
	})
}

// storage returns the element type in which a tensor of a case is fed.
func (r *Runner) storage(t dtype.Type) dtype.Type {
	if r.Double && t == dtype.F32 {
		return dtype.F64
	}
	return t
}

// execution is a case that runs on an engine.
type execution struct {
	runner *Runner
	c      *Case
	op     *graph.Operator
	attrs  task.Attrs

	g     *graph.Graph
	node  *graph.Node
	feeds []feed
}

type feed struct {
	name   string
	typ    dtype.Type // of the graph's tensor
	tensor safetensors.Tensor
}

// names returns the tensors of the case for a slot: prefix.slot, or prefix.slot_0, prefix.slot_1, ...
// for a variadic one.
func (x *execution) names(prefix string, s *task.Slot) []string {
	if !s.Variadic {
		if _, ok := x.c.Tensors[prefix+s.Name]; ok {
			return []string{prefix + s.Name}
		}
		return nil
	}
	var names []string
	for i := 0; ; i++ {
		n := prefix + s.Name + "_" + strconv.Itoa(i)
		if _, ok := x.c.Tensors[n]; !ok {
			return names
		}
		names = append(names, n)
	}
}

// input adds a tensor of the case as an input of the graph.
func (x *execution) input(name string, typ dtype.Type, t safetensors.Tensor) graph.Tensor {
	in := x.g.Input(name, typ, t.Shape...)
	x.feeds = append(x.feeds, feed{in.Name(), typ, t})
	return in
}

// build inserts the operator into a new graph, with the case's inputs. extra names tensors that
// belong to the protocol rather than to a slot.
func (x *execution) build(extra ...string) error {
	x.g, x.feeds = graph.New(0), nil
	var opts []graph.Option
	for i := range x.op.Slots {
		if s := &x.op.Slots[i]; s.OnRequest && !s.Asked() && x.wants(s) {
			opts = append(opts, graph.Request(i))
		}
	}
	in := graph.Insert[int](x.g, 0, x.op, x.attrs, opts...)
	used := map[string]bool{}
	for i := range x.op.Slots {
		s := &x.op.Slots[i]
		if s.Asked() {
			in.Ask(i, len(x.names("out.", s)))
		}
		if s.Role != task.RoleInput {
			continue
		}
		names := x.names("in.", s)
		if len(names) == 0 && x.c.Has("given_mask") && s.Optional {
			names = x.names("out.", s) // a mask that the reference drew
		}
		for _, n := range names {
			used[n] = true
			in.Bind(i, x.input(n, x.runner.storage(x.c.Tensors[n].Type), x.c.Tensors[n]))
		}
	}
	passed, err := (&task.Example{Args: x.c.Args}).Passed(&x.op.Operator)
	if err != nil {
		return err
	}
	for slot, values := range passed {
		in.BindArg(slot, values...)
	}
	x.node = in.Node()
	if err := x.g.Err(); err != nil {
		return unsupported{err}
	}
	for _, name := range slices.Sorted(maps.Keys(x.c.Tensors)) {
		kind, slot, _ := strings.Cut(name, ".")
		if kind != "in" && kind != "weight" || used[name] || slices.Contains(extra, name) {
			continue
		}
		i := x.op.SlotNamed(slot)
		if i < 0 || x.op.Slots[i].Role != task.RoleWeight {
			return unsupportedf("operator %s has no slot for %s", x.op.FullName(), name)
		}
		v := x.node.Tensor(i)
		if !v.Valid() {
			return unsupportedf("operator %s has no %s with these attributes", x.op.FullName(), slot)
		}
		if t := x.c.Tensors[name]; !slices.Equal(v.Shape(), t.Shape) {
			return fmt.Errorf("%s has shape %v, the operator's rules give %v", name, t.Shape, v.Shape())
		}
		x.feeds = append(x.feeds, feed{v.Name(), v.Type(), x.c.Tensors[name]})
	}
	return nil
}

// wants reports whether to request an output that is made on request: the case has it, or the case has no
// outputs at all.
func (x *execution) wants(s *task.Slot) bool {
	if len(x.names("out.", s)) > 0 {
		return true
	}
	for name := range x.c.Tensors {
		if strings.HasPrefix(name, "out.") {
			return false
		}
	}
	return true
}

// load loads a program with its variables, which are initialized and fed, as the inputs are.
func (x *execution) load(ctx context.Context, p *graph.Program) (*lent, error) {
	l := &lent{runner: x.runner}
	var err error
	if x.runner.Load != nil {
		l.Loaded, err = x.runner.Load(ctx, p)
	} else if l.backend, err = x.runner.take(); err == nil {
		l.engine = engine.New(x.runner.Registry, l.backend, engine.Config{KeepBackend: true})
		if l.Loaded, err = initialized(ctx, l.engine, p); err != nil {
			l.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	for _, f := range x.feeds {
		if err := x.feed(l, f); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// initialized plans a program and loads it into an engine, after it has run what initializes its variables.
func initialized(ctx context.Context, e *engine.Engine, p *graph.Program) (Loaded, error) {
	if len(p.Variables) > 0 {
		init, err := graph.Initialization(p)
		if err != nil {
			return nil, err
		}
		in, err := loadPlan(e, init)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(in.Run(ctx), in.Close()); err != nil {
			return nil, err
		}
	}
	return loadPlan(e, p)
}

func loadPlan(e *engine.Engine, p *graph.Program) (*engine.Instance, error) {
	pl, err := planner.Build(p, e.Options()...)
	if err != nil {
		return nil, err
	}
	return e.Load(pl)
}

func (x *execution) feed(in Loaded, f feed) error {
	if !in.Uses(f.name) {
		return nil // a weight that only a gradient would need, for example
	}
	t, err := f.tensor.As(f.typ)
	if err != nil {
		return err
	}
	return in.FeedBytes(f.name, t.Data)
}

func fetch(in Loaded, t graph.Tensor) (safetensors.Tensor, error) {
	data, err := in.FetchBytes(t.Name())
	if err != nil {
		return safetensors.Tensor{}, err
	}
	s, err := in.Shape(t.Name())
	return safetensors.Tensor{Type: t.Type(), Shape: s, Data: data}, err
}

// plain runs an operator forward and, if the case gives gradients of outputs, backward.
func (x *execution) plain(ctx context.Context) (map[string]safetensors.Tensor, error) {
	if err := x.build(); err != nil {
		return nil, err
	}
	want := map[string]graph.Tensor{}
	add := func(prefix string, slot int, ts []graph.Tensor) {
		s := &x.op.Slots[slot]
		for i, t := range ts {
			name := prefix + s.Name
			if s.Variadic {
				name += "_" + strconv.Itoa(i)
			}
			want[name] = t
		}
	}
	state := map[string]graph.Tensor{} // weights that forward changes
	seeds := map[graph.Tensor]graph.Tensor{}
	for i := range x.op.Slots {
		s := &x.op.Slots[i]
		if s.Role == task.RoleWeight && x.changes(i) {
			state["out."+s.Name] = x.node.Tensor(i)
		}
		if s.Role != task.RoleOutput {
			continue
		}
		add("out.", i, x.node.Tensors(i))
		for k, n := range x.names("grad_out.", s) {
			if k < len(x.node.Tensors(i)) {
				of := x.node.Tensors(i)[k]
				seeds[of] = x.input(n, of.Type(), x.c.Tensors[n])
			}
		}
	}
	program, err := x.program(want, seeds, add)
	if err != nil {
		return nil, err
	}
	in, err := x.load(ctx, program)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := in.Run(ctx); err != nil {
		return nil, err
	}
	computed := map[string]safetensors.Tensor{}
	for name, t := range want {
		if computed[name], err = fetch(in, t); err != nil {
			return nil, err
		}
	}
	for name, t := range state {
		if computed[name], err = fetch(in, t); err != nil {
			return nil, err
		}
	}
	in.worked = true
	return computed, nil
}

// changes reports whether the operator's forward changes a weight.
func (x *execution) changes(slot int) bool {
	return slices.ContainsFunc(x.op.Signature(task.KindForward).Params, func(p task.Param) bool { return p.Slot == slot && !p.Grad && p.Perm.Writes() })
}

// program returns the program that computes what is wanted, and adds the gradients to it.
func (x *execution) program(want map[string]graph.Tensor, seeds map[graph.Tensor]graph.Tensor, add func(string, int, []graph.Tensor)) (*graph.Program, error) {
	var outputs []graph.Tensor
	for _, name := range slices.Sorted(maps.Keys(want)) {
		outputs = append(outputs, want[name])
	}
	if len(seeds) == 0 {
		return graph.Whole(x.g, outputs...) // with the attributes of the case, whatever inference changes
	}
	if x.op.Signature(task.KindBackward) == nil {
		return nil, unsupportedf("operator %s has no gradient", x.op.FullName())
	}
	var wrt []graph.Tensor
	for i := range x.op.Slots {
		if x.op.Slots[i].Trainable {
			wrt = append(wrt, x.node.Tensors(i)...)
		}
	}
	p, grads, err := graph.Gradients(x.g, seeds, wrt, outputs...)
	if err != nil {
		return nil, err
	}
	for i := range x.op.Slots {
		s := &x.op.Slots[i]
		var ts []graph.Tensor
		for _, t := range x.node.Tensors(i) {
			if g, ok := grads[t]; ok && s.Trainable {
				ts = append(ts, g)
			}
		}
		switch s.Role {
		case task.RoleInput:
			add("grad_in.", i, ts)
		case task.RoleWeight:
			add("grad_weight.", i, ts)
		}
	}
	return p, nil
}

// optimizer takes the steps of an optimizer case: step t is given in.grad_t.
func (x *execution) optimizer(ctx context.Context) (map[string]safetensors.Tensor, error) {
	var grads []string
	for {
		n := fmt.Sprintf("in.grad_%d", len(grads))
		if _, ok := x.c.Tensors[n]; !ok {
			break
		}
		grads = append(grads, n)
	}
	if len(grads) == 0 {
		return nil, unsupportedf("the case has no in.grad_0")
	}
	c := *x.c // the caller's case is not changed: others may run it at the same time
	c.Tensors = maps.Clone(c.Tensors)
	c.Tensors["in.grad"] = c.Tensors[grads[0]]
	x.c = &c
	if err := x.build(grads...); err != nil {
		return nil, err
	}
	weight, grad := x.node.Tensor(x.op.SlotNamed("weight")), x.node.Tensor(x.op.SlotNamed("grad"))
	if !weight.Valid() || !grad.Valid() {
		return nil, fmt.Errorf("optimizer %s has no slots weight and grad", x.op.FullName())
	}
	program, err := graph.Whole(x.g, weight)
	if err != nil {
		return nil, err
	}
	in, err := x.load(ctx, program)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	computed := map[string]safetensors.Tensor{}
	for t, n := range grads {
		if err := x.feed(in, feed{grad.Name(), grad.Type(), x.c.Tensors[n]}); err != nil {
			return nil, err
		}
		if err := in.Run(ctx); err != nil {
			return nil, err
		}
		w, err := fetch(in, weight)
		if err != nil {
			return nil, err
		}
		computed[fmt.Sprintf("out.weight_%d", t)] = w
		if err := x.feed(in, feed{weight.Name(), weight.Type(), w}); err != nil {
			return nil, err
		}
		for i := range x.op.Slots {
			if v := x.node.Tensor(i); x.op.Slots[i].Role == task.RoleWeight && v.Valid() {
				if computed[fmt.Sprintf("out.%s_%d", x.op.Slots[i].Name, t)], err = fetch(in, v); err != nil {
					return nil, err
				}
			}
		}
	}
	in.worked = true
	return computed, nil
}
