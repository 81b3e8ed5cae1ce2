package kernels

import (
	"github.com/opgen/opgen/generated/reducearg"
	"github.com/opgen/opgen/kernels/internal/index"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
)

// ReduceArg is the kernel of reduce_arg.
type ReduceArg[T dtype.Float | dtype.Index] struct{}

// Forward finds the extrema of groups.
func (ReduceArg[T]) Forward(_ *op.Ctx, a *reducearg.Forward[T], r op.Range) error {
	g := index.NewGroups(a.Dims.X, a.Dims.AXES, r.Lo)
	for i := r.Lo; i < r.Hi; i++ {
		var best T
		at := -1
		for p, k := range g.All() {
			x := a.Input.At(k)
			beats := x > best
			if a.Attrs.OpType == reducearg.OpTypeReduceArgmin {
				beats = x < best
			}
			if at < 0 || beats || x != x && best == best {
				best, at = x, p
			}
		}
		a.Output.Set(i, int64(at))
		g.Next()
	}
	return nil
}
