package kernels_test

import (
	"bytes"
	"encoding/binary"
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
	sig    *task.Signature
	res    *task.Resolution
	attrs  task.Attrs
	passed map[int][]any
	state  *task.State // nil if the operator keeps none
	// profiling is the argument from "profiling".
	profiling task.Profiling
	buffers   [][]task.Buffer
}

// newMemory returns memory in which every parameter of a task has tensors with random values.
func newMemory(f *fixture, sig *task.Signature, state *task.State, seed uint64) *memory {
	m := &memory{sig: sig, res: f.node.Resolved, state: state, attrs: f.attrs, passed: f.passed, buffers: make([][]task.Buffer, len(sig.Params))}
	r := rand.New(rand.NewPCG(seed, 5))
	for i, p := range sig.Params {
		for _, o := range m.res.Operands(p.Slot) {
			b := task.Buffer{Operand: o, Bytes: make([]byte, o.Bytes()), Mode: tensor.Store}
			lo := 0.1
			if _, ok := m.res.Below(p.Slot); !ok && o.Type.IsInteger() {
				lo = 1 // valid as a divisor and as an exponent
			}
			for k := range shape.Prod(o.Shape) {
				put(b, k, lo+0.8*r.Float64())
			}
			m.buffers[i] = append(m.buffers[i], b)
		}
	}
	return m
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
	case x >= 1 && size == 4:
		binary.NativeEndian.PutUint32(at, uint32(x))
	case x >= 1 && size == 8:
		binary.NativeEndian.PutUint64(at, uint64(x))
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
		t.Fatal(err)
	}
	at := func(slot int, grad bool) []task.Buffer {
		if i := m.param(slot, grad); i >= 0 {
			return m.buffers[i]
		}
		return nil
	}
	acc := &task.Accessor{Signature: m.sig, Attrs: m.attrs, Resolved: m.res, Passed: task.NewPassed(m.passed), Memory: at, State: func(int) *task.State { return m.state }, Profiling: m.profiling,
		Workers: func(slot int) []task.Buffer { return at(slot, false) }}
	bodies, err := v.Bind(acc)
	if err != nil {
		t.Fatal(err)
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
				t.Fatal(err)
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

// forEachTask runs f for every task of every sample. A backward task gets the tensors that the forward task
// has written.
func forEachTask(t *testing.T, f func(t *testing.T, number int, m *memory)) {
	forEachSample(t, func(t *testing.T, s sample) {
		fix := mustFixture(t, s)
		state := newState(t, &s.op.Operator, s.attrs, fix.node.Resolved)
		var forward *memory
		for number, sig := range s.op.Signatures {
			if sig.Kind == task.KindBackward && !fix.differentiable() {
				continue // only floating-point tensors have gradients
			}
			if sig.Kind == task.KindInit || sig.Kind == task.KindCleanup {
				continue // they get no tensors
			}
			m := newMemory(fix, sig, state, uint64(number))
			if sig.Kind == task.KindBackward {
				m.after(forward)
			}
			f(t, number, m.clone())
			if sig.Kind == task.KindForward {
				m.run(t, registry(), number)
				forward = m
			}
		}
	})
}

// TestInPlace runs every task twice: with one memory for two slots that may share it, and with separate
// memory for every tensor. Both runs write the same.
func TestInPlace(t *testing.T) {
	t.Parallel()
	tried := 0
	forEachTask(t, func(t *testing.T, number int, m *memory) {
		grad := m.sig.Kind == task.KindBackward
		for _, p := range m.sig.InPlace {
			to, of := m.param(p.Slot, grad), m.param(p.Of, grad)
			if to < 0 || of < 0 {
				t.Fatalf("%s: want parameters for both slots of %+v, got indices %d and %d", m.sig.Name(), p, to, of)
			}
			if len(m.buffers[to]) != 1 || len(m.buffers[of]) != 1 || len(m.buffers[to][0].Bytes) != len(m.buffers[of][0].Bytes) {
				continue
			}
			tried++
			apart, shared := m.clone(), m.clone()
			shared.buffers[to][0].Bytes = shared.buffers[of][0].Bytes
			apart.run(t, observed(t), number)
			shared.run(t, observed(t), number)
			for i, par := range m.sig.Params {
				for k := range m.buffers[i] {
					if par.Perm.Writes() && par.Perm != perm.Scratch && !bytes.Equal(apart.buffers[i][k].Bytes, shared.buffers[i][k].Bytes) {
						t.Errorf("%s, in place %+v: parameter %d holds\n%x\nwant what it holds without shared memory\n%x", m.sig.Name(), p, i, shared.buffers[i][k].Bytes, apart.buffers[i][k].Bytes)
					}
				}
			}
			if p.View && !bytes.Equal(shared.buffers[to][0].Bytes, m.buffers[of][0].Bytes) {
				t.Errorf("%s, view %+v: got bytes\n%x\nwant the bytes of the slot that it views\n%x", m.sig.Name(), p, shared.buffers[to][0].Bytes, m.buffers[of][0].Bytes)
			}
		}
	})
	if tried < 20 {
		t.Errorf("tried %d pairs of slots, want at least 20", tried)
	}
}

// TestElementwise runs single indices of each step that is declared elementwise, while all other elements are
// NaN. The element of the index is right, and all other elements keep their bytes.
func TestElementwise(t *testing.T) {
	t.Parallel()
	tried := 0
	forEachTask(t, func(t *testing.T, number int, m *memory) {
		for step, s := range m.sig.Steps {
			over := m.res.Work(number, step).Over
			if !s.Elementwise || over == 0 {
				continue
			}
			tried++
			whole := m.clone()
			if err := whole.bodies(t, observed(t))[step].Run(&op.Ctx{}, op.Range{Lo: 0, Hi: over}); err != nil {
				t.Fatal(err)
			}
			for i := range over {
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
				if err := one.bodies(t, observed(t))[step].Run(&op.Ctx{}, op.Range{Lo: i, Hi: i + 1}); err != nil {
					t.Fatal(err)
				}
				for par, bs := range one.buffers {
					for k, b := range bs {
						want := slices.Clone(before.buffers[par][k].Bytes)
						if size := b.Type.Size(); shape.Prod(b.Shape) == over {
							copy(want[i*size:(i+1)*size], whole.buffers[par][k].Bytes[i*size:])
						}
						if !bytes.Equal(b.Bytes, want) {
							t.Fatalf("%s, step %d, index %d: parameter %d holds\n%x\nwant\n%x", m.sig.Name(), step, i, par, b.Bytes, want)
						}
					}
				}
			}
		}
	})
	if tried < 40 {
		t.Errorf("tried %d steps, want at least 40", tried)
	}
}

// TestPermissions runs every task twice. The memory differs only where the task has no permission to read.
// Both runs write the same, and the task does not change what it may only read.
func TestPermissions(t *testing.T) {
	t.Parallel()
	forEachTask(t, func(t *testing.T, number int, m *memory) {
		zeros, garbage := m.clone(), m.clone()
		for i, p := range m.sig.Params {
			if !p.Perm.Reads() && p.Perm != perm.Reduce && !p.Scatter {
				for k, b := range m.buffers[i] {
					zeros.fill(i, k, 0)
					garbage.fill(i, k, manyNaNs(b.Type))
				}
			}
		}
		zeros.run(t, observed(t), number)
		garbage.run(t, observed(t), number)
		for i, p := range m.sig.Params {
			for k, b := range m.buffers[i] {
				got := zeros.buffers[i][k].Bytes
				if !p.Perm.Writes() && p.Perm != perm.Scratch && !bytes.Equal(got, b.Bytes) {
					t.Errorf("%s: parameter %d, which the task may only read, holds\n%x\nwant\n%x", m.sig.Name(), i, got, b.Bytes)
				}
				if p.Perm != perm.Scratch && !bytes.Equal(got, garbage.buffers[i][k].Bytes) {
					t.Errorf("%s: parameter %d holds\n%x\nwant, as on memory of zeros,\n%x", m.sig.Name(), i, garbage.buffers[i][k].Bytes, got)
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
