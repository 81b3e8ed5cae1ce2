package formula

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Difference is the element of a gradient at which a hand-written formula and the derived one differ most.
type Difference struct {
	Slot       int
	Index      []int
	Hand, From float64 // the hand-written and the derived gradient
}

// String describes the difference in a diagnostic.
func (d *Difference) String() string {
	return fmt.Sprintf("it is %.6g at %s, where %.6g is derived", d.Hand, shape.Format(d.Index), d.From)
}

// tolerance is the largest allowed difference of two gradients at random inputs, relative to max(1, |derived
// gradient|).
const tolerance = 1e-9

// Draw configures the random inputs of Differences.
type Draw struct {
	Bound    func(slot int) task.Bound // range of the integers of a slot
	IsOutput func(slot int) bool       // whether backward may take the gradient of the slot

	// Left is the number of operations that may still be computed; operations that run are subtracted. Nil
	// means no limit.
	Left *int

	round uint64 // seed of the values near thresholds
}

// nearTolerance replaces tolerance for inputs near thresholds, where cancellation costs digits.
const nearTolerance = 1e-5

// Differences compares hand-written gradients with derived ones, for one instantiation of an operator, and
// returns one Difference for each tensor whose gradients differ. Inputs, weights and gradients of outputs
// are random. Further rounds draw inputs on both sides of each threshold, a constant with which one of the
// two programs compares a real number. The error is ErrLimit if the first round takes more operations than
// may be computed; further rounds end there.
func Differences(u *program.Use, draw Draw) ([]*Difference, error) {
	var programs [2]*program.Program
	for i, derived := range []bool{false, true} {
		v := *u
		v.Derived = derived
		var err error
		if programs[i], err = program.Build(&v); err != nil {
			return nil, err
		}
	}
	near := sides(thresholds(programs[:]))
	out, err := draw.differences(programs, nil, tolerance)
	if len(near) == 0 {
		return out, err
	}
	// Small programs get more rounds, so that every threshold is likely drawn.
	for round := 0; round < 2+min(4*len(near), 400/max(drawn(programs[0]), 1)) && len(out) == 0 && err == nil; round++ {
		draw.round = uint64(round)
		if out, err = draw.differences(programs, near, nearTolerance); errors.Is(err, ErrLimit) {
			return nil, nil
		}
	}
	return out, err
}

// drawn returns the number of real elements that one round draws.
func drawn(p *program.Program) int {
	n := 0
	for _, l := range p.Tensors {
		if l.Slot >= 0 && !l.Given && l.Kind == term.Real {
			n += count(l)
		}
	}
	return n
}

// thresholds returns the constants at which programs may branch: operands of comparisons, min, max and abs.
// The result is sorted and has no duplicates.
func thresholds(programs []*program.Program) []float64 {
	var out []float64
	visit := func(n *term.Term) {
		switch n.Op {
		case term.Equal, term.Unequal, term.Less, term.AtMost:
		case term.Apply:
			if n.Func != term.Abs && !n.Func.Has(term.Extreme) {
				return
			}
			if n.Func == term.Abs {
				out = append(out, 0)
			}
		default:
			return
		}
		for i, x := range n.Args {
			if v, ok := number(x); ok && len(n.Args) == 2 && n.Args[1-i].Kind == term.Real {
				out = append(out, v)
			}
		}
	}
	for _, p := range programs {
		for _, s := range p.Statements {
			s.Value.Walk(visit)
			s.Guard.Walk(visit)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// number returns the value of a constant or a negated constant, and whether n is one.
func number(n *term.Term) (float64, bool) {
	switch {
	case n.Op == term.Negate:
		v, ok := number(n.Args[0])
		return -v, ok
	case n.Op != term.Constant || n.Kind == term.Boolean:
		return 0, false
	case n.Kind == term.Integer:
		return float64(n.Int), true
	}
	return n.Float, true
}

// sides returns two numbers around each threshold. The interval between them contains no other threshold.
func sides(sorted []float64) []float64 {
	var out []float64
	for i, v := range sorted {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		step := max(1, math.Abs(v)) / 1024
		if i > 0 {
			step = min(step, (v-sorted[i-1])/4)
		}
		if i+1 < len(sorted) {
			step = min(step, (sorted[i+1]-v)/4)
		}
		out = append(out, v-step, v+step)
	}
	return out
}

// differences compares the gradients of two programs: programs[0] with the hand-written ones, and programs[1]
// with derived ones.
func (d Draw) differences(programs [2]*program.Program, near []float64, tolerance float64) ([]*Difference, error) {
	var grads [2][][]float64
	for i, p := range programs {
		var err error
		if grads[i], err = d.gradients(p, near); err != nil {
			return nil, err
		}
	}
	hand := programs[0]
	var out []*Difference
	for _, t := range hand.ByHand() {
		l := hand.Tensors[t]
		got, want := grads[0][t], grads[1][t]
		if want == nil {
			want = make([]float64, len(got))
		}
		var most *Difference
		worst := tolerance
		for i := range got {
			if len(near) > 0 && (math.IsNaN(want[i]) || math.IsInf(want[i], 0)) {
				continue // the formula is undefined at this input
			}
			if d := math.Abs(got[i]-want[i]) / max(1, math.Abs(want[i])); d > worst || d != d {
				most = &Difference{l.Slot, shape.Index(i, extents(l.Shape)), got[i], want[i]}
				if worst = d; d != d {
					break
				}
			}
		}
		if most != nil {
			out = append(out, most)
		}
	}
	return out, nil
}

// gradients runs p forward and backward at random inputs, and returns the gradients by tensor. If near is
// not empty, about half of the real elements are drawn from it.
func (d Draw) gradients(p *program.Program, near []float64) ([][]float64, error) {
	if d.Left != nil {
		for _, l := range p.Tensors {
			if n := count(l); n > *d.Left {
				return nil, ErrLimit
			} else {
				*d.Left -= n
			}
		}
	}
	m := (&compiled{p, compile(p)}).newMemory()
	m.left = d.Left
	random := rand.New(rand.NewPCG(1, 2+d.round))
	for i, l := range p.Tensors {
		if l.Slot < 0 || l.Given {
			continue
		}
		m.computed[i] = true
		for k := range m.tensors[i].real {
			m.tensors[i].real[k] = 0.2 + float64(1.6*random.Float64())
			if random.IntN(3) == 0 {
				m.tensors[i].real[k] *= -1
			}
			if len(near) > 0 && random.IntN(2) == 0 {
				m.tensors[i].real[k] = near[random.IntN(len(near))]
			}
		}
		bound := d.Bound(l.Slot)
		for k := range m.tensors[i].integer {
			m.tensors[i].integer[k] = int64(bound.Draw(random.IntN))
		}
		for k := range m.tensors[i].boolean {
			m.tensors[i].boolean[k] = random.IntN(2) == 0
		}
	}
	if err := m.forward(); err != nil {
		return nil, err
	}
	for i, l := range p.Tensors {
		if l.Slot < 0 || !l.Given || l.Kind != term.Real || !d.IsOutput(l.Slot) {
			continue
		}
		m.grads[i] = make([]float64, count(l))
		for k := range m.grads[i] {
			m.grads[i][k] = float64(random.Float64()) - 0.3
		}
	}
	err := m.backward()
	return m.grads, err
}
