package optest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Specs declare that tasks work in place, or element by element, and what they may read and write. The tests
// in this file check these declarations: they bind the kernels of one task to memory of their choice.

// memory holds the tensors of one task. Buffers are by parameter.
type memory struct {
	sample
	sig    *task.Signature
	res    *task.Resolution
	states task.States // nil if the operator keeps none
	// profiling is the argument from "profiling".
	profiling task.Profiling
	buffers   [][]task.Buffer
}

// newMemory returns memory in which every parameter of a task has tensors with random values.
func newMemory(f *fixture, sig *task.Signature, states task.States, seed uint64) *memory {
	m := &memory{sample: f.sample, sig: sig, res: f.node.Resolved, states: states, buffers: make([][]task.Buffer, len(sig.Params))}
	r := rand.New(rand.NewPCG(seed, 5))
	for i, p := range sig.Params {
		for _, o := range m.res.Operands(p.Slot) {
			b := task.Buffer{Operand: o, Bytes: make([]byte, o.Bytes()), Mode: tensor.Store}
			m.fillAtRandom(r, p, b)
			m.buffers[i] = append(m.buffers[i], b)
		}
	}
	return m
}

// fillAtRandom draws the elements of a tensor: the option Values gives them, or they lie from 0.1 to 0.9.
func (m *memory) fillAtRandom(r *rand.Rand, p task.Param, b task.Buffer) {
	bound, bounded := m.res.Bound(p.Slot)
	if !p.Grad {
		if v, ok := m.given(r, p.Slot, b.Type, b.Shape, bound); ok && len(v) == shape.Prod(b.Shape) {
			for k, x := range v {
				b.Type.PutFloat64(b.Bytes[k*b.Type.Size():], x)
			}
			return
		}
	}
	lo := 0.1
	if b.Type.IsInteger() {
		lo = 1 // valid as a divisor and as an exponent
	}
	for k := range shape.Prod(b.Shape) {
		if bounded && !p.Grad && b.Type.IsInteger() {
			b.Type.PutFloat64(b.Bytes[k*b.Type.Size():], float64(bound.Draw(r.IntN)))
		} else {
			put(b, k, lo+0.8*r.Float64())
		}
	}
}

// put sets an element. Integers lose their fraction. They become 0 or 1; 0 is a valid label.
func put(b task.Buffer, i int, x float64) {
	size := b.Type.Size()
	at := b.Bytes[i*size:]
	switch {
	case b.Type == dtype.F32:
		binary.NativeEndian.PutUint32(at, math.Float32bits(float32(x)))
	case b.Type == dtype.F64:
		binary.NativeEndian.PutUint64(at, math.Float64bits(x))
	case x > 0.5 && b.Type == dtype.Bool:
		at[0] = 1
	case x >= 1 && b.Type.IsInteger():
		b.Type.PutFloat64(at, math.Floor(x))
	default:
		clear(at[:size])
	}
}

func (m *memory) clone() *memory {
	c := *m
	c.buffers = make([][]task.Buffer, len(m.buffers))
	for i, bs := range m.buffers {
		for _, b := range bs {
			b.Bytes = slices.Clone(b.Bytes)
			c.buffers[i] = append(c.buffers[i], b)
		}
	}
	return &c
}

// param returns the index of the parameter for a slot or for the gradient of the slot, or -1.
func (m *memory) param(slot int, grad bool) int {
	return slices.IndexFunc(m.sig.Params, func(p task.Param) bool { return p.Slot == slot && p.Grad == grad })
}

// bodies binds the task of a registry to the memory.
func (m *memory) bodies(t *testing.T, tasks *task.Registry) []op.Body {
	t.Helper()
	v, err := tasks.Task(m.sig.ID).Variant(op.CPU, m.res.Types)
	if err != nil {
		m.fatalf(t, "%v", err)
	}
	at := func(slot int, grad bool) []task.Buffer {
		if i := m.param(slot, grad); i >= 0 {
			return m.buffers[i]
		}
		return nil
	}
	acc := &task.Accessor{Signature: m.sig, Attrs: m.attrs, Resolved: m.res, Passed: task.NewPassed(m.passed), Memory: at, State: m.states.Slot, Profiling: m.profiling,
		Workers: func(slot int) []task.Buffer { return at(slot, false) }}
	bodies, err := v.Bind(acc)
	if err != nil {
		m.fatalf(t, "%v", err)
	}
	return bodies
}

