package loops

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// withoutRowLoops makes code compute rows one by one. It returns how many loops over rows there were.
func withoutRowLoops(c *code[float32]) (n int) {
	drop := func(r **rowLoop[float32]) {
		if *r != nil {
			n++
		}
		*r = nil
	}
	for _, g := range c.groups {
		g.rows = nil
		for _, u := range g.units {
			switch u := u.(type) {
			case *pointwise[float32]:
				drop(&u.rows)
			case *rows[float32]:
				if u.even != nil {
					n++
				}
				u.even = nil
				drop(&u.among)
				for _, f := range u.sums {
					drop(&f.among)
				}
			case *columns[float32]:
				drop(&u.among)
				for _, f := range u.sums {
					drop(&f.among)
				}
			}
		}
	}
	return n
}

// TestRowLoop computes rows, of which each has a mean, a scale and an index of its own, several in one call
// and one by one. The bits are the same.
func TestRowLoop(t *testing.T) {
	if !jit.Available() || simd.Vector() == 0 {
		t.Log("loops are not compiled here")
		return
	}
	const tensorX, tensorMean, tensorScale, tensorWeight, tensorY = 0, 1, 2, 3, 4
	for _, c := range []struct {
		name    string
		results string         // the indices of the results
		kind    reduction.Kind // the reduction over the other indices, or 0
		body    func(x, mean, scale, weight *term.Term) *term.Term
		inPlace bool
		wide    bool // whether results are float64
	}{
		{name: "values", results: "ark", body: func(x, mean, scale, weight *term.Term) *term.Term {
			return term.Sum(timesOf(term.Difference(x, mean), scale), weight)
		}},
		{name: "in place", results: "ark", inPlace: true, body: func(x, mean, scale, weight *term.Term) *term.Term {
			return timesOf(term.Difference(x, mean), timesOf(scale, weight))
		}},
		{name: "numbers", results: "ark", body: func(x, mean, scale, _ *term.Term) *term.Term {
			return term.Sum(timesOf(x, timesOf(mean, scale)), scale)
		}},
		{name: "composed numbers", results: "ark", body: func(x, mean, scale, _ *term.Term) *term.Term {
			square := &term.Term{Op: term.Power, Kind: term.Real, Args: []*term.Term{scale, term.RealNumber(2)}}
			root := &term.Term{Op: term.Apply, Kind: term.Real, Func: term.Functions["sqrt"], Args: []*term.Term{term.Sum(square, term.RealNumber(1))}}
			opposite := &term.Term{Op: term.Negate, Kind: term.Real, Args: []*term.Term{term.Difference(root, mean)}}
			quotient := &term.Term{Op: term.Divide, Kind: term.Real, Args: []*term.Term{opposite, term.RealNumber(3)}}
			return timesOf(term.Sum(timesOf(x, quotient), scale), term.Difference(timesOf(mean, scale), quotient))
		}},
		{name: "powers", results: "ark", body: func(x, mean, scale, _ *term.Term) *term.Term { // a row at a time
			return timesOf(x, &term.Term{Op: term.Power, Kind: term.Real, Args: []*term.Term{term.Sum(timesOf(mean, mean), timesOf(scale, scale)), term.RealNumber(1.5)}})
		}},
		{name: "numbers of other rows", results: "ark", body: func(x, mean, scale, _ *term.Term) *term.Term {
			at := func(of *term.Term, factor, rows int, other *term.Term) *term.Term {
				read := *of.Read
				read.Idx = []*term.Term{read.Idx[0], term.Sum(term.Product(term.Number(factor), read.Idx[1]), term.Number(rows))}
				read.Else = other
				return elementOf(&read)
			}
			row := scale.Read.Idx[1]
			return term.Sum(timesOf(x, timesOf(at(scale, 1, -1, mean), at(scale, 1, 2, term.Number(3)))), timesOf(at(mean, -1, 4, term.Sum(row, term.Number(1))), row))
		}},
		{name: "means of rows", results: "ar", kind: reduction.Mean, wide: true, body: func(x, _, _, _ *term.Term) *term.Term { return x }},
		{name: "greatest elements of rows", results: "ar", kind: reduction.Max, wide: true, body: func(x, _, _, _ *term.Term) *term.Term { return x }},
		{name: "means with weights", results: "ar", kind: reduction.Mean, wide: true, body: func(x, _, _, weight *term.Term) *term.Term {
			return timesOf(x, weight)
		}},
		{name: "sums of rows", results: "ar", kind: reduction.Sum, body: func(x, _, _, weight *term.Term) *term.Term {
			return timesOf(x, weight)
		}},
		{name: "sums of rows with numbers", results: "ar", kind: reduction.Sum, body: func(x, mean, scale, _ *term.Term) *term.Term {
			return timesOf(term.Difference(x, mean), timesOf(x, scale))
		}},
		{name: "sums of matrices", results: "a", kind: reduction.Sum, body: func(x, mean, _, weight *term.Term) *term.Term {
			return timesOf(term.Difference(x, mean), weight)
		}},
		{name: "sums of columns", results: "k", kind: reduction.Sum, body: func(x, mean, scale, _ *term.Term) *term.Term {
			return timesOf(term.Difference(x, mean), scale)
		}},
		{name: "columns of each matrix", results: "ak", kind: reduction.Sum, body: func(x, mean, scale, weight *term.Term) *term.Term {
			return timesOf(term.Difference(x, mean), timesOf(weight, scale))
		}},
	} {
		for _, shape := range [][3]int{{1, 5, 64}, {3, 7, 33}, {2, 130, 100}, {2, jit.MostRows + 1, 256}, {1, 300, 1024}} {
			a, r, k := index("a", shape[0]), index("r", shape[1]), index("k", shape[2])
			of := map[byte]*term.Variable{'a': a, 'r': r, 'k': k}
			local := func(name, indices string) *program.Local {
				var extents []int
				for _, i := range []byte(indices) {
					extents = append(extents, rewrite.Extent(of[i]))
				}
				return reals(name, extents...)
			}
			p := &program.Program{Tensors: []*program.Local{local("x", "ark"), local("m", "ar"), local("d", "ar"), local("w", "k"), local("y", c.results)}}
			read := func(tensor int, indices string) *term.Term {
				var idx []*term.Term
				for _, i := range []byte(indices) {
					idx = append(idx, of[i].Term())
				}
				return elementOf(readOf(p, tensor, idx...))
			}
			value := c.body(read(tensorX, "ark"), read(tensorMean, "ar"), read(tensorScale, "ar"), read(tensorWeight, "k"))
			s := &program.Statement{Target: tensorY, Left: read(tensorY, c.results).Read, Value: value}
			var over []*term.Variable
			for _, i := range []byte("ark") {
				if slices.Contains([]byte(c.results), i) {
					s.Vars = append(s.Vars, of[i])
				} else {
					over = append(over, of[i])
				}
			}
			if c.kind != 0 {
				s.Value = reduce(c.kind, value, over...)
			}
			to := 4
			if c.inPlace {
				to = 0
			}
			result, bytesOf := dtype.F32, 4
			if c.wide {
				result, bytesOf = dtype.F64, 8
			}
			fresh := func() [][]byte {
				size := shape[0] * shape[1]
				out := [][]byte{make([]byte, 4*size*shape[2]), make([]byte, 8*size), make([]byte, 4*size), make([]byte, 4*shape[2]), nil}
				if !c.inPlace {
					out[4] = make([]byte, bytesOf*size*shape[2])
				}
				for _, m := range []int{0, 2, 3} {
					for i, x := 0, as[float32](out[m]); i < len(x); i++ {
						x[i] = float32(math.Sin(float64(i)*1.7+float64(m))) * float32(1+i%5)
					}
				}
				for i, x := 0, as[float64](out[1]); i < len(x); i++ {
					x[i] = math.Cos(float64(i) * 1.3)
				}
				return out
			}
			t.Run(fmt.Sprint(c.name, shape), func(t *testing.T) {
				made, err := Compile(p, []*program.Statement{s}, []rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F64, Memory: 1}, {Type: dtype.F32, Memory: 2},
					{Type: dtype.F32, Memory: 3}, {Type: result, Memory: to}}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				out := made.(*code[float32])
				run := func(parts int) [][]byte {
					memory := fresh()
					bound := out.Bind(memory)
					for g := range out.Groups() {
						for i := range parts {
							if err := bound.Run(g, g+1, Time{}, i, i+1, parts); err != nil {
								t.Fatal(err)
							}
						}
					}
					return memory
				}
				var several [][]byte
				for _, parts := range []int{1, 3} {
					several = append(several, run(parts)[to])
				}
				if n := withoutRowLoops(out); n == 0 && shape[2] > longestShort {
					t.Error("no loop goes over rows")
				}
				want := run(1)[to]
				for i, got := range several {
					if !bytes.Equal(got, want) {
						t.Errorf("%d parts: got %v, want %v", 1+2*i, as[float32](got), as[float32](want))
					}
				}
				zero := 0
				for i := range len(want) / bytesOf {
					v := 0.0
					if v = float64(as[float32](want)[i]); c.wide {
						v = as[float64](want)[i]
					}
					if v != v {
						t.Fatalf("result %d is %v", i, v)
					} else if v == 0 {
						zero++
					}
				}
				if zero == len(want)/bytesOf {
					t.Error("all results are 0")
				}
			})
		}
	}
}
