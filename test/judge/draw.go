package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/opgen/opgen/internal/randomformula"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// elements holds the elements of a tensor: real numbers, or integers by their bits and booleans.
type elements struct {
	real  []float64
	whole []int64
}

// drawn are the inputs of a use and the gradients of its outputs, by the names of tensors.
type drawn struct {
	inputs map[string]elements
	seeds  map[string][]float64
}

// tensorName names a tensor of a slot: the first one as the slot.
func tensorName(slot string, tensor int) string {
	if tensor == 0 {
		return slot
	}
	return fmt.Sprintf("%s.%d", slot, tensor)
}

// draw draws the elements of all inputs, and the gradients of outputs.
func draw(c *randomformula.Case) drawn {
	r := rand.New(rand.NewPCG(c.Values, 1))
	d := drawn{map[string]elements{}, map[string][]float64{}}
	for _, s := range c.Inputs {
		for i, dims := range c.Tensors(s) {
			d.inputs[tensorName(s.Name, i)] = drawTensor(c, s, dims, r)
		}
	}
	for _, s := range c.Outputs {
		if !c.HasGradient(s) || !c.Has(s) {
			continue
		}
		for i, dims := range c.Tensors(s) {
			list := make([]float64, shape.Prod(dims))
			for i := range list {
				list[i] = float64(1+r.IntN(8)) / 4 * float64(1-2*r.IntN(2))
			}
			d.seeds[tensorName(s.Name, i)] = list
		}
	}
	return d
}

// drawTensor draws the elements of one tensor of an input.
func drawTensor(c *randomformula.Case, s randomformula.Slot, dims []int, r *rand.Rand) (e elements) {
	t := typeOf(c, s)
	if t.IsFloat() && c.Numbers != "" && (s.Name == "x" || s.Name == "u") {
		return elements{real: numbers(c, t, dims, r)}
	}
	edges := c.Numbers == "bounds" || r.IntN(6) == 0
	for range shape.Prod(dims) {
		switch {
		case t.IsFloat() && c.Few:
			e.real = append(e.real, []float64{-1, -0.5, 0, 0.25, 0.5, 1}[r.IntN(6)])
		case t.IsFloat():
			v := 0.1 + 1.3*r.Float64()
			if r.IntN(3) == 0 {
				v = -v
			}
			e.real = append(e.real, rounded(t, v))
		case t == dtype.Bool:
			e.whole = append(e.whole, int64(r.IntN(2)))
		case s.Except != "" && r.IntN(3) == 0:
			e.whole = append(e.whole, exceptionOf(s))
		case s.Below != "":
			e.whole = append(e.whole, int64(r.IntN(max(c.Extents([]string{s.Below})[0], 1))))
		case (c.Text != "" || c.Numbers == "bits") && unsigned(t):
			e.whole = append(e.whole, int64(r.Uint64()>>(64-8*t.Size()))|1)
		case edges && r.IntN(3) == 0:
			e.whole = append(e.whole, edge(t, r))
		case unsigned(t):
			e.whole = append(e.whole, int64(r.IntN(6)))
		default:
			e.whole = append(e.whole, int64(r.IntN(9)-3))
		}
	}
	return e
}

// rounded returns a number that the type represents, and f32.
func rounded(t dtype.Type, v float64) float64 {
	b := make([]byte, t.Size())
	t.PutFloat64(b, float64(float32(v)))
	return t.Float64(b)
}

// exceptionOf returns the integer that may lie outside of the bound of a slot.
func exceptionOf(s randomformula.Slot) int64 {
	v, err := strconv.ParseInt(s.Except, 10, 64)
	if err != nil {
		panic(err) // the writer writes a number
	}
	return v
}

// edge returns an integer at one of the bounds of its type.
func edge(t dtype.Type, r *rand.Rand) int64 {
	bits := 8 * t.Size()
	if unsigned(t) {
		return int64(^uint64(0)>>(64-bits)) - int64(r.IntN(2))
	}
	if r.IntN(2) == 0 {
		return -1 << (bits - 1)
	}
	return 1<<(bits-1) - 1
}

func unsigned(t dtype.Type) bool {
	return t == dtype.U8 || t == dtype.U16 || t == dtype.U32 || t == dtype.U64
}

// numbers draws real numbers as the case says.
func numbers(c *randomformula.Case, t dtype.Type, dims []int, r *rand.Rand) []float64 {
	n, row := shape.Prod(dims), 1
	if len(dims) > 1 {
		row = dims[len(dims)-1]
	}
	most, tiny := 37, 1e-40 // powers of 10 that the type has, and a number that is less than the least normal one
	if t == dtype.F64 {
		most, tiny = 300, 1e-310
	}
	common := rand.New(rand.NewPCG(c.Values, 3)) // of all inputs of the case
	far := math.Pow(10, float64((1-2*common.IntN(2))*(most/2+common.IntN(most/6))))
	out := make([]float64, n)
	around := func() float64 { return (0.1 + 1.3*r.Float64()) * float64(1-2*r.IntN(2)) }
	var size, equal float64
	zero := false
	for i := range out {
		if i%row == 0 {
			size, equal, zero = math.Pow(10, float64(r.IntN(most+3)-3)), around(), r.IntN(3) == 0
		}
		v := around()
		switch c.Numbers {
		case "zeros":
			if zero || r.IntN(4) == 0 {
				v = 0
			}
		case "equal":
			if v = equal; c.Values%5 == 0 {
				v *= 1000
			}
		case "great":
			if v *= size; r.IntN(6) == 0 {
				v = -math.Pow(10, float64(most)) // what masks an element
			}
		case "small":
			v *= math.Pow(10, -float64(r.IntN(most)))
		case "far":
			v *= far
		case "tiny":
			v *= tiny
		case "shares":
			switch v = r.Float64(); r.IntN(6) {
			case 0, 1:
				v = 0
			case 2:
				v = 1
			}
		case "special":
			if r.IntN(3) == 0 {
				v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1}[r.IntN(7)]
			}
		}
		if t != dtype.F64 || c.Numbers == "equal" {
			v = rounded(t, v)
		}
		out[i] = v
	}
	return out
}
