package kernels_test

import (
	"math/rand/v2"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// domain is the set from which floating-point values are drawn.
type domain struct {
	signed bool
	lo, hi float64 // of absolute values
}

var domains = []domain{{true, 0.313, 1.683}, {false, 0.313, 1.683}, {false, 0.1, 0.9}}

// drawing draws values for tensors. Floating-point numbers are all different and far apart compared
// with the steps of differences, so that no maximum is near a tie; all are exact in f32.
type drawing struct {
	domain
	rng    *rand.Rand
	drawn  values
	floats []string // in order
	total  int
}

// tensor draws a tensor, which is bound to a slot of a resolution if that is not nil.
func (d *drawing) tensor(t graph.Tensor, res *task.Resolution, slot int) {
	if _, ok := d.drawn[t.Name()]; ok {
		return // bound to several slots
	}
	v := make([]float64, shape.Prod(t.Shape()))
	d.drawn[t.Name()] = v
	lo, below := 1, 5 // a divisor, or an exponent
	if res != nil {
		if b, ok := res.Below(slot); ok {
			lo, below = 0, b
		}
	}
	switch {
	case t.Type().IsFloat():
		d.floats = append(d.floats, t.Name())
		d.total += len(v)
	case t.Type() == dtype.Bool:
		for i := range v {
			v[i] = float64(d.rng.IntN(2))
		}
	case below > lo:
		for i := range v {
			v[i] = float64(lo + d.rng.IntN(below-lo))
		}
	}
}

func (d *drawing) values() values {
	order := d.rng.Perm(d.total)
	for _, name := range d.floats {
		v := d.drawn[name]
		for i := range v {
			x := d.lo + (d.hi-d.lo)*(float64(order[i])+0.41)/float64(d.total)
			if d.signed && d.rng.IntN(2) == 0 {
				x = -x
			}
			v[i] = float64(float32(x))
		}
		order = order[len(v):]
	}
	return d.drawn
}
