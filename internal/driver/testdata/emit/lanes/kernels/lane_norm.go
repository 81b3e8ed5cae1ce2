package kernels

import (
	"math"

	"example.com/lanes/generated/lanenorm"
	"example.com/lanes/generated/normmode"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// LaneNorm is the kernel of lane_norm.
type LaneNorm[T dtype.Float] struct{}

// ForwardLanes normalizes lanes.
func (LaneNorm[T]) ForwardLanes(ctx *op.Ctx, a *lanenorm.Forward[T], r op.Range) error {
	bias, shifted := a.Bias.Get()
	residual, add := a.Residual.Get()
	unit, wanted := a.Unit.Get()
	for i := r.Lo; i < r.Hi; i++ {
		in, out, own := a.Input.Lane(i), a.Output.Lane(i), a.Copies.Of(ctx.Worker).Lane(i)
		var sum float64
		for k := range in.Len() {
			x := in.At(k)
			if shifted {
				x += bias.At(k)
			}
			own.Set(k, x)
			if a.Attrs.Mode == normmode.L1 {
				sum += math.Abs(float64(x))
			} else {
				sum += float64(x) * float64(x)
			}
		}
		if a.Attrs.Mode != normmode.L1 {
			sum = math.Sqrt(sum)
		}
		length := T(max(sum, a.Attrs.Epsilon))
		a.Length.Set(i, length)
		for k := range in.Len() {
			x := own.At(k) / length
			if wanted {
				unit.Lane(i).Set(k, x)
			}
			x *= a.Gain.At(k)
			if add {
				x += residual.Lane(i).At(k)
			}
			out.Set(k, x)
		}
	}
	return nil
}

// ForwardPenalty sums up the gains.
func (LaneNorm[T]) ForwardPenalty(_ *op.Ctx, a *lanenorm.Forward[T], _ op.Range) error {
	penalty, _ := a.Attrs.Penalty.Get()
	var sum float64
	for k := range a.Gain.Len() {
		g := float64(a.Gain.At(k))
		if penalty.Kind == lanenorm.PenaltyKindSquare {
			g *= g
		}
		sum += penalty.Rate * math.Abs(g)
	}
	if term, ok := a.PenaltyTerm.Get(); ok {
		term.Set(0, T(sum))
	}
	return nil
}

// BackwardInput passes gradients on as if lengths were constant.
func (LaneNorm[T]) BackwardInput(_ *op.Ctx, a *lanenorm.Backward[T], r op.Range) error {
	for i := r.Lo; i < r.Hi; i++ {
		out := a.GradOutput.Lane(i)
		for k := range out.Len() {
			a.GradInput.Lane(i).Put(k, out.At(k)*a.Gain.At(k)/a.Length.At(i))
			if a.GradResidual.Wanted() {
				a.GradResidual.Lane(i).Put(k, out.At(k))
			}
		}
	}
	return nil
}

// BackwardGain sums the gradient of gain, and drops that of bias.
func (LaneNorm[T]) BackwardGain(_ *op.Ctx, a *lanenorm.Backward[T], r op.Range) error {
	for k := r.Lo; k < r.Hi; k++ {
		var sum T
		for i := range a.Length.Len() {
			sum += a.GradOutput.Lane(i).At(k) * a.Input.Lane(i).At(k) / a.Length.At(i)
		}
		a.GradGain.Put(k, sum)
		if a.GradBias.Wanted() {
			a.GradBias.Put(k, 0)
		}
	}
	return nil
}
