package formula

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Difference is where a gradient that a formula gives by hand differs most from the derived one.
type Difference struct {
	Slot       int
	Index      []int
	Hand, From float64 // what the formula gives, and what is derived
}

// String tells the difference in words.
func (d *Difference) String() string {
	return fmt.Sprintf("it is %.6g at %s, where %.6g is derived", d.Hand, shape.Format(d.Index), d.From)
}

// tolerance is how far apart gradients of random numbers may be, relative to the greater of the derived one
// and 1.
const tolerance = 1e-9

// Draw says how the values of slots are drawn.
type Draw struct {
	Bound    func(slot int) task.Bound // of integers
	IsOutput func(slot int) bool       // whether backward may be given the gradient of the slot

	round uint64 // of values near thresholds
}

// nearTolerance is that of gradients near thresholds, where the derived ones may have few digits.
const nearTolerance = 1e-5

// Differences compares the gradients that a formula gives by hand with the derived ones, in a use of the
// operator. It draws the values of inputs and weights, and the gradients of outputs: at random, and on both
// sides of each number with which one of the two formulas compares something.
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
	// The fewer elements there are, the more often they are drawn, so that each number is.
	for round := 0; round < 2+min(4*len(near), 400/max(drawn(programs[0]), 1)) && len(out) == 0 && err == nil; round++ {
		draw.round = uint64(round)
		out, err = draw.differences(programs, near, nearTolerance)
	}
	return out, err
}

// drawn returns how many real numbers are drawn for a program.
func drawn(p *program.Program) int {
	n := 0
	for _, l := range p.Tensors {
		if l.Slot >= 0 && !l.Given && l.Kind == term.Real {
			n += count(l)
		}
	}
	return n
}

// thresholds returns the numbers with which programs compare real numbers, and those of which they take the
// greater or the less; sorted.
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

// number returns the value of a constant.
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

// sides returns numbers on both sides of each of sorted numbers, with none of these between.
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

// differences compares the gradients that two programs give: one by hand, and one that is derived.
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
				continue // the formula has no value there
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

// gradients returns the gradients of a program at random values, by tensor. Where numbers are given, half of
// the elements are some of them.
func (d Draw) gradients(p *program.Program, near []float64) ([][]float64, error) {
	m := (&compiled{p, compile(p)}).newMemory()
	random := rand.New(rand.NewPCG(1, 2+d.round))
	for i, l := range p.Tensors {
		if l.Slot < 0 || l.Given {
			continue
		}
		m.computed[i] = true
		for k := range m.tensors[i].real {
			m.tensors[i].real[k] = 0.2 + 1.6*random.Float64()
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
			m.grads[i][k] = random.Float64() - 0.3
		}
	}
	err := m.backward()
	return m.grads, err
}
