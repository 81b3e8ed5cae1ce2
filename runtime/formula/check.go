package formula

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/opgen/opgen/internal/program"
	"github.com/opgen/opgen/internal/term"
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

// tolerance is how far apart gradients of random numbers may be, relative to the greater of the derived one and 1.
const tolerance = 1e-9

// Draw says how the values of slots are drawn.
type Draw struct {
	Bound    func(slot int) task.Bound // of integers
	IsOutput func(slot int) bool       // whether backward may be given the gradient of the slot
}

// Differences compares the gradients that a formula gives by hand with the derived ones, in a use of the operator. It draws
// the values of inputs and weights, and the gradients of outputs.
func Differences(u *program.Use, draw Draw) ([]*Difference, error) {
	var grads [2][][]float64
	var hand *program.Program
	for i, derived := range []bool{false, true} {
		v := *u
		v.Derived = derived
		p, err := program.Build(&v)
		if err != nil {
			return nil, err
		}
		if !derived {
			hand = p
		}
		if grads[i], err = draw.gradients(p); err != nil {
			return nil, err
		}
	}
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

// gradients returns the gradients of a program at random values, by tensor.
func (d Draw) gradients(p *program.Program) ([][]float64, error) {
	m := (&compiled{p, compile(p)}).newMemory()
	random := rand.New(rand.NewPCG(1, 2))
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
