// Package planner turns a program into a plan: it lowers the steps of the program to tasks, fuses tasks,
// places tensors in memory, derives dependencies and schedules the tasks on workers. Packages validate and
// verify prove the result.
package planner

import (
	"errors"
	"fmt"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/internal/arena"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/validate"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/target"
	"github.com/opgen/opgen/runtime/tuned"
)

// Build returns the plan of a program: its tasks with their memory, dependencies and queues. It proves the
// plan with verify.Program and validate.Plan. A task that reads elements that no task has written, or a
// fetched tensor that no task writes, is a *plan.Error.
func Build(prog *graph.Program, opts ...Option) (*plan.Plan, error) {
	if prog == nil {
		return nil, errors.New("planner: want a program, got nil")
	}
	if err := prog.Validate(); err != nil {
		return nil, fmt.Errorf("planner: %w", err)
	}
	o := apply(opts)
	b := &builder{
		draft:   draft{&plan.Plan{Format: plan.Format, Name: prog.Name, Target: o.target.Name}},
		target:  &o.target,
		tiled:   o.tiled,
		paying:  o.paying,
		cache:   o.near,
		tiles:   map[region.Root]int{},
		choices: o.choices,
		tasks:   map[*graph.Node]interval{},
		like:    map[likeCall]*plan.Call{},
		stated:  map[string]bool{},
		aliases: &aliases{pairs: make([][]plan.Pair, len(prog.Steps)), idle: make([]bool, len(prog.Steps))},
	}
	if !o.plain {
		b.aliases = findAliases(prog)
	}
	for i := range prog.Steps {
		if inv := prog.Steps[i].Invocation; inv != nil {
			for _, m := range inv.Node.Preceding() {
				b.tasks[m.Origin()] = interval{-1, -1}
			}
		}
	}
	b.Calls, b.Tasks = make([]plan.Call, 0, len(prog.Steps)), make([]plan.Task, 0, len(prog.Steps)) // most steps are one of each
	for _, t := range prog.Fed {
		b.Roots[b.root(t)].Use = plan.Fed
	}
	for i, s := range prog.Steps {
		if b.aliases.idle[i] {
			b.note(s.Phase, s.Invocation.Node, len(b.Tasks))
			continue
		}
		var err error
		switch {
		case s.Invocation != nil:
			err = b.invoke(s.Phase, s.Invocation, b.aliases.pairs[i])
		case s.Fill != nil:
			to := b.root(s.Fill.Tensor)
			op := plan.Builtin{Op: "fill", Value: s.Fill.Value}
			if s.Fill.Identity != perm.NoRedop {
				op = plan.Builtin{Op: "identity", Redop: s.Fill.Identity}
			}
			b.builtin(op, b.all(to, perm.Write))
		case s.Add != nil:
			to, from := b.root(s.Add.To), b.root(s.Add.From)
			b.builtin(plan.Builtin{Op: "add"}, b.all(to, perm.ReadWrite), b.all(from, perm.Read))
		case s.Copy != nil:
			to, from := b.root(s.Copy.To), b.root(s.Copy.From)
			b.builtin(plan.Builtin{Op: "copy"}, b.all(to, perm.Write), b.all(from, perm.Read))
		case s.AllReduce != nil:
			var access []region.Access
			for _, t := range s.AllReduce.Tensors {
				access = append(access, b.all(b.root(t), perm.ReadWrite))
			}
			b.builtin(plan.Builtin{Op: "all_reduce", Redop: perm.Sum}, access...)
		}
		if err != nil {
			return nil, err
		}
	}
	if o.target.Fuse && !o.plain {
		b.group()
	}
	if err := b.choose(); err != nil {
		return nil, err
	}
	var fetched []region.Root
	for _, t := range prog.Fetched {
		i := b.root(t)
		if r := &b.Roots[i]; r.Use == plan.Internal {
			r.Use = plan.Fetched
		}
		fetched = append(fetched, i)
	}
	b.lifetimes(fetched)
	if err := b.place(); err != nil {
		return nil, err
	}
	if err := b.schedule(o); err != nil {
		return nil, err
	}
	if err := validate.Plan(b.Plan, prog); err != nil {
		return nil, err
	}
	return b.Plan, nil
}

// draft is a plan under construction.
type draft struct{ *plan.Plan }

// builder lowers a program to a draft.
type builder struct {
	draft
	target  *target.Target
	tiled   bool
	paying  bool                // tiles are no smaller than pays
	cache   int64               // of a worker, in bytes
	tiles   map[region.Root]int // into how many tiles the last step is cut that writes a root in tiles
	choices *tuned.Choices
	used    []likeCall               // of each call, if there are choices
	roots   graph.Table[region.Root] // tensor -> its root + 1; 0 if it has none yet
	tasks   map[*graph.Node]interval // of nodes with explicit dependents, without backward
	like    map[likeCall]*plan.Call  // by instantiation of a task: a call without node and tensors
	stated  map[string]bool          // nodes in States
	aliases *aliases
	// Arenas for the slices of calls and tasks.
	extents  arena.Arena[int]
	bounds   arena.Arena[plan.Bound]
	params   arena.Arena[[]plan.Bound]
	accesses arena.Arena[region.Access]
	// Buffers for one call, by access: the slot of the footprint, and the lower bounds of constraints.
	slots   []int
	demands []partition.Limit
}

// interval is a range of tasks [first, end); both are -1 if it is not known yet.
type interval struct{ first, end int }

// root returns the root of a tensor, and creates it at the first call.
func (b *builder) root(t graph.Tensor) region.Root {
	t = b.aliases.root(t)
	at := b.roots.At(t)
	if *at > 0 {
		return *at - 1
	}
	r := b.add(plan.Root{Name: t.Name(), Type: t.Type(), Shape: t.Shape(), Device: t.Device()})
	if t.Variable() {
		b.Roots[r].Use = plan.Variable
	}
	*at = r + 1
	return r
}

// add adds a root to the plan, with a copy of the shape.
func (b *builder) add(r plan.Root) region.Root {
	r.Shape = b.extents.Copy(r.Shape) // an empty shape is not null in JSON
	r.Place.Bytes = r.Operand().Bytes()
	if r.Device > 0 {
		b.Devices = max(b.Devices, r.Device+1)
	}
	b.Roots = append(b.Roots, r)
	return region.Root(len(b.Roots) - 1)
}

// all returns an access to the whole root r.
func (b *builder) all(r region.Root, p perm.Perm) region.Access {
	to := b.Roots[r].Shape
	return region.Access{Region: region.Region{Root: r, Box: region.Box{Lo: b.extents.Make(len(to)), Hi: b.extents.Copy(to)}}, Perm: p}
}

// builtinGrain is the number of elements in a range of a built-in operation.
const builtinGrain = 16384

// builtin appends a built-in operation to the tasks of the plan.
func (b *builder) builtin(op plan.Builtin, access ...region.Access) {
	b.Tasks = b.appendBuiltin(b.Tasks, op, access...)
}

// appendBuiltin appends a built-in operation on the tensor of the first access, unless it is empty.
func (b *builder) appendBuiltin(tasks []plan.Task, op plan.Builtin, access ...region.Access) []plan.Task {
	over := shape.Prod(b.Roots[access[0].Root].Shape)
	if over == 0 {
		return tasks
	}
	t := plan.Task{Call: -1, Builtin: &op, Over: over, Grain: builtinGrain, Access: access, Device: b.Roots[access[0].Root].Device}
	t.Elementwise = !t.Crosses() // copies between devices are not fused
	return append(tasks, t)
}
