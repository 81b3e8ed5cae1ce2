package planner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	mse "github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// mostWorkers is the largest number of workers that run random graphs.
const mostWorkers = 8

// network is a random graph of up to 12 layers of the catalogue: elementwise, replicated, with halos,
// causal, reversed, reduced, joined and cut, with tensors in place and views.
type network struct {
	*rand.Rand
	g       *graph.Graph
	typ     dtype.Type
	tensors []graph.Tensor
	text    []string // what was applied to what
}

// operators are those of the catalogue, by name.
var operators = func() map[string]*graph.Operator {
	out := map[string]*graph.Operator{}
	for _, o := range catalogue.Operators() {
		out[o.Name] = o
	}
	return out
}()

func (n *network) input(dims ...int) graph.Tensor {
	x := n.g.Input(fmt.Sprintf("x%d", len(n.tensors)), n.typ, dims...)
	n.tensors = append(n.tensors, x)
	return x
}

// add applies an operator to one of the last tensors. It may add none, where the tensor does not fit.
func (n *network) add() error {
	x := n.tensors[len(n.tensors)-1-n.IntN(min(len(n.tensors), 3))]
	dims := x.Shape()
	rank := len(dims)
	axis := n.IntN(rank)
	large := shape.Prod(dims) > 3000
	switch n.IntN(25) {
	case 0, 1:
		return n.apply("element_unary", fmt.Sprintf(`{"op_type": %q}`, []string{"TANH", "RELU", "SIGMOID", "GELU"}[n.IntN(4)]), x)
	case 2, 3: // a residual, or a tensor that is repeated
		y := n.tensors[n.IntN(len(n.tensors))]
		if s, ok := shape.Broadcast(dims, y.Shape()); !ok || !shape.Equal(s, dims) || n.IntN(3) == 0 {
			other := slices.Clone(dims)
			for d := range other {
				if n.IntN(2) == 0 {
					other[d] = 1
				}
			}
			y = n.input(other[n.IntN(rank):]...)
		}
		return n.apply("element_binary", fmt.Sprintf(`{"type": %q}`, []string{"EW_ADD", "EW_MUL", "EW_MAX"}[n.IntN(3)]), x, y)
	case 4, 5:
		return n.apply("linear", fmt.Sprintf(`{"out_channels": %d, "use_bias": %v, "activation": %q}`, 1+n.IntN(20), n.IntN(2) == 0, []string{"RELU", "GELU", "NONE"}[n.IntN(2)]), x)
	case 6:
		return n.apply("softmax", fmt.Sprintf(`{"dim": %d}`, axis), x)
	case 7:
		return n.apply([]string{"layer_norm", "rms_norm"}[n.IntN(2)], fmt.Sprintf(`{"axes": [%d], "elementwise_affine": %v}`, axis, n.IntN(2) == 0), x)
	case 8:
		return n.apply("cumsum", fmt.Sprintf(`{"axis": %d, "exclusive": %v, "reverse": %v}`, axis, n.IntN(2) == 0, n.IntN(2) == 0), x)
	case 9:
		return n.apply("reverse", fmt.Sprintf(`{"axis": %d}`, axis), x)
	case 10:
		if rank != 3 {
			return nil
		}
		reach := n.IntN(3)
		return n.apply("stencil", fmt.Sprintf(`{"reach": %d}`, reach), x, n.input(2*reach+1, 2*reach+1))
	case 11:
		if rank != 4 || dims[2] < 3 || dims[3] < 3 {
			return nil
		}
		return n.apply("pool_2d", fmt.Sprintf(`{"kernel_h": %d, "kernel_w": %d, "stride_h": %d, "padding_h": %d, "pool_type": %q}`,
			2+n.IntN(2), 1+n.IntN(3), 1+n.IntN(2), n.IntN(2), []string{"MAX", "AVG"}[n.IntN(2)]), x)
	case 12:
		if rank != 4 || dims[2] < 3 || dims[3] < 3 {
			return nil
		}
		groups := []int{1, 1, dims[1]}[n.IntN(3)]
		kernel, apart := 1+n.IntN(3), 1
		if kernel == 2 {
			apart = 1 + n.IntN(2)
		}
		return n.apply("conv_2d", fmt.Sprintf(`{"out_channels": %d, "groups": %d, "kernel_h": %d, "kernel_w": %d, "stride_h": %d, "stride_w": %d, "dilation_h": %d, "padding_h": %d, "activation": %q}`,
			groups*(1+n.IntN(3)), groups, kernel, 1+n.IntN(3), 1+n.IntN(2), 1+n.IntN(2), apart, n.IntN(2), []string{"RELU", "GELU", "NONE"}[n.IntN(3)]), x)
	case 13:
		if large {
			return nil
		}
		return n.apply("pad", fmt.Sprintf(`{"axis": %d, "before": %d, "behind": %d, "mode": %q}`, axis, n.IntN(3), n.IntN(3), []string{"CONSTANT", "REPLICATE"}[n.IntN(2)]), x)
	case 14:
		f := []string{"REDUCE_SUM", "REDUCE_MEAN", "REDUCE_MAX"}[n.IntN(3)]
		return n.apply("reduce", fmt.Sprintf(`{"op_type": %q, "axes": [%d], "keepdims": true}`, f, axis), x)
	case 15:
		if large {
			return nil
		}
		return n.apply("concat", fmt.Sprintf(`{"axis": %d}`, axis), x, x)
	case 16:
		if dims[axis] < 2 {
			return nil
		}
		at := 1 + n.IntN(dims[axis]-1)
		return n.apply("split", fmt.Sprintf(`{"axis": %d, "splits": [%d, %d]}`, axis, at, dims[axis]-at), x)
	case 17:
		order := n.Perm(rank)
		return n.apply("transpose", fmt.Sprintf(`{"permutation": %s}`, strings.ReplaceAll(fmt.Sprint(order), " ", ", ")), x)
	case 18: // a view
		return n.apply("reshape", fmt.Sprintf(`{"shape": [%d, %d]}`, shape.Prod(dims[:axis+1]), shape.Prod(dims[axis+1:])), x)
	case 19:
		return n.apply("l2_normalize", fmt.Sprintf(`{"axes": [%d], "eps": 0.1}`, axis), x)
	case 20:
		if rank < 2 || dims[rank-1]%2 > 0 {
			return nil
		}
		return n.apply("rope", fmt.Sprintf(`{"start": %d, "interleaved": %v}`, n.IntN(4), n.IntN(2) == 0), x)
	case 21:
		if large {
			return nil
		}
		return n.apply("repeat", fmt.Sprintf(`{"axis": %d, "repeats": 2, "interleaved": %v}`, axis, n.IntN(2) == 0), x)
	case 22:
		if rank != 4 || large {
			return nil
		}
		return n.apply("upsample", `{"factor": 2}`, x)
	case 23:
		if rank != 4 || dims[2] < 3 || dims[3] < 3 || large {
			return nil
		}
		return n.apply("unfold", fmt.Sprintf(`{"kernel": [2, %d], "padding": [%d, 0], "stride": [%d, 1]}`, 1+n.IntN(2), n.IntN(2), 1+n.IntN(2)), x)
	}
	if rank < 2 || large {
		return nil
	}
	other := slices.Clone(dims)
	other[rank-2], other[rank-1] = other[rank-1], 1+n.IntN(16)
	return n.apply("batch_matmul", `{}`, x, n.input(other...))
}