// run runs all steps of the task. Each step runs in several ranges if it has more than three indices.
func (m *memory) run(t *testing.T, tasks *task.Registry, number int) {
	t.Helper()
	for step, b := range m.bodies(t, tasks) {
		grid := m.res.Work(number, step)
		grid.Grain = 3
		for k := range grid.Tiles() {
			if err := b.Run(&op.Ctx{}, grid.Tile(k)); err != nil {
				m.fatalf(t, "%v", err)
			}
		}
	}
}

// after gives a backward task the buffers of a forward task, except for gradients.
func (m *memory) after(forward *memory) {
	for i, p := range m.sig.Params {
		if k := forward.param(p.Slot, false); k >= 0 && !p.Grad {
			m.buffers[i] = forward.buffers[k]
		}
	}
}

// parameter names a parameter of the task in messages.
func (m *memory) parameter(i int) string {
	p := m.sig.Params[i]
	name := "slot " + m.op.Slots[p.Slot].Name
	if p.Grad {
		name = "gradient of " + name
	}
	return name
}

// errorf reports a mistake of the task.
func (m *memory) errorf(t *testing.T, format string, args ...any) {
	t.Helper()
	m.sample.errorf(t, "task %s, %s", m.sig.Task, fmt.Sprintf(format, args...))
}

// forEachTask runs f for every task of every sample. A backward task gets the tensors that the forward task
// has written.
func (k *Kit) forEachTask(t *testing.T, check string, f func(t *testing.T, number int, m *memory)) {
	k.forEachSample(t, check, func(t *testing.T, s sample) {
		fix := s.fixture(t)
		states := newState(t, s, fix.node.Resolved)
		var forward *memory
		for number, sig := range s.op.Signatures {
			if sig.Kind == task.KindBackward && !fix.differentiable() {
				continue // only floating-point tensors have gradients
			}
			if sig.Kind == task.KindInit || sig.Kind == task.KindCleanup {
				continue // they get no tensors
			}
			m := newMemory(fix, sig, states, uint64(number))
			if sig.Kind == task.KindBackward {
				m.after(forward)
			}
			f(t, number, m.clone())
			if sig.Kind == task.KindForward {
				m.run(t, k.tasks, number)
				forward = m
			}
		}
	})
}

// InPlace runs every task twice: with one memory for two slots that may share it, and with separate
// memory for every tensor. Both runs write the same. It returns how many pairs of slots it tried.
func (k *Kit) InPlace(t *testing.T) int {
	tried := 0
	k.forEachTask(t, "InPlace", func(t *testing.T, number int, m *memory) {
		grad := m.sig.Kind == task.KindBackward
		for _, p := range m.sig.InPlace {
			to, of := m.param(p.Slot, grad), m.param(p.Of, grad)
			if to < 0 || of < 0 {
				m.fatalf(t, "want parameters for both slots of %+v, got indices %d and %d", p, to, of)
			}
			if len(m.buffers[to]) != len(m.buffers[of]) {
				continue
			}
			for i := range m.buffers[to] {
				if len(m.buffers[to][i].Bytes) == len(m.buffers[of][i].Bytes) {
					tried++
					m.shares(t, number, to, of, i, p.View)
				}
			}
		}
	})
	return tried
}

// shares compares a run in which tensor x of parameter to has the memory of that of parameter of with one in
// which no memory is shared.
func (m *memory) shares(t *testing.T, number, to, of, x int, view bool) {
	t.Helper()
	apart, shared := m.clone(), m.clone()
	shared.buffers[to][x].Bytes = shared.buffers[of][x].Bytes
	apart.run(t, m.observed(t), number)
	shared.run(t, m.observed(t), number)
	for i, par := range m.sig.Params {
		for k, b := range m.buffers[i] {
			if !par.Perm.Writes() || par.Perm == perm.Scratch {
				continue
			}
			if d := differingElement(b, shared.buffers[i][k].Bytes, apart.buffers[i][k].Bytes); d != "" {
				m.errorf(t, "%s, with %s in the memory of %s, next to memory of its own: %s", m.parameter(i), m.parameter(to), m.parameter(of), d)
			}
		}
	}
	if d := differingElement(m.buffers[of][x], shared.buffers[to][x].Bytes, m.buffers[of][x].Bytes); view && d != "" {
		m.errorf(t, "%s, a view of %s: %s", m.parameter(to), m.parameter(of), d)
	}
}

