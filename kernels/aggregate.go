package kernels

import (
	"github.com/opgen/opgen/generated/aggregate"
	"github.com/opgen/opgen/kernels/internal/routing"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/vec"
)

// Aggregate is the kernel of aggregate.
type Aggregate[T dtype.Float, L dtype.Index] struct{}

// ForwardPlace finds the rows of assignments, counts those of each expert, and computes the loss for an
// uneven balance.
func (Aggregate[T, L]) ForwardPlace(_ *op.Ctx, a *aggregate.Forward[T, L], _ op.Range) error {
	n := a.Attrs.N
	err := routing.Place("gate_assign", a.GateAssign, n, a.Dims.P, func(i, _, row int) { a.Place.Set(i, int32(row)) })
	if err != nil {
		return err
	}
	slot, counted := "gate_assign", a.GateAssign
	if other, ok := a.TrueGateAssign.Get(); ok {
		slot, counted = "true_gate_assign", other
	}
	vec.Fill(a.Load.Span(0, n).WO(), 0)
	err = routing.Place(slot, counted, n, 0, func(_, expert, _ int) { a.Load.Set(expert, a.Load.At(expert)+1) })
	if err != nil {
		return err
	}
	if balance, ok := a.Balance.Get(); ok {
		full, _ := a.FullGatePreds.Get()
		var sum float64
		for i := range full.Len() {
			sum += float64(float64(full.At(i)) * float64(a.Load.At(i%n)))
		}
		balance.Set(0, T(a.Attrs.LambdaBal*sum))
	}
	return nil
}

// ForwardRows computes rows of the output.
func (Aggregate[T, L]) ForwardRows(_ *op.Ctx, a *aggregate.Forward[T, L], r op.Range) error {
	size, k := a.Width, a.Dims.K
	m := newMixture(a.ExpPred, a.GateAssign, a.Place.RO(), size)
	gate := func(i int) float64 { return float64(a.GatePreds.At(i)) }
	for b := r.Lo; b < r.Hi; b++ {
		m.sum(b*k, k, gate, setAll(a.Output.Span(b*size, (b+1)*size)))
	}
	return nil
}

// BackwardGates computes rows of the gradients of gates.
func (Aggregate[T, L]) BackwardGates(_ *op.Ctx, a *aggregate.Backward[T, L], r op.Range) error {
	size, k, n := a.Width, a.Dims.K, a.Attrs.N
	for i := r.Lo * k; i < r.Hi*k; i++ {
		var g T
		if row, ok := routing.Row(a.ExpPred, a.GateAssign, a.Place, i, size); ok {
			b := i / k
			g = vec.Dot(row, a.GradOutput.Span(b*size, (b+1)*size))
		}
		a.GradGatePreds.Put(i, g)
	}
	if !a.GradFullGatePreds.Wanted() {
		return nil
	}
	var scale float64
	if g, ok := a.GradBalance.Get(); ok {
		scale = a.Attrs.LambdaBal * float64(g.At(0))
	}
	for i := r.Lo * n; i < r.Hi*n; i++ {
		a.GradFullGatePreds.Put(i, T(scale*float64(a.Load.At(i%n))))
	}
	return nil
}

// BackwardExperts computes the gradients of the rows of experts.
func (Aggregate[T, L]) BackwardExperts(_ *op.Ctx, a *aggregate.Backward[T, L], r op.Range) error {
	size := a.Width
	for e := r.Lo; e < r.Hi; e++ {
		routing.Rows(a.GateAssign, a.Place, e, a.Dims.P, func(row, i int) {
			var gate T
			b := 0
			if i != routing.Dropped {
				gate, b = a.GatePreds.At(i), i/a.Dims.K
			}
			putScaled(a.GradExpPred[e].Span(row*size, (row+1)*size), a.GradOutput, b*size, i != routing.Dropped, gate)
		})
	}
	return nil
}
