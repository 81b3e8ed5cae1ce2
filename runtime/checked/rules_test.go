package checked_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/checked"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/opimpl"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
)

// The slots of the operator under test.
const (
	slotX = iota
	slotIndex
	slotY
	slotCommon
	slotOwn
)

// extent is the extent of all tensors. Ranges have two indices.
const extent = 4

// memory holds the tensors of a task as slices, so that a kernel can do what views do not permit. A right
// kernel computes y[i] = x[i] + 1, and puts dy[i] into dx[i].
type memory struct {
	x, y, common, dx, dy []float32
	own                  [][]float32
	index                []int32
	add                  bool // to the gradient
	first                bool // whether the step is the first
}

func (m *memory) put(i int, v float32) {
	if m.add {
		m.dx[i] += v
	} else {
		m.dx[i] = v
	}
}

type body func(ctx *op.Ctx, m *memory, r op.Range) error

type bound struct {
	body
	*memory
	whole bool // whether the first range computes all
}

func (b *bound) Run(ctx *op.Ctx, r op.Range) error {
	if b.whole && r.Lo > 0 {
		return nil
	}
	return b.body(ctx, b.memory, r)
}

func (b *bound) Whole() bool { return b.whole }

// right does what the spec says.
func right(_ *op.Ctx, m *memory, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		m.y[i] = m.x[i] + 1
	}
	return nil
}

func rightGradient(_ *op.Ctx, m *memory, r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		m.put(i, m.dy[i])
	}
	return nil
}

// each returns a kernel that computes element by element.
func each(f func(m *memory, i int) error) body {
	return func(_ *op.Ctx, m *memory, r op.Range) error {
		for i := r.Lo; i < r.Hi; i++ {
			if err := f(m, i); err != nil {
				return err
			}
		}
		return nil
	}
}