// apply applies an operator to tensors.
func (n *network) apply(name, attrs string, tensors ...graph.Tensor) error {
	o := operators[name]
	attrs = strings.ReplaceAll(attrs, `, "activation": "NONE"`, "")
	a, err := o.DecodeAttrs([]byte(attrs))
	if err != nil {
		return fmt.Errorf("%s %s: %w", name, attrs, err)
	}
	in := graph.Insert[int](n.g, 0, o, a)
	var names []string
	for i, x := range tensors {
		if names = append(names, fmt.Sprintf("%s%v", x.Name(), x.Shape())); !o.Slots[0].Variadic {
			in = in.Bind(i, x)
		}
	}
	if o.Slots[0].Variadic {
		in = in.Bind(0, tensors...)
	}
	node := in.Node()
	if err := n.g.Err(); err != nil {
		return fmt.Errorf("%s %s of %v: %w", name, attrs, names, err)
	}
	slot := slices.IndexFunc(o.Slots, func(s task.Slot) bool { return s.Role == task.RoleOutput })
	list := node.Tensors(slot)
	y := list[n.IntN(len(list))]
	n.tensors = append(n.tensors, y)
	n.text = append(n.text, fmt.Sprintf("%s%v = %s(%s) %s", y.Name(), y.Shape(), name, strings.Join(names, ", "), attrs))
	return nil
}

