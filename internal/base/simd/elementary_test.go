package simd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/internal/base/simd/approx"
	vectors "github.com/opgen/opgen/internal/base/simd/elementary"
)

// scalar computes the operations of package elementary on one number each: those that numbers of the normal
// distribution take.
type scalar struct {
	vectors.Machine[float64, bool]
}

func (scalar) Number(v float64) float64       { return v }
func (scalar) Word(bits uint64) float64       { return math.Float64frombits(bits) }
func (scalar) Load(constant float64) float64  { return constant }
func (scalar) Add(a, b float64) float64       { return a + b }
func (scalar) Sub(a, b float64) float64       { return a - b }
func (scalar) Mul(a, b float64) float64       { return a * b }
func (scalar) Div(a, b float64) float64       { return a / b }
func (scalar) Sqrt(a float64) float64         { return math.Sqrt(a) }
func (scalar) MulAdd(a, b, c float64) float64 { return math.FMA(a, b, c) }
func (scalar) And(a, b float64) float64 {
	return ofBits(a, b, func(a, b uint64) uint64 { return a & b })
}
func (scalar) Or(a, b float64) float64 {
	return ofBits(a, b, func(a, b uint64) uint64 { return a | b })
}
func (scalar) AddInt(a, b float64) float64 {
	return ofBits(a, b, func(a, b uint64) uint64 { return a + b })
}
func (scalar) Down(a float64, places uint) float64 {
	return math.Float64frombits(math.Float64bits(a) >> places)
}

func ofBits(a, b float64, f func(a, b uint64) uint64) float64 {
	return math.Float64frombits(f(math.Float64bits(a), math.Float64bits(b)))
}

// TestElementaryNormal compares the operations that make a number of the normal distribution in assembly with
// those of Go.
func TestElementaryNormal(t *testing.T) {
	f := vectors.Functions[float64, bool]{Machine: scalar{}, Constants: &approx.Double, Double: true}
	r := rand.New(rand.NewPCG(13, 14))
	for i := range 2000 {
		x, y := float64(r.Uint64()>>11>>(i%53)), float64(r.Uint64()>>11)
		if i%2 == 0 {
			x = 1<<53 - 1 - x
		}
		if got, want := f.Normal(x, y), boxMuller(x, y); !same(got, want) {
			t.Fatalf("%v and %v: want %v, got %v", x, y, want, got)
		}
	}
}
