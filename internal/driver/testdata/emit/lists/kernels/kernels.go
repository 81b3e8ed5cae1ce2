// Package kernels holds the kernels of operators on lists of tensors.
package kernels

import (
	"fmt"

	"example.com/lists/generated/pick"
	"example.com/lists/generated/stack"
	"example.com/lists/generated/weigh"
	"example.com/lists/shapes"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// Weigh is the kernel of weigh.
type Weigh[T dtype.Float] struct{}

// Forward multiplies.
func (Weigh[T]) Forward(_ *op.Ctx, a *weigh.Forward[T], r op.Range) error {
	for k := r.Lo; k < r.Hi; k++ {
		var total T
		for i := range a.Input[k].Len() {
			p := a.Input[k].At(i) * a.Factor[k].At(i)
			a.Product[k].Set(i, p)
			total += p
		}
		a.Total.Set(k, total)
	}
	return nil
}

// Backward treats weights that are not given as ones.
func (Weigh[T]) Backward(_ *op.Ctx, a *weigh.Backward[T], r op.Range) error {
	for k := r.Lo; k < r.Hi; k++ {
		for i := range a.Input[k].Len() {
			g := a.GradProduct[k].At(i) + a.GradTotal.At(k)
			if a.Factor == nil {
				a.GradInput[k].Put(i, g)
				continue
			}
			a.GradInput[k].Put(i, g*a.Factor[k].At(i))
			if a.GradFactor[k].Wanted() {
				a.GradFactor[k].Add(i, g*a.Input[k].At(i))
			}
		}
	}
	return nil
}

// Stack is the kernel of stack.
type Stack struct{}

// Forward copies lanes, each scaled by the first number of its matrix's scale, if there is one.
func (Stack) Forward(_ *op.Ctx, a *stack.Forward, _ op.Range) error {
	lanes := len(a.Dims.L)
	for _, out := range a.Output {
		at := 0
		for lane := range a.Input[0].Shape()[0] {
			for k, in := range a.Input {
				for i := range in.Lane(lane).Len() {
					x := in.Lane(lane).At(i)
					if k < len(a.ScaleParts) && a.ScaleParts[k].Extents[0] == a.Scale[k].Len() {
						x *= a.Scale[k].At(0)
					}
					out.Set(at, x+float64(lanes))
					at++
				}
			}
		}
	}
	return nil
}

// Pick is the kernel of pick.
type Pick[T dtype.Float] struct{}

// Forward copies the elements that the numbers pick.
func (Pick[T]) Forward(_ *op.Ctx, a *pick.Forward[T], r op.Range) error {
	p := picking(a.Dims, a.Places)
	for i := r.Lo; i < r.Hi; i++ {
		at, err := p.at(i, func(k, n int) int64 { return a.Indices[k].At(n) })
		if err != nil {
			return err
		}
		a.Output.Set(i, a.Input.At(at))
	}
	return nil
}

// Backward adds the gradients of what was picked.
func (Pick[T]) Backward(_ *op.Ctx, a *pick.Backward[T], _ op.Range) error {
	p := picking(a.Dims, a.Places)
	for i := range a.GradOutput.Len() {
		at, err := p.at(i, func(k, n int) int64 { return a.Indices[k].At(n) })
		if err != nil {
			return err
		}
		a.GradInput.Add(at, a.GradOutput.At(i))
	}
	return nil
}

// picked finds the elements that a task picks.
type picked struct {
	d      pick.Dims
	places []int
	layout shapes.Layout
}

func picking(d pick.Dims, places []int) picked {
	l, _ := shapes.Picking(d.X, d.I, places) // whose error the shape has had
	return picked{d, places, l}
}

// at returns the element of the input that is element i of the output. number returns element n of tensor k
// of the numbers.
func (p picked) at(i int, number func(k, n int) int64) (int, error) {
	index := make([]int, len(p.d.Y))
	for d := len(index) - 1; d >= 0; d-- {
		index[d], i = i%p.d.Y[d], i/p.d.Y[d]
	}
	common := index[p.layout.At : p.layout.At+len(p.layout.Common)]
	rest := append(index[:p.layout.At:p.layout.At], index[p.layout.At+len(common):]...)
	out, k := 0, 0
	for d, extent := range p.d.X {
		at := 0
		if k < len(p.places) && p.places[k] == d {
			n, own := 0, p.d.I[k]
			for e, m := range own {
				n *= m
				if m > 1 {
					n += common[len(common)-len(own)+e]
				}
			}
			at = int(number(k, n))
			if at < 0 || at >= extent {
				return 0, fmt.Errorf("want numbers below %d along dimension %d, got %d", extent, d, at)
			}
			k++
		} else {
			at, rest = rest[0], rest[1:]
		}
		out = out*extent + at
	}
	return out, nil
}