// newNetwork draws a graph, and its program: the results of the last layer and some others, gradients of
// inputs and of weights, or a training step.
func newNetwork(seed uint64) (*network, *graph.Program, error) {
	n := &network{Rand: rand.New(rand.NewPCG(seed, 37)), g: graph.New(seed), typ: dtype.F32}
	if n.IntN(8) == 0 {
		n.typ = []dtype.Type{dtype.F16, dtype.BF16, dtype.F64}[n.IntN(3)]
	}
	n.input([][]int{{40, 24}, {33, 17}, {5, 9, 21}, {3, 16, 12}, {2, 3, 11, 9}, {1, 2, 17, 8}, {600}, {64, 7}}[n.IntN(8)]...)
	for layers := 1 + n.IntN(12); len(n.text) < layers; {
		if err := n.add(); err != nil {
			return n, nil, err
		}
	}
	kind := n.IntN(4)
	if n.typ == dtype.F16 || n.typ == dtype.BF16 {
		kind = 1 // the loss takes no halves
	}
	if kind == 0 { // training takes a weight
		if err := n.apply("linear", fmt.Sprintf(`{"out_channels": %d}`, 1+n.IntN(9)), n.tensors[len(n.tensors)-1]); err != nil {
			return n, nil, err
		}
	}
	last := n.tensors[len(n.tensors)-1]
	fetch := []graph.Tensor{last}
	for _, x := range n.tensors {
		if x != last && x.Node() != nil && n.IntN(4) == 0 {
			fetch = append(fetch, x)
		}
	}
	switch kind {
	case 0:
		if len(last.Shape()) < 2 {
			break
		}
		loss := mse.Apply(n.g, mse.Defaults(), mse.Logit(last), mse.Label(n.g.Input("label", n.typ, last.Shape()...)))
		p, err := graph.Training(n.g, loss, sgd.Optimizer(sgd.Defaults(0.1).WithMomentum(0.5)), fetch...)
		return n, p, err
	case 1:
		var wrt []graph.Tensor
		for _, x := range n.tensors {
			if x != last && n.IntN(2) == 0 {
				wrt = append(wrt, x)
			}
		}
		p, _, err := graph.Gradients(n.g, map[graph.Tensor]graph.Tensor{last: n.g.Input("seed", n.typ, last.Shape()...)}, wrt, fetch...)
		return n, p, err
	}
	p, err := graph.Inference(n.g, fetch...)
	return n, p, err
}

// resized returns a plan with tiles of other extents, which are drawn: the grids, and what their indices
// touch, stay.
func resized(p *plan.Plan, r *rand.Rand, opts ...planner.Option) (*plan.Plan, error) {
	q := *p
	q.Roots, q.Tasks = slices.Clone(p.Roots), nil
	for t := 0; t < len(p.Tasks); {
		x := p.Tasks[t]
		if x.Tile == 0 {
			q.Tasks = append(q.Tasks, x)
			t++
			continue
		}
		grid := x.Grid()
		t += grid.Tiles()
		least := slices.ContainsFunc(x.Access, func(a region.Access) bool { return a.Least != nil })
		for !least {
			x.Grain, x.Inner = 1+r.IntN(x.Over), slices.Clone(x.Inner)
			for d := range x.Inner {
				x.Inner[d].Grain = 1 + r.IntN(x.Inner[d].Over)
			}
			if grid = x.Grid(); grid.Tiles() <= 24 {
				break
			}
		}
		for k := range grid.Tiles() {
			x.Tile = k + 1
			q.Tasks = append(q.Tasks, x)
		}
	}
	return &q, planner.Complete(&q, opts...)
}

// several is a backend that makes a program for each number of workers up to its own. The executor and the
// number of workers of the next run are set from outside.
type several struct {
	*cpu.Backend
	queues []*schedule.Schedule // by number of workers, less 1
	all    []*exec.Program
	by     exec.Runner
	now    int // number of workers, less 1
}