func slice[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// wrong is a kernel that breaks a rule, and what its error says.
type wrong struct {
	name              string
	rule              checked.Rule
	forward, backward body // nil: a right one
	second            body // a second step of forward, unless nil
	elementwise       bool
	whole             bool // forward computes all in its first range
	inPlace           bool
	scatter           bool
	reduces           bool // y is folded into
	index             int32
	want              string // without the node, the operator and the task
}

// operator returns the operator for a kernel.
func (w *wrong) operator() *graph.Operator {
	forward, backward := task.IDOf("wrong", "forward"), task.IDOf("wrong", "backward")
	var inPlace []task.InPlace
	if w.inPlace {
		inPlace = []task.InPlace{{Slot: slotY, Of: slotX}}
	}
	steps := []task.Step{{Elementwise: w.elementwise}}
	if w.second != nil {
		steps = []task.Step{{Name: "first"}, {Name: "second"}}
	}
	y := task.Param{Slot: slotY, Perm: perm.Write}
	if w.reduces {
		y = task.Param{Slot: slotY, Perm: perm.Reduce, Redop: perm.Sum}
	}
	return opimpl.New(graph.Operator{Operator: task.Operator{
		Name: "wrong",
		Slots: []task.Slot{
			{Name: "x", Role: task.RoleInput, Type: "f32", Shape: "[N]", Trainable: true},
			{Name: "index", Role: task.RoleInput, Type: "i32", Shape: "[N]"},
			{Name: "y", Role: task.RoleOutput, Type: "f32", Shape: "[N]"},
			{Name: "common", Role: task.RoleScratch, Type: "f32", Shape: "[N]"},
			{Name: "own", Role: task.RoleScratch, Type: "f32", Shape: "[N]", PerWorker: true},
		},
		Signatures: []*task.Signature{{
			Task: "forward", ID: forward, Kind: task.KindForward, Steps: steps, InPlace: inPlace,
			Params: []task.Param{{Slot: slotX, Perm: perm.Read}, {Slot: slotIndex, Perm: perm.Read}, y,
				{Slot: slotCommon, Perm: perm.Scratch}, {Slot: slotOwn, Perm: perm.Scratch}},
		}, {
			Task: "backward", ID: backward, Kind: task.KindBackward, Steps: []task.Step{{}},
			Params: []task.Param{{Slot: slotX, Perm: perm.Read}, {Slot: slotX, Grad: true, Perm: perm.Write, Scatter: w.scatter},
				{Slot: slotY, Grad: true, Perm: perm.Read}},
		}},
		DecodeAttrs: func(data []byte) (task.Attrs, error) {
			var a struct{}
			return a, attr.Decode("wrong", data, &a)
		},
		Resolve: opimpl.Resolve(func(r *opimpl.Resolver[int], _ struct{}, _ *struct{}) {
			for _, s := range []int{slotY, slotCommon, slotOwn} {
				r.Set(s, dtype.F32, extent)
			}
			r.Below(slotIndex, 3)
			for _, s := range steps {
				r.StepBy(forward, s.Name, 2, extent)
			}
			r.WorkBy(backward, 2, extent)
		}),
	}})
}

// bind returns the function that binds the bodies of a task. whole says that each computes all of its step in
// the first range.
func bind(whole bool, bodies ...body) func(*task.Accessor) ([]op.Body, error) {
	return func(a *task.Accessor) ([]op.Body, error) {
		var out []op.Body
		for i, b := range bodies {
			m := &memory{first: i == 0}
			at := func(slot int, grad bool) []float32 {
				if bs := a.Memory(slot, grad); len(bs) == 1 {
					m.add = bs[0].Mode == 2 // tensor.Accumulate
					return slice[float32](bs[0].Bytes)
				}
				return nil
			}
			m.x, m.y, m.common, m.dy, m.dx = at(slotX, false), at(slotY, false), at(slotCommon, false), at(slotY, true), at(slotX, true)
			for _, b := range a.Workers(slotOwn) {
				m.own = append(m.own, slice[float32](b.Bytes))
			}
			if bs := a.Memory(slotIndex, false); len(bs) == 1 {
				m.index = slice[int32](bs[0].Bytes)
			}
			out = append(out, &bound{b, m, whole})
		}
		return out, nil
	}
}

// run runs forward and backward. The error is that of the run.
func (w *wrong) run(t *testing.T) error {
	t.Helper()
	o := w.operator()
	forward, backward := w.forward, w.backward
	if forward == nil {
		forward = right
	}
	if backward == nil {
		backward = rightGradient
	}
	bodies := []body{forward}
	if w.second != nil {
		bodies = append(bodies, w.second)
	}
	var r task.Registry
	for i, f := range []func(*task.Accessor) ([]op.Body, error){bind(w.whole, bodies...), bind(false, backward)} {
		sig := o.Signatures[i]
		if err := r.RegisterTask(sig.ID, sig.Name(), sig, task.Variant{Target: op.CPU, Kernel: f, Bind: f}); err != nil {
			t.Fatal(err)
		}
	}
	g := graph.New(1)
	x, index, seed := g.Input("x", dtype.F32, extent), g.Input("index", dtype.I32, extent), g.Input("seed", dtype.F32, extent)
	y := graph.Insert[int](g, 0, o, struct{}{}, graph.Named("n")).Bind(slotX, x).Bind(slotIndex, index).Node().Tensor(slotY)
	p, _, err := graph.Gradients(g, map[graph.Tensor]graph.Tensor{y: seed}, []graph.Tensor{x}, y)
	if err != nil {
		t.Fatal(err)
	}
	pl, err := planner.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(&r, checked.New(cpu.Config{}), engine.Config{})
	defer e.Close()
	in, err := e.Load(pl)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(engine.Feed(in, "x", []float32{1, 2, 3, 4}), engine.Feed(in, "seed", []float32{5, 6, 7, 8}),
		engine.Feed(in, "index", []int32{0, 1, 2, w.index}))
	if err != nil {
		t.Fatal(err)
	}
	return in.Run(t.Context())
}

// calls counts the runs of a kernel that is not deterministic.
var calls int

var table = []wrong{
	{name: "right"},
	{name: "right element by element", elementwise: true, inPlace: true},
	{name: "right at once, as a step that is declared elementwise", elementwise: true, whole: true, forward: func(_ *op.Ctx, m *memory, _ op.Range) error {
		for i := range m.y {
			m.y[extent-1-i] = m.x[extent-1-i] + 1
		}
		return nil
	}},
	{name: "an element that is not written at once", rule: checked.Written, elementwise: true, whole: true, forward: func(_ *op.Ctx, m *memory, _ op.Range) error {
		return right(nil, m, op.Range{Lo: 0, Hi: extent - 1})
	}, want: "task forward, range [0, 4), slot y, index [3]: want an element that a range writes, got none that does"},
	{name: "right with gradients of which twice the value is too great", backward: each(func(m *memory, i int) error { m.put(i, m.dy[i]*4e37); return nil })},
	{name: "a great gradient that is put twice", rule: checked.Put, backward: each(func(m *memory, i int) error {
		m.put(i, m.dy[i]*4e37)
		m.put(i, m.dy[i]*4e37)
		return nil
	}), want: "task backward, range [0, 2), slot grad.x, index [0]: want one value put, got 1.9999999360571385e+38 twice"},
	{name: "a great gradient that is stored in every mode", rule: checked.Put, backward: each(func(m *memory, i int) error { m.dx[i] = m.dy[i] * 4e37; return nil }),
		want: "task backward, range [0, 2), slot grad.x, index [0]: want one value put, got 1.9999999360571385e+38 if it is stored, and 2.9999999040857077e+38 if it is added"},
	{name: "right with scratch memory", forward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		for i := r.Lo; i < r.Hi; i++ {
			m.own[ctx.Worker][i] = m.x[i]
			m.common[i] = m.own[ctx.Worker][i] + 1
			m.y[i] = m.common[i]
		}
		return nil
	}},
	{name: "right in two steps", forward: each(func(m *memory, i int) error { m.common[i] = m.x[i]; return nil }),
		second: each(func(m *memory, i int) error { m.y[i] = m.common[extent-1-i] + 1; return nil })},
	{name: "an index out of bounds", rule: checked.Below, index: 3,
		want: "task forward, range [0, 2), slot index, index [3]: want an index from 0 to 2, got 3"},
	{name: "a write behind the tensor", rule: checked.Guard, forward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		*(*float32)(unsafe.Add(unsafe.Pointer(&m.y[0]), 4*extent)) = 1
		return right(ctx, m, r)
	}, want: "task forward, range [0, 2), slot y: want writes to 16 bytes only, got one at byte 16"},
	{name: "a write before the tensor", rule: checked.Guard, forward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		*(*float32)(unsafe.Add(unsafe.Pointer(&m.y[0]), -4)) = 1
		return right(ctx, m, r)
	}, want: "task forward, range [0, 2), slot y: want writes to 16 bytes only, got one at byte -1"},
	{name: "a write to an input", rule: checked.ReadOnly, forward: each(func(m *memory, i int) error {
		m.y[i] = m.x[i] + 1
		m.x[1] = 9
		return nil
	}), want: "task forward, range [0, 2), slot x, index [1]: want an element that keeps its value 2, got 9"},
	{name: "a read of an output", rule: checked.Unread, forward: each(func(m *memory, i int) error { m.y[i] += m.x[i] + 1; return nil }),
		want: "task forward, range [0, 2), slot y: want results that do not depend on what the memory held, got y[0] = "},
	{name: "a read of scratch memory of the task", rule: checked.Unread,
		forward: each(func(m *memory, i int) error { m.y[i] = m.x[i] + m.common[0]; return nil }),
		want:    "task forward, range [0, 2), slot common: want results that do not depend on what the memory held, got y[0] = "},
	{name: "a read of scratch memory of a worker", rule: checked.Unread, forward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		m.own[ctx.Worker][0] += m.x[0]
		m.y[r.Lo], m.y[r.Lo+1] = m.own[ctx.Worker][0], 0
		return nil
	}, want: "task forward, range [0, 2), slot own: want results that do not depend on what the memory held, got y[0] = "},
	{name: "an element that is not written", rule: checked.Written, forward: each(func(m *memory, i int) error {
		if i != 2 {
			m.y[i] = m.x[i] + 1
		}
		return nil
	}), want: "task forward, range [0, 4), slot y, index [2]: want an element that a range writes, got none that does"},
	{name: "an element that two ranges write", rule: checked.Apart, forward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		m.y[0] = 1
		return right(ctx, m, r)
	}, want: "task forward, range [2, 4), slot y, index [0]: want one range of the step to write the element, got one in this range and one in range [0, 2)"},
	{name: "scratch memory that two ranges use", rule: checked.Apart, forward: each(func(m *memory, i int) error {
		m.common[0] = m.x[i]
		m.y[i] = m.common[0] + 1
		return nil
	}), want: "task forward, range [2, 4), slot common, index [0]: want one range of the step to write the element, got one in this range"},
	{name: "a step that reads what no step has written", rule: checked.Unread, forward: right,
		second: each(func(m *memory, i int) error { m.y[i] = m.common[i]; return nil }),
		want:   "task forward, step second, range [0, 2), slot common: want results that do not depend"},
	{name: "the memory of another worker", rule: checked.Worker, forward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		m.own[0][0] = 1
		return right(ctx, m, r)
	}, want: "task forward, range [2, 4), slot own: want use of the memory of worker 1, got a write to that of worker 0"},
	{name: "an element of another index", rule: checked.Inside, elementwise: true, forward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		m.y[extent-1-r.Lo], m.y[extent-2-r.Lo] = m.x[r.Lo]+1, m.x[r.Lo+1]+1
		return nil
	}, want: "task forward, range [0, 2), slot y, index [2]: want no write outside of the elements that belong to the range, got one (and 3 more)"},
	{name: "a read of a neighbor", rule: checked.Inside, elementwise: true,
		forward: each(func(m *memory, i int) error { m.y[i] = m.x[i^1]; return nil }),
		want:    "task forward, range [0, 1), slot x: want results that do not depend on elements outside of those that belong to the range, got y[0] = 2 or "},
	{name: "a read behind the range", rule: checked.Inside, elementwise: true,
		forward: each(func(m *memory, i int) error { m.y[i] = m.x[i] + m.x[(i+2)%extent]; return nil }),
		want:    "task forward, range [0, 2), slot x: want results that do not depend on elements outside"},
	{name: "in place, a read behind a write", rule: checked.InPlace, inPlace: true,
		forward: each(func(m *memory, i int) error { m.y[i] = m.x[i&^1] + 1; return nil }),
		want:    "task forward, range [0, 2), slot y, index [1]: want the same result if y takes the memory of x, got 3 rather than 2"},
	{name: "in place, a read of another range", rule: checked.InPlace, inPlace: true,
		forward: each(func(m *memory, i int) error { m.y[i] = m.x[(i+2)%extent] + 1; return nil }),
		want:    "slot x: want results that do not depend on elements in whose place y is written before, got y[0] = 4 or "},
	{name: "other bits in each run", rule: checked.Same, forward: each(func(m *memory, i int) error {
		calls++
		m.y[i] = float32(calls)
		return nil
	}), want: "task forward, range [0, 2), slot y, index [0]: want the same bits in each run of the range, got "},
	{name: "an element that is not put", rule: checked.Put, backward: each(func(m *memory, i int) error {
		if i > 0 {
			m.put(i, m.dy[i])
		}
		return nil
	}), want: "task backward, range [0, 4), slot grad.x, index [0]: want one value put, got none"},
	{name: "an element that is put twice", rule: checked.Put, backward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		m.put(r.Lo, m.dy[r.Lo])
		return rightGradient(ctx, m, r)
	}, want: "task backward, range [0, 2), slot grad.x, index [0]: want one value put, got 5 twice"},
	{name: "two values that are put", rule: checked.Put, backward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		m.put(r.Lo, 3)
		return rightGradient(ctx, m, r)
	}, want: "task backward, range [0, 2), slot grad.x, index [0]: want one value put, got 5 if it is stored, and 8 if it is added"},
	{name: "an element that two ranges put", rule: checked.Put, backward: func(ctx *op.Ctx, m *memory, r op.Range) error {
		m.put(3, 1)
		return nil
	}, want: "task backward, range [2, 4), slot grad.x, index [3]: want one value put, got one in this range and one in range [0, 2)"},
	{name: "a gradient that is stored in every mode", rule: checked.Put,
		backward: each(func(m *memory, i int) error { m.dx[i] = m.dy[i]; return nil }),
		want:     "task backward, range [0, 2), slot grad.x, index [0]: want one value put, got 5 if it is stored, and 0 if it is added"},
	{name: "a gradient that is scattered into", scatter: true,
		backward: each(func(m *memory, i int) error { m.dx[i] += m.dy[i]; return nil })},
	{name: "values that cancel out as they are scattered", scatter: true, backward: each(func(m *memory, i int) error {
		m.dx[i]++
		m.dx[i] -= 1 - 0x1p-24 // beside 1, rounding takes the 0x1p-24 that is left
		return nil
	})},
	{name: "a value that is scattered into and hides all usual ones", scatter: true,
		backward: each(func(m *memory, i int) error { m.dx[i] += 1e38; return nil })},
	{name: "a gradient that is stored rather than scattered into", rule: checked.Add, scatter: true,
		backward: each(func(m *memory, i int) error { m.dx[i] = m.dy[i]; return nil }),
		want:     "task backward, range [0, 2), slot grad.x, index [0]: want a value added, got 5 stored"},
}

