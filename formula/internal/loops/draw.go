package loops

import (
	"sync"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/internal/base/simd/approx"
)

// drawing is memory for drawing random numbers.
type drawing struct {
	drawer    simd.Drawer
	high, low []uint64  // random words
	numbers   []float64 // numbers that are made of them
	code      *normalLoop
	arguments jit.Arguments
}

// normalLoop is a compiled loop that makes numbers of the normal distribution of words.
type normalLoop struct {
	*jit.Code
	high, low, numbers int // pointers
}

// normalCode returns the loop, or nil where package simd does as well: the registers of AVX2 hold the values
// of one vector, and the compiler keeps those of more in memory.
var normalCode = sync.OnceValue(func() *normalLoop {
	if simd.Vector() != 32 || !jit.Available() {
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

// newDrawing returns memory for drawing as many numbers as a strip has.
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

// draw returns n random numbers at consecutive positions: those of a normal distribution, or of a uniform
// one, as package rng draws them.
func (d *drawing) draw(n int, seed, stream, index uint64, normal bool) []float64 {
	all := (n + 7) &^ 7 // words are drawn in groups
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
