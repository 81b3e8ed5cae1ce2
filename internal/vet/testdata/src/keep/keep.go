package keep

import (
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/tensor"
)

// Forward stands for the struct of a task's arguments.
type Forward struct {
	Input  tensor.RO[float32]
	Bias   tensor.Opt[tensor.RO[float32]]
	Output tensor.WO[float32]
	State  *state
}

type state struct {
	last   tensor.RO[float32]
	views  []tensor.RO[float32]
	args   *Forward
	later  func()
	steps  int
	mode   tensor.Mode
	values chan tensor.RO[float32]
}

var (
	last  tensor.RO[float32]
	byKey = map[string]*Forward{}
	later func()
	count int
)

type Kernel struct{ seen *state }

func view(a *Forward) tensor.RO[float32] { return a.Input }

func both(a *Forward) (tensor.RO[float32], int) { return a.Input, 0 }

// Forward keeps what it should not.
func (k *Kernel) Forward(ctx *op.Ctx, a *Forward) error {
	last = a.Input                                 // want `a.Input, tensor.RO\[float32\], is kept in the package variable last beyond the task, when its memory may be another tensor's`
	last = view(a)                                 // want `view\(a\), tensor.RO\[float32\], is kept in the package variable last`
	last, count = both(a)                          // want `last, tensor.RO\[float32\], is kept in the package variable last`
	byKey["a"] = a                                 // want `a, \*keep.Forward, is kept in the package variable byKey`
	a.State.last = a.Input                         // want `a.Input, .* is kept in a.State.last, to which its caller has access`
	k.seen.args = a                                // want `a, \*keep.Forward, is kept in k.seen.args`
	a.State.views = append(a.State.views, a.Input) // want `a.Input, .* is kept in a.State.views`
	k.seen.later = func() { a.Output.Set(0, 1) }   // want `a, \*keep.Forward, is kept in k.seen.later`
	a.State.values <- a.Input                      // want `a.Input, .* is sent to a channel beyond the task`
	go func() { a.Output.Set(0, a.Input.At(0)) }() // want `a, \*keep.Forward, is given to a goroutine`
	go use(a.Input)                                // want `a.Input, .* is given to a goroutine`
	go a.Output.Set(0, 1)                          // want `a.Output.Set, tensor.WO\[float32\], is given to a goroutine`
	return nil
}

// Backward keeps nothing beyond itself.
func (k *Kernel) Backward(ctx *op.Ctx, a *Forward) error {
	x := a.Input
	local := state{last: x}
	local.last = a.Input
	local.args = a
	views := map[int]tensor.RO[float32]{}
	views[0] = x
	own := &state{}
	own.last = x
	f := func() float32 { return x.At(0) }
	a.State.steps = int(f())
	a.State.mode = 1
	later = func() { count++ }
	go func() { count++ }()
	use(local.last)
	return nil
}

func use(v tensor.RO[float32]) {}
