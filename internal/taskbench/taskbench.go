// Package taskbench binds tasks of operators to memory with random values, for benchmarks.
package taskbench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/opgen/opgen/internal/base/pages"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Use is a use of an operator: attributes, and tensors with memory. Type variables stand for float32, for
// int64 where that is none of their types, or else for the first one, unless attributes decide.
type Use struct {
	operator *task.Operator
	attrs    task.Attrs
	resolved *task.Resolution
	types    []dtype.Type
	workers  int
	random   *rand.Rand
	least    float64
	memory   map[key][]task.Buffer
	helpers  *Helpers
}

type key struct {
	slot int
	grad bool
}

// New returns a use of an operator, given attributes in JSON and the shapes of the inputs. The tensors of a
// variadic slot are named after it, with ".0", ".1" and so on added. Numbers are from least to 1; those of
// weights with two and more dimensions are smaller. Tasks may run on as many workers.
func New(o *task.Operator, attrs string, shapes map[string][]int, least float64, workers int) (*Use, error) {
	u := &Use{operator: o, workers: workers, random: rand.New(rand.NewPCG(1, 2)), least: least, memory: map[key][]task.Buffer{},
		helpers: NewHelpers(max(workers-1, 0))}
	var err error
	if u.attrs, err = o.DecodeAttrs([]byte(attrs)); err != nil {
		return nil, err
	}
	for _, v := range o.Types {
		t := v.Types[0].Host()
		for _, usual := range []dtype.Type{dtype.I64, dtype.F32} {
			if slices.Contains(v.Types, usual) {
				t = usual
			}
		}
		u.types = append(u.types, t)
	}
	given := task.NoneGiven(o)
	for slot, s := range o.Slots {
		names := []string{s.Name}
		for i := 0; shapes[fmt.Sprintf("%s.%d", s.Name, i)] != nil; i++ {
			names = append(names, fmt.Sprintf("%s.%d", s.Name, i))
		}
		for _, name := range names {
			dims, ok := shapes[name]
			if !ok {
				continue
			}
			typ, err := dtype.Parse(s.Type)
			if i := slices.IndexFunc(o.Types, func(v task.TypeVar) bool { return v.Name == s.Type }); i >= 0 {
				typ, err = u.types[i], nil
			}
			if err != nil {
				return nil, err
			}
			given.Operands[slot] = append(given.Operands[slot], task.Operand{Type: typ, Shape: dims})
		}
	}
	if u.resolved, err = task.Resolve(o, u.attrs, given); err != nil {
		return nil, err
	}
	u.types = u.resolved.Types // attributes may decide some
	return u, nil
}

// Memory returns the tensors of a slot, or of its gradient.
func (u *Use) Memory(slot int, grad bool) []task.Buffer {
	k := key{slot, grad}
	if _, ok := u.memory[k]; !ok {
		bound, bounded := u.resolved.Bound(slot)
		if !bounded {
			bound.Below = 2
		}
		for _, o := range u.resolved.Operands(slot) {
			u.memory[k] = append(u.memory[k], task.Buffer{Operand: o, Bytes: u.drawn(o, bound, u.scale(slot, o)), Mode: tensor.Store})
		}
	}
	return u.memory[k]
}

// scale returns by what the numbers of a tensor are multiplied. Those of a weight matrix, or of filters, are
// as small as initializers make them: sums of products are then about as great as the input, so that
// functions of them are neither infinite nor subnormal, which takes many times as long.
func (u *Use) scale(slot int, o task.Operand) float64 {
	if u.operator.Slots[slot].Role != task.RoleWeight || len(o.Shape) < 2 {
		return 1
	}
	inputs := 1
	for _, n := range o.Shape[1:] {
		inputs *= n
	}
	return 1 / math.Sqrt(float64(max(inputs, 1)))
}

// drawn returns the memory of a tensor with random numbers, which are multiplied by scale, or integers within
// a bound.
func (u *Use) drawn(o task.Operand, bound task.Bound, scale float64) []byte {
	data := pages.Bytes(o.Bytes(), plan.Align)
	for i := 0; i < len(data); i += o.Type.Size() {
		switch o.Type {
		case dtype.F32:
			binary.LittleEndian.PutUint32(data[i:], math.Float32bits(float32(scale*(u.least+(1-u.least)*u.random.Float64()))))
		case dtype.F64:
			binary.LittleEndian.PutUint64(data[i:], math.Float64bits(scale*(u.least+(1-u.least)*u.random.Float64())))
		case dtype.I32:
			binary.LittleEndian.PutUint32(data[i:], uint32(bound.Draw(u.random.IntN)))
		case dtype.I64:
			binary.LittleEndian.PutUint64(data[i:], uint64(bound.Draw(u.random.IntN)))
		case dtype.Bool:
			data[i] = byte(u.random.IntN(2))
		}
	}
	return data
}