// TestRules runs kernels that are right, and kernels that break one rule each.
func TestRules(t *testing.T) {
	seen := map[checked.Rule]bool{}
	for _, w := range table {
		t.Run(w.name, func(t *testing.T) {
			seen[w.rule] = true
			err := w.run(t)
			if w.rule == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var te *engine.TaskError
			var e *checked.Error
			if !errors.As(err, &te) || !errors.As(err, &e) {
				t.Fatalf("got %v, want a checked.Error in a TaskError", err)
			}
			if e.Rule != w.rule || e.Node != "n" || e.Operator != "wrong" || te.Node != "n" {
				t.Errorf("got %+v, want rule %s", e, w.rule)
			}
			if want := "node n, operator wrong, " + w.want; !strings.Contains(e.Error(), w.want) {
				t.Errorf("got  %v\nwant %s", e, want)
			}
		})
	}
	for _, r := range []checked.Rule{checked.Below, checked.Guard, checked.ReadOnly, checked.Unread, checked.Written, checked.Apart,
		checked.Put, checked.Add, checked.Inside, checked.InPlace, checked.Same, checked.Worker} {
		if !seen[r] {
			t.Errorf("no kernel breaks the rule %q", r)
		}
	}
}

// TestRoundedSums puts sums of which rounding alone leaves something beside 0, and 1 into every other
// element. An element that held a value before is rounded otherwise.
func TestRoundedSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 400 {
		terms := make([]float32, 24)
		for i := range terms {
			terms[i] = r.Float32() - 0.5
		}
		total := float32(0)
		for _, x := range slices.Backward(terms) {
			total += x
		}
		terms = append(terms, -total)
		w := wrong{backward: each(func(m *memory, i int) error {
			if i%2 == 0 {
				m.put(i, 1)
				return nil
			}
			m.put(i, terms[0])
			for _, x := range terms[1:] {
				m.dx[i] += x
			}
			return nil
		})}
		if err := w.run(t); err != nil {
			t.Fatalf("sum %d: %v", n, err)
		}
	}
}
