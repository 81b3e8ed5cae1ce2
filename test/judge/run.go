package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/internal/randomformula"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/cuda"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

func typeOf(c *randomformula.Case, s randomformula.Slot) dtype.Type {
	t, err := dtype.Parse(c.TypeOf(s))
	if err != nil {
		panic(err) // randomformula writes types
	}
	return t
}

// elementType returns the type of the real numbers of a case.
func elementType(c *randomformula.Case) dtype.Type { return typeOf(c, randomformula.Slot{Type: "T"}) }

// variant says how a use runs.
type variant struct {
	name      string
	workers   int
	grain     int  // indices of a range; 0: as the plan says
	grouped   bool // beside elementwise operators
	reference bool // by the interpreter
	alone     string
	forward   bool // without gradients
	tiles     bool // as a plan of tiles, whose sizes are random
	checked   bool // by the backend that checks what kernels access
	twice     bool // the results are those of the second step, and before.NAME what weights were then
}

// runner runs uses. It keeps a backend for each number of workers.
type runner struct {
	device   bool // on a GPU
	backends map[int]engine.Backend
	tiled    int // how many plans had tiles
}

func newRunner(device bool) *runner {
	return &runner{device: device, backends: map[int]engine.Backend{}}
}

// run runs a use. It returns the elements of the outputs, and of the gradients as grad.NAME; of none, if
// nothing depends on the input, or if tiles are wanted and there are none.
func (r *runner) run(o *liveOperator, c *randomformula.Case, d drawn, v variant) (out map[string]elements, err error) {
	attrs, err := o.DecodeAttrs([]byte(c.Attrs))
	if err != nil {
		return nil, err
	}
	g := graph.New(1)
	options := []graph.Option{graph.Named("node")}
	for i, s := range o.Slots {
		if s.OnRequest && !c.Unasked {
			options = append(options, graph.Request(i))
		}
	}
	node := graph.Insert[int](g, 0, o.Operator, attrs, options...)
	feeds := map[string]elements{}
	given, wrt := map[string][]graph.Tensor{}, []graph.Tensor{}
	for _, s := range c.Inputs {
		if s.Owned {
			continue
		}
		t := typeOf(c, s)
		given[s.Name] = []graph.Tensor{}
		for i, dims := range c.Tensors(s) {
			name := tensorName(s.Name, i)
			x := g.Input(name, t, dims...)
			e, y := d.inputs[name], x
			if v.grouped && t.IsFloat() && !c.Gives(s) {
				e = scaled(e, 0.5)
				y = beside(g, x, 2)
			}
			given[s.Name] = append(given[s.Name], y)
			feeds[x.Name()] = e
			if c.HasGradient(s) && (v.alone == "" || v.alone == s.Name) {
				wrt = append(wrt, x)
			}
		}
	}
	for i, s := range o.Slots {
		if list, there := given[s.Name]; there && s.Role == task.RoleInput {
			node = node.Bind(i, list...)
		}
	}
	n := node.Node()
	if err := g.Err(); err != nil {
		return nil, err
	}
	var fetch []graph.Tensor
	owned, renewed := map[graph.Tensor]string{}, map[string]graph.Tensor{} // weights, and what the formula gives anew
	for _, s := range c.Inputs {
		if !s.Owned && !c.Gives(s) {
			continue
		}
		x := n.Tensor(o.SlotNamed(s.Name))
		if s.Owned {
			owned[x] = s.Name
			feeds[x.Name()] = d.inputs[s.Name]
			if c.HasGradient(s) && (v.alone == "" || v.alone == s.Name) {
				wrt = append(wrt, x)
			}
		}
		if c.Gives(s) {
			renewed[s.Name] = x
			fetch = append(fetch, x)
		}
	}
	seeds, outputs := map[graph.Tensor]graph.Tensor{}, map[string]graph.Tensor{}
	for i, s := range o.Slots {
		if s.Role != task.RoleOutput || s.OnRequest && c.Unasked {
			continue
		}
		for k, y := range n.Tensors(i) {
			name := tensorName(s.Name, k)
			if v.grouped && y.Type().IsFloat() {
				y = beside(g, y, 0.5)
			}
			outputs[name] = y
			fetch = append(fetch, y)
			if w, ok := d.seeds[name]; ok && c.Differentiable() {
				seed := g.Input("seed of "+name, y.Type(), y.Shape()...)
				seeds[y] = seed
				feeds[seed.Name()] = elements{real: w}
				if v.grouped {
					feeds[seed.Name()] = scaled(elements{real: w}, 2)
				}
			}
		}
	}
	if err := g.Err(); err != nil {
		return nil, err
	}
	var p *graph.Program
	grads := map[graph.Tensor]graph.Tensor{}
	if len(seeds) == 0 || len(wrt) == 0 || v.forward {
		p, err = graph.Whole(g, fetch...)
	} else {
		p, grads, err = graph.Gradients(g, seeds, wrt, fetch...)
	}
	if err != nil {
		return nil, err
	}
	if v.tiles && !resize(n.Resolved, len(o.Signatures), rand.New(rand.NewPCG(c.Values, 3))) {
		return nil, nil
	}
	in, closed, err := r.load(o, p, v)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	step := func() error {
		for name, e := range feeds {
			if !in.Uses(name) {
				continue
			}
			t := dtype.Invalid
			for _, x := range slices.Concat(p.Fed, p.Variables) {
				if x.Name() == name {
					t = x.Type()
				}
			}
			if err := in.FeedBytes(name, encode(t, e)); err != nil {
				return err
			}
		}
		return in.Run(context.Background())
	}
	if err := step(); err != nil {
		return nil, err
	}
	out = map[string]elements{}
	if v.twice {
		for name, x := range renewed {
			data, err := in.FetchBytes(x.Name())
			if err != nil {
				return nil, err
			}
			out["before."+name] = decode(x.Type(), data)
			if delete(feeds, x.Name()); owned[x] == "" { // an input, which is fed in each step
				feeds[x.Name()] = out["before."+name]
			}
		}
		if err := step(); err != nil {
			return nil, err
		}
	}
	get := func(name string, x graph.Tensor, by float64) error {
		data, err := in.FetchBytes(x.Name())
		e := decode(x.Type(), data)
		if v.grouped && x.Type().IsFloat() {
			e = scaled(e, by)
		}
		out[name] = e
		return err
	}
	for name, y := range outputs {
		if err := get(name, y, 2); err != nil {
			return nil, err
		}
	}
	for name, x := range renewed {
		data, err := in.FetchBytes(x.Name())
		if err != nil {
			return nil, err
		}
		out["new."+name] = decode(x.Type(), data)
	}
	for _, x := range wrt {
		if gr, ok := grads[x]; ok {
			name, by := x.Name(), 0.5
			if slot := owned[x]; slot != "" { // which is not beside an elementwise operator
				name, by = slot, 1
			}
			if err := get("grad."+name, gr, by); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// resize gives the tiles of tasks random sizes. It reports whether there are any.
func resize(r *task.Resolution, tasks int, rng *rand.Rand) (any bool) {
	for t := range tasks {
		if tiles, err := r.Tiles(t, 0, ""); err == nil {
			any = true
			for d, n := range tiles.Rows {
				tiles.Size[d] = 1 + rng.IntN(n)
			}
		}
	}
	return any
}

// beside applies an operator whose results are exact: the product with a power of 2.
func beside(g *graph.Graph, x graph.Tensor, by float64) graph.Tensor {
	return elementunary.ScalarMultiply(g, x, by)
}

func scaled(e elements, by float64) elements {
	out := elements{whole: e.whole}
	for _, v := range e.real {
		out.real = append(out.real, v*by)
	}
	return out
}

// load plans a program and loads it.
func (r *runner) load(o *liveOperator, p *graph.Program, v variant) (*engine.Instance, func() error, error) {
	var tasks task.Registry
	register := formula.Register
	switch {
	case r.device:
		register = func(tasks *task.Registry, _ op.Target, operators ...*task.Operator) error {
			return formula.RegisterCUDA(tasks, operators...)
		}
	case v.reference:
		register = formula.RegisterReference
	}
	if err := register(&tasks, op.CPU, &o.Operator.Operator, &elementunary.Operator.Operator); err != nil {
		return nil, nil, err
	}
	b, err := r.backend(v.workers)
	if err != nil {
		return nil, nil, err
	}
	config := engine.Config{KeepBackend: true}
	if v.checked {
		b, config.KeepBackend = checked.New(cpu.Config{Workers: v.workers}), false
	}
	e := engine.New(&tasks, b, config)
	options := e.Options()
	if v.tiles {
		options = append(options, planner.Tiled())
	}
	pl, err := planner.Build(p, options...)
	if err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	if slices.ContainsFunc(pl.Tasks, func(t plan.Task) bool { return t.Tile > 0 }) {
		r.tiled++
	}
	if v.grain > 0 {
		for i := range pl.Tasks {
			pl.Tasks[i].Grain = v.grain
		}
	}
	in, err := e.Load(pl)
	if err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	return in, e.Close, nil
}

// backend returns the backend that runs plans with a number of workers.
func (r *runner) backend(workers int) (engine.Backend, error) {
	b := r.backends[workers]
	if b != nil {
		return b, nil
	}
	b = cpu.New(cpu.Config{Workers: workers})
	if r.device {
		var err error
		if b, err = cuda.New(cuda.Config{Queues: workers}); err != nil {
			return nil, err
		}
	}
	r.backends[workers] = b
	return b, nil
}

// encode returns elements as tensors hold them.
func encode(t dtype.Type, e elements) []byte {
	var out []byte
	size := t.Size()
	for _, v := range e.real {
		b := make([]byte, size)
		t.PutFloat64(b, v)
		out = append(out, b...)
	}
	for _, v := range e.whole {
		out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(v))[:size]...)
	}
	return out
}

// decode returns the elements of a tensor.
func decode(t dtype.Type, data []byte) elements {
	var out elements
	size := t.Size()
	for at := 0; at+size <= len(data); at += size {
		switch b := data[at : at+size]; {
		case t.IsFloat():
			out.real = append(out.real, t.Float64(b))
		default:
			var full [8]byte
			if !unsigned(t) && t != dtype.Bool && b[size-1]&0x80 != 0 {
				binary.LittleEndian.PutUint64(full[:], math.MaxUint64)
			}
			copy(full[:], b)
			out.whole = append(out.whole, int64(binary.LittleEndian.Uint64(full[:])))
		}
	}
	return out
}

// close closes the backends.
func (r *runner) close() error {
	var errs []error
	for _, b := range r.backends {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// bits returns a number for the bits of results. All NaN count as one.
func bits(out map[string]elements) string {
	h := uint64(14695981039346656037)
	mix := func(v uint64) {
		for range 8 {
			h = (h ^ v&0xff) * 1099511628211
			v >>= 8
		}
	}
	names := make([]string, 0, len(out))
	for name := range out {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range out[name].real {
			if v != v {
				v = math.NaN()
			}
			mix(math.Float64bits(v))
		}
		for _, v := range out[name].whole {
			mix(uint64(v))
		}
	}
	return fmt.Sprintf("%016x", h)
}