// Cost returns the floating-point operations of a task, and the least bytes that it moves: those that the
// spec gives, or else all of the tensors that it reads and writes. What forward reads of its own results
// counts once. The task is named by its number among the operator's signatures.
func (u *Use) Cost(number int) (flops, bytes float64) {
	c := u.resolved.Cost(number)
	if c.Bytes > 0 {
		return c.Flops, c.Bytes
	}
	s := u.operator.Signatures[number]
	for _, p := range s.Params {
		role := u.operator.Slots[p.Slot].Role
		made := s.Kind == task.KindForward && (role == task.RoleOutput || role == task.RoleSaved)
		for _, o := range u.resolved.Operands(p.Slot) {
			if p.Perm.Reads() && !made {
				bytes += float64(o.Bytes())
			}
			if p.Perm.Writes() {
				bytes += float64(o.Bytes())
			}
		}
	}
	return c.Flops, bytes
}

// Step is a step of a task, bound to memory.
type Step struct {
	body    op.Body
	grid    op.Grid
	workers int
	helpers *Helpers
}

// Bind binds a task to the memory, with the kernel of a registry. The task is named by its number among the
// operator's signatures.
func (u *Use) Bind(number int, tasks *task.Registry) ([]Step, error) {
	id := u.operator.Signatures[number].ID
	registered := tasks.Task(id)
	if registered == nil {
		return nil, fmt.Errorf("%s: want a registered task %s, got none", u.operator.Name, u.operator.Signatures[number].Task)
	}
	for _, v := range registered.Variants {
		if !slices.Equal(v.Types, u.types) {
			continue
		}
		bodies, err := v.Bind(&task.Accessor{Signature: registered.Signature, Attrs: u.attrs, Resolved: u.resolved, Memory: u.Memory,
			Workers: u.scratch})
		if err != nil {
			return nil, err
		}
		var steps []Step
		for i, body := range bodies {
			if g := u.resolved.Work(number, i); g.Tiles() > 0 {
				steps = append(steps, Step{body, g, u.workers, u.helpers})
			}
		}
		return steps, nil
	}
	return nil, fmt.Errorf("%s: want a kernel for %s, got none", registered.Name, dtype.Format(u.types))
}

// scratch returns scratch memory of a slot, for each worker.
func (u *Use) scratch(slot int) []task.Buffer {
	var out []task.Buffer
	for _, o := range u.resolved.Operands(slot) {
		for range u.workers {
			out = append(out, task.Buffer{Operand: o, Bytes: pages.Bytes(o.Bytes(), plan.Align)})
		}
	}
	return out
}

// Run runs the step: in the calling goroutine, and in one for each worker more. They share the tiles along
// the first dimension, those of one phase after the other.
func (s Step) Run() error {
	tiles := (s.grid.Over + s.grid.Grain - 1) / s.grid.Grain
	n := min(s.workers, tiles)
	number := op.NextRun()
	if n == 1 {
		return s.body.Run(&op.Ctx{Run: number}, s.grid.Whole())
	}
	phased, ok := s.body.(op.Phased)
	if !ok || !phased.Whole() {
		return s.share(n, number, s.body.Run)
	}
	for phase := range phased.Phases() {
		run := func(ctx *op.Ctx, r op.Range) error { return phased.RunPhase(ctx, phase, r) }
		if err := s.share(n, number, run); err != nil {
			return err
		}
	}
	return nil
}

// share calls run for n parts of the grid at the same time.
func (s Step) share(n int, number uint64, run func(*op.Ctx, op.Range) error) error {
	tiles := (s.grid.Over + s.grid.Grain - 1) / s.grid.Grain
	errs := make([]error, n)
	s.helpers.Run(n, func(w int) {
		whole := s.grid.Whole()
		spans := [][2]int{{tiles * w / n * s.grid.Grain, min(tiles*(w+1)/n*s.grid.Grain, s.grid.Over)}}
		for d := 1; d < s.grid.Rank(); d++ {
			lo, hi := whole.Dim(d)
			spans = append(spans, [2]int{lo, hi})
		}
		errs[w] = run(&op.Ctx{Worker: w, Run: number}, op.Box(spans...))
	})
	return errors.Join(errs...)
}