// Compile binds the tasks to the queues of each number of workers.
func (b *several) Compile(q *engine.Queues) (engine.Executable, error) {
	tasks := make([]exec.Task, len(q.Tasks))
	for i, l := range q.Tasks {
		t := &q.Plan.Tasks[i]
		grid := t.Grid()
		// The body itself, since phases are methods of it.
		tasks[i] = exec.Task{Body: reflect.ValueOf(l).FieldByName("Body").Interface().(op.Body), Grid: &grid, Tile: int32(t.Tile)}
	}
	for _, s := range b.queues {
		p, err := exec.NewProgram(s, tasks)
		if err != nil {
			return nil, err
		}
		b.all = append(b.all, p)
	}
	return b, nil
}

// Run runs the program of the number of workers by the executor that is set. Random numbers are the same in
// each run.
func (b *several) Run(ctx context.Context, _ uint64) error { return b.by.Run(ctx, b.all[b.now], 1) }

// Close closes the backend with its engine, which closes executables first.
func (b *several) Close() error { return nil }

// loaded is a plan that an engine has loaded.
type loaded struct {
	*several
	prog   *graph.Program
	in     *engine.Instance
	closed func()
}

// loadAll loads a plan for each number of workers up to the largest one.
func loadAll(prog *graph.Program, p *plan.Plan, opts ...planner.Option) (*loaded, error) {
	registry, err := kernelsOfCatalogue()
	if err != nil {
		return nil, err
	}
	b := &several{Backend: cpu.New(cpu.Config{Workers: mostWorkers})}
	times := make([]float64, len(p.Tasks))
	for i := range times {
		times[i] = []float64{1e3, 1e5, 20}[i%3] // some are worth sharing
	}
	for w := range mostWorkers {
		q, err := planner.Reschedule(p, append(opts, planner.Workers(w+1), planner.Times(times))...)
		if err == nil {
			err = verify.Plan(q)
		}
		if err != nil {
			return nil, fmt.Errorf("%d workers: %w", w+1, err)
		}
		b.queues = append(b.queues, &q.Schedule)
	}
	e := engine.New(registry, b, engine.Config{})
	x := &loaded{several: b, prog: prog, closed: func() { e.Close(); b.Backend.Close() }}
	if x.in, err = e.Load(p); err != nil {
		x.closed()
		return nil, err
	}
	return x, nil
}

// run runs the plan once, with the inputs and the variables of a number, and returns the bytes of what it
// fetches and of variables. The memory of a run of another number is in the way of an executor that leaves a
// task out.
func (x *loaded) run(by exec.Runner, workers, number int) (string, error) {
	x.by, x.now = by, workers-1
	for _, t := range slices.Concat(x.prog.Fed, x.prog.Variables) {
		size := t.Type().Size()
		data := make([]byte, size*shape.Prod(t.Shape()))
		for i := range len(data) / size {
			t.Type().PutFloat64(data[i*size:], float64((i*7+number*5+len(t.Name()))%23)/16-0.7)
		}
		if err := x.in.FeedBytes(t.Name(), data); err != nil {
			return "", err
		}
	}
	if err := x.in.Run(context.Background()); err != nil {
		return "", err
	}
	var out bytes.Buffer
	for _, t := range slices.Concat(x.prog.Variables, x.prog.Fetched) {
		data, err := x.in.FetchBytes(t.Name())
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s %x\n", t.Name(), data)
	}
	return out.String(), nil
}

// tally counts what random graphs had.
type tally struct{ plans, tiles, tasks, runs, brute, waits, reused, inPlace, wavefronts int }

