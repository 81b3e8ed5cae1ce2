package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// constant returns the elements of a constant tensor that statement s defines. It runs the code for s, so
// that the bits are those of the value that the tensor replaces: a gradient may compare both.
func constant[T simd.Float](p *program.Program, tensors []rewrite.Tensor, o Options, s *rewrite.Statement) block[T] {
	own := &compiler[T]{p: p, options: o, own: dtype.Of[T](), tensors: tensors, places: map[*term.Variable]int{}, kept: map[int]bool{}}
	u := (&unitCompiler[T]{compiler: own, bundle: own.newBundle(s), factor: 1}).compile()
	r := &runner[T]{code: &code[T]{compiler: own}, mem: make([]block[T], len(tensors))}
	out := make([]T, rewrite.Box(s.Vars))
	r.mem[s.Target] = sameBlock(out)
	u.run(r.newState(), 0, 1)
	return r.mem[s.Target]
}
