package changed

import (
	"slices"

	"scale"

	"github.com/opgen/opgen/runtime/op"
)

func run(ctx *op.Ctx, a *scale.Forward) {
	ctx.Worker++          // want `ctx.Worker is changed`
	a.Attrs.Factor = 2    // want `a.Attrs.Factor is changed`
	slices.Sort(a.Dims.A) // want `a.Dims.A is changed`
	d := a.Dims
	d.A[0] = 1    // want `d.A\[0\] is changed`
	set(a.Dims.A) // want `a.Dims.A is changed`
	read(a.Dims.A)
	copied := slices.Clone(a.Dims.A)
	copied[0] = 1
	own := *a
	own.Attrs.Factor = 3
}

func set(list []int) { list[0] = 1 }

func read(list []int) int { return list[0] }