// compareTilings runs a random graph whole, with the tiles of the planner, and with tiles of random extents,
// by all executors and for 1 to 8 workers.
func compareTilings(pools []*exec.Pool, seed uint64, count *tally) error {
	n, prog, err := newNetwork(seed)
	if err != nil {
		return err
	}
	defer func() { count.plans++ }()
	whole, err := planner.Build(prog)
	if err != nil {
		return err
	}
	x, err := loadAll(prog, whole)
	if err != nil {
		return err
	}
	var want [2]string
	for number := range want {
		if want[number], err = x.run(exec.Sequential{}, 1, number); err != nil {
			x.closed()
			return err
		}
	}
	x.closed()
	near := planner.Near(1 << 20)
	if seed%2 > 0 { // tensors of these graphs are small
		near = planner.Near(2 << 10)
	}
	tiled, err := planner.Build(prog, planner.Tiled(), near, planner.Workers(1+n.IntN(mostWorkers)))
	if err != nil {
		return err
	}
	other, err := resized(tiled, n.Rand, near, planner.Workers(1+n.IntN(mostWorkers)))
	if err != nil {
		return fmt.Errorf("other extents of tiles: %w", err)
	}
	for k, p := range []*plan.Plan{tiled, other} {
		if k == 0 && seed%4 > 0 { // the planner's own tiles are few of those that there may be
			continue
		}
		if err := validate.Plan(p, prog); err != nil {
			return err
		}
		count.note(p)
		if seed%2 > 0 && planner.Wavefront(p, 2<<10) {
			count.wavefronts++
		}
		if p.ArenaBytes < 16<<10 && len(p.Tasks) < 80 {
			count.brute++
			o := inOrder(p)
			if err := falseWaits(p, o); err != nil {
				return err
			}
			if _, err := falseQueues(p, o, 2+n.IntN(mostWorkers-1)); err != nil {
				return err
			}
		}
		if err := n.compare(pools, prog, p, want, count, near); err != nil {
			return fmt.Errorf("tiles %d: %w", k, err)
		}
	}
	return nil
}

// note counts what a plan has.
func (c *tally) note(p *plan.Plan) {
	for i := range p.Tasks {
		if c.tasks++; p.Tasks[i].Tile > 0 {
			c.tiles++
		}
	}
	for i := range p.Calls {
		c.inPlace += len(p.Calls[i].InPlace)
	}
	var sum int64
	for i := range p.Roots {
		if r := &p.Roots[i]; r.Use != plan.Variable {
			sum += r.Place.Bytes
		}
	}
	if sum > p.ArenaBytes {
		c.reused++
	}
	c.waits += len(p.Schedule.Waits)
}

// compare runs a plan by all executors. Each run must give the same bits as the plan of whole steps.
func (n *network) compare(pools []*exec.Pool, prog *graph.Program, p *plan.Plan, want [2]string, count *tally, opts ...planner.Option) error {
	x, err := loadAll(prog, p, opts...)
	if err != nil {
		return err
	}
	defer x.closed()
	number := 0
	same := func(name string, by exec.Runner, workers int) error {
		number = 1 - number
		count.runs++
		got, err := x.run(by, workers, number)
		if err == nil && got != want[number] {
			err = errors.New("other bits than those of whole steps")
		}
		if err != nil {
			return fmt.Errorf("%s, %d workers: %w", name, workers, err)
		}
		return nil
	}
	if err := same("sequential", exec.Sequential{}, 1); err != nil {
		return err
	}
	for w := 1; w <= mostWorkers; w++ {
		for _, by := range []exec.Runner{exec.Hostile{Seed: n.Uint64(), Asleep: -1}, exec.Hostile{Seed: n.Uint64(), Asleep: n.IntN(w)}, pools[w-1]} {
			if err := same(fmt.Sprintf("%T", by), by, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestRandomTiles runs random graphs of the catalogue whole and in tiles of random extents: all executors and
// all numbers of workers give the same bits, package verify accepts each plan, and in small ones no task
// waits for another without a reason.
func TestRandomTiles(t *testing.T) {
	pools := make([]*exec.Pool, mostWorkers)
	for w := range pools {
		pools[w] = exec.NewPool(w + 1)
		defer pools[w].Close()
	}
	graphs := uint64(planner.TileGraphs())
	if testing.Short() {
		graphs = min(graphs, 10)
	}
	var count tally
	for seed := planner.FirstGraph(); seed < planner.FirstGraph()+graphs; seed++ {
		if err := compareTilings(pools, seed, &count); err != nil {
			n, _, _ := newNetwork(seed)
			t.Fatalf("seed %d: %v\n    %s", seed, err, strings.Join(n.text, "\n    "))
		}
	}
	t.Logf("%+v", count)
	if count.tiles == 0 || count.brute == 0 || count.reused == 0 || count.inPlace == 0 || count.waits == 0 || count.wavefronts == 0 {
		t.Errorf("the graphs do not show what they should: %+v", count)
	}
}