// Elementwise runs single indices of each step that is declared elementwise, while all other elements are
// NaN. The element of the index is right, and all other elements keep their bytes. It returns how many steps
// it tried.
func (k *Kit) Elementwise(t *testing.T) int {
	tried := 0
	k.forEachTask(t, "Elementwise", func(t *testing.T, number int, m *memory) {
		for step := range m.sig.Steps {
			over := m.res.Work(number, step).Over
			if !m.res.Elementwise(m.sig, step) || over == 0 {
				continue
			}
			tried++
			if op.IsWhole(m.clone().bodies(t, m.observed(t))[step]) {
				continue // it runs as a whole, also in a group
			}
			whole := m.clone()
			whole.runStep(t, step, 0, over)
			for i := range over {
				if !m.single(t, whole, step, i, over) {
					break
				}
			}
		}
	})
	return tried
}

// runStep runs indices of a step.
func (m *memory) runStep(t *testing.T, step, lo, hi int) {
	t.Helper()
	if err := m.bodies(t, m.observed(t))[step].Run(&op.Ctx{}, op.Range{Lo: lo, Hi: hi}); err != nil {
		m.fatalf(t, "%v", err)
	}
}

// single runs index i of a step where the elements of the other indices are NaN. It reports whether the
// results are right.
func (m *memory) single(t *testing.T, whole *memory, step, i, over int) bool {
	t.Helper()
	one := m.clone()
	for _, bs := range one.buffers {
		for _, b := range bs {
			for e := range shape.Prod(b.Shape) {
				if e != i && shape.Prod(b.Shape) == over {
					put(b, e, math.NaN())
				}
			}
		}
	}
	before := one.clone()
	one.runStep(t, step, i, i+1)
	for par, bs := range one.buffers {
		for k, b := range bs {
			want := slices.Clone(before.buffers[par][k].Bytes)
			if size := b.Type.Size(); shape.Prod(b.Shape) == over {
				copy(want[i*size:(i+1)*size], whole.buffers[par][k].Bytes[i*size:])
			}
			if d := differingElement(b, b.Bytes, want); d != "" {
				m.errorf(t, "step %d, index %d alone, with NaN as the elements of other indices: %s, %s", step, i, m.parameter(par), d)
				return false
			}
		}
	}
	return true
}

// Permissions runs every task twice. The memory differs only where the task has no permission to read.
// Both runs write the same, and the task does not change what it may only read.
func (k *Kit) Permissions(t *testing.T) {
	k.forEachTask(t, "Permissions", func(t *testing.T, number int, m *memory) {
		zeros, garbage := m.clone(), m.clone()
		for i, p := range m.sig.Params {
			if !p.Perm.Reads() && p.Perm != perm.Reduce && !p.Scatter {
				for k, b := range m.buffers[i] {
					zeros.fill(i, k, 0)
					garbage.fill(i, k, NaNs(b.Type))
				}
			}
		}
		zeros.run(t, m.observed(t), number)
		garbage.run(t, m.observed(t), number)
		for i, p := range m.sig.Params {
			for k, b := range m.buffers[i] {
				got := zeros.buffers[i][k].Bytes
				if d := differingElement(b, got, b.Bytes); d != "" && !p.Perm.Writes() && p.Perm != perm.Scratch {
					m.errorf(t, "%s, which the task may only read: %s", m.parameter(i), d)
				}
				if d := differingElement(b, garbage.buffers[i][k].Bytes, got); d != "" && p.Perm != perm.Scratch {
					m.errorf(t, "%s, on memory of NaN where the task may not read, next to memory of zeros: %s", m.parameter(i), d)
				}
			}
		}
	})
}

// fill sets all elements of one tensor of a parameter to x.
func (m *memory) fill(param, k int, x float64) {
	b := m.buffers[param][k]
	for i := range shape.Prod(b.Shape) {
		put(b, i, x)
	}
}
