package loops

import (
	"sync"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/internal/base/simd/approx"
)

// drawing holds a random generator and its buffers.
type drawing struct {
	drawer    simd.Drawer
	high, low []uint64  // random 64-bit words
	numbers   []float64 // the random numbers that are computed from the words
	code      *normalLoop
	arguments jit.Arguments
}

// normalLoop is a fused loop that transforms random words to normally distributed numbers.
type normalLoop struct {
	*jit.Code
	high, low, numbers int // pointers
}

// normalCode returns the loop, or nil if package simd is as fast, as with AVX-512. With AVX2, 16 registers
// hold the values of one vector, while the assembly of package simd spills values. For NEON, package simd
// computes one number at a time.
var normalCode = sync.OnceValue(func() *normalLoop {
	if v := simd.Vector(); v == 0 || v == 64 || !jit.Available() {
		return nil
	}
	b := jit.NewBuilder(true, false)
	m := &vectors{Machine: b, Constants: &approx.Double, Double: true}
	l := &normalLoop{high: b.Pointer(), low: b.Pointer(), numbers: b.Pointer()}
	b.Store(l.numbers, m.Normal(m.Whole(b.Input(l.high)), m.Whole(b.Input(l.low))), false)
	if l.Code = b.Compile(); l.Code == nil {
		return nil
	}
	return l
})

// newDrawing allocates buffers for one strip.
func newDrawing() *drawing {
	d := &drawing{high: make([]uint64, stripLength), low: make([]uint64, stripLength), numbers: make([]float64, stripLength), code: normalCode()}
	if d.code != nil {
		d.arguments = d.code.Arguments()
		d.arguments.SetPointer(d.code.high, unsafe.Pointer(unsafe.SliceData(d.high)))
		d.arguments.SetPointer(d.code.low, unsafe.Pointer(unsafe.SliceData(d.low)))
		d.arguments.SetPointer(d.code.numbers, unsafe.Pointer(unsafe.SliceData(d.numbers)))
	}
	return d
}

// draw returns n random numbers at consecutive counters, normal or uniform, as package rng defines them.
func (d *drawing) draw(n int, seed, stream, index uint64, normal bool) []float64 {
	all := (n + 7) &^ 7 // words are drawn in groups of eight
	d.drawer.Draw(d.high[:all], d.low[:all], seed, stream, index)
	switch {
	case !normal:
		simd.Units(d.numbers[:n], d.high[:n])
	case d.code != nil:
		d.code.Run(d.arguments, n, 1, false)
	default:
		simd.Normals(d.numbers[:all], d.high[:all], d.low[:all])
	}
	return d.numbers[:n]
}

// drawn compiles random numbers at counters with a constant stride, and returns their register.
func (z *vectorizer[T]) drawn(n *term.Term) int {
	f := rewrite.Linear(n.Args[2])
	if n.Args[0].Uses(z.v) || n.Args[1].Uses(z.v) || n.Args[2].Kind != term.Integer || f.Hidden(z.v) {
		return z.lanes(n)
	}
	o := &draw[T]{of: n, seed: z.c.integer(n.Args[0]), stream: z.c.integer(n.Args[1]), counters: z.count(f, z.c.value(f))}
	if o.counters.step == 1 {
		z.c.words, z.heavy = true, true
	}
	return z.other(o, z.register(false))
}

// draw computes random numbers of a distribution.
type draw[T simd.Float] struct {
	of           *term.Term
	seed, stream func(*state[T]) int
	counters     *address[T]
}

func (o *draw[T]) exec(s *state[T], in *instruction[T], n int) {
	z, normal := s.regs[in.def][:n], o.of.Func == term.Normal
	seed, stream, at := o.seed(s), o.stream(s), o.counters.at(s)
	if o.counters.step == 1 {
		narrowed(z, s.drawing.draw(n, uint64(seed), uint64(stream), uint64(at), normal))
		return
	}
	for i := range z {
		z[i] = T(o.of.Func.Draw(seed, stream, at))
		at += o.counters.step
	}
}

func (o *draw[T]) text(_ *lister[T], _ []string) string {
	if o.counters.step == 1 {
		return o.of.String()
	}
	return o.of.String() + ", one by one"
}
