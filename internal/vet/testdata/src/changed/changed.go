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

// cleanup frees state: it is the last task that uses it.
func cleanup(ctx *op.Ctx, a *scale.Cleanup[float32]) {
	a.State.Freed = true
	a.State.Tables[0], a.State.Tables = 0, nil
	clear(a.Second)
	s := a.State
	s.Freed = true
	free(a.State)
	a.Dims.A[0] = 1    // want `a.Dims.A\[0\] is changed`
	a.Attrs.Factor = 1 // want `a.Attrs.Factor is changed`
	ctx.Worker = 0     // want `ctx.Worker is changed`
}

// train changes the state that all of its ranges share.
func train(a *scale.Train) {
	a.State.Freed = true // want `a.State.Freed is changed, which other ranges and later runs share`
	s := a.State
	s.Tables[0] = 1 // want `s.Tables\[0\] is changed`
	free(a.State)   // want `a.State is changed`
}

func free(s *scale.State) { s.Freed = true }
