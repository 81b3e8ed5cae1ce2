package optest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// domain is the set from which floating-point values are drawn.
type domain struct {
	signed bool
	lo, hi float64 // of absolute values
	seed   uint64
	// ties makes many numbers equal: floating-point numbers are multiples of 1/2, 0 included. Integers
	// without a bound may then be negative.
	ties  bool
	nans  bool // makes some floating-point numbers NaN
	edges bool // makes some floating-point numbers infinite, and integers without a bound lie from -4 to 4, 0 included
}

var domains = []domain{{signed: true, lo: 0.313, hi: 1.683}, {lo: 0.313, hi: 1.683}, {lo: 0.1, hi: 0.9}}

// drawing draws values for tensors. All floating-point numbers are exact in f32. They are different, and
// further apart than the step of central differences, so that no maximum is near a tie, unless the domain
// says otherwise.
type drawing struct {
	sample
	domain
	rng    *rand.Rand
	drawn  values
	floats []string // the names of floating-point tensors, in order
	total  int      // the number of their elements
	err    error    // what is wrong with values that the option Values gives
}

// tensor draws the values of a tensor of integers or booleans, and notes a floating-point tensor for method
// values. Integers lie from 1 to 4. If res is not nil, the tensor is bound to a slot of it, and its integers
// lie within the bound that res gives. A slot below 0 stands for none, as t is a gradient.
func (d *drawing) tensor(t graph.Tensor, res *task.Resolution, slot int) {
	if _, ok := d.drawn[t.Name()]; ok {
		return // the tensor is bound to several slots
	}
	var bound task.Bound
	bounded := false
	if res != nil {
		bound, bounded = res.Bound(slot)
	}
	if slot >= 0 && (!bounded || bound.Possible()) {
		if v, ok := d.given(d.rng, slot, t.Type(), t.Shape(), bound); ok {
			if want := shape.Prod(t.Shape()); len(v) != want && d.err == nil {
				d.err = valuesError(fmt.Sprintf("Values(%s, %s): want %d elements for the shape %v, got %d", d.title(), d.op.Slots[slot].Name, want, t.Shape(), len(v)))
			}
			d.drawn[t.Name()] = v
			return
		}
	}
	v := make([]float64, shape.Prod(t.Shape()))
	d.drawn[t.Name()] = v
	switch {
	case t.Type().IsFloat():
		d.floats = append(d.floats, t.Name())
		d.total += len(v)
	case t.Type() == dtype.Bool && len(v) == 1: // so that two examples have both
		v[0] = float64(d.example % 2)
	case t.Type() == dtype.Bool:
		for i := range v {
			v[i] = float64(d.rng.IntN(2))
		}
	case bounded:
		for i := range v {
			v[i] = float64(bound.Draw(d.rng.IntN))
		}
	case d.edges:
		for i := range v {
			v[i] = float64(d.rng.IntN(9) - 4)
		}
	default:
		for i := range v {
			v[i] = float64(1 + d.rng.IntN(4)) // valid as divisors and as exponents
			if d.ties && d.rng.IntN(2) == 0 {
				v[i] = -v[i]
			}
		}
	}
}

// values draws the floating-point numbers, and returns the values of all tensors.
func (d *drawing) values() values {
	order := d.rng.Perm(d.total)
	for _, name := range d.floats {
		v := d.drawn[name]
		for i := range v {
			x := d.lo + (d.hi-d.lo)*(float64(order[i])+0.41)/float64(d.total)
			if d.signed && d.rng.IntN(2) == 0 {
				x = -x
			}
			switch {
			case d.nans && d.rng.IntN(4) == 0:
				x = math.NaN()
			case d.edges && d.rng.IntN(4) == 0:
				x = math.Copysign(math.Inf(1), x)
			case d.ties:
				x = math.Trunc(2*x) / 2
			}
			v[i] = float64(float32(x))
		}
		order = order[len(v):]
	}
	return d.drawn
}

// given returns the elements that the option Values gives a tensor of a slot.
func (s sample) given(rng *rand.Rand, slot int, typ dtype.Type, dims []int, bound task.Bound) ([]float64, bool) {
	draw := s.kit.config.values[slotName{s.title(), s.op.Slots[slot].Name}]
	if draw == nil {
		return nil, false
	}
	in := Input{Type: typ, Shape: dims, Below: bound.Below, Shapes: s.shapes}
	if bound.HasExcept {
		in.Except = &bound.Except
	}
	v := draw(rng, in)
	if typ.IsFloat() {
		for i, x := range v {
			v[i] = float64(float32(x)) // equal in f32 and f64
		}
	}
	return v, true
}

// valuesError says that the option Values gives a wrong number of elements.
type valuesError string

func (e valuesError) Error() string { return string(e) }

// excludes reports whether an error says that the operator does not allow the shapes. Another one is a
// mistake of the test.
func (s sample) excludes(t *testing.T, err error) bool {
	t.Helper()
	if wrong := valuesError(""); errors.As(err, &wrong) {
		s.fatalf(t, "%v", wrong)
	}
	return err != nil
}
