package loops

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// sumCase is a reduction of a tensor of float32.
type sumCase struct {
	kind    reduction.Kind
	shape   []int // of the tensor
	results []int // the extents of the results
	reduced []int // the extents of the indices that are reduced
	at      func(of, over []*term.Term) []*term.Term
	square  bool // whether squares of elements are reduced
}

// compile compiles the reduction, and returns the code, its memory and the number of results.
func (c *sumCase) compile(t *testing.T) (out *code[float32], memory [][]byte, n int) {
	t.Helper()
	p := &program.Program{Tensors: []*program.Local{reals("x", c.shape...), reals("y", c.results...)}}
	vars := func(extents []int) (vars []*term.Variable, terms []*term.Term) {
		for i, d := range extents {
			v := index(fmt.Sprint("i", i), d)
			vars, terms = append(vars, v), append(terms, v.Term())
		}
		return vars, terms
	}
	of, ofTerms := vars(c.results)
	over, overTerms := vars(c.reduced)
	body := elementOf(readOf(p, 0, c.at(ofTerms, overTerms)...))
	if c.square {
		body = timesOf(body, body)
	}
	made, err := Compile(p, []*program.Statement{{Target: 1, Left: readOf(p, 1, ofTerms...), Vars: of, Value: reduce(c.kind, body, over...)}},
		[]rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	size := func(shape []int) int {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return n
	}
	n = size(c.results)
	memory = [][]byte{make([]byte, 4*size(c.shape)), make([]byte, 4*n)}
	for i, x := 0, as[float32](memory[0]); i < len(x); i++ {
		x[i] = float32(math.Sin(float64(i)*1.7)) * float32(1+i%5)
	}
	return made.(*code[float32]), memory, n
}

// lanesSum is the sum of at most a strip of elements in the order that package simd gives.
func lanesSum(x []float32) float64 {
	var lanes [64]float32
	for i, v := range x {
		lanes[i%64] += v
	}
	for n := 32; n > 0; n /= 2 {
		for i := range n {
			lanes[i] += lanes[i+n]
		}
	}
	return float64(lanes[0])
}

// stripsSum is the sum of a row in strips.
func stripsSum(x []float32) (sum float64) {
	for part := range slices.Chunk(x, stripLength) {
		sum += lanesSum(part)
	}
	return sum
}

// check runs the code in parts, and compares the results bit by bit.
func check(t *testing.T, c Code, memory [][]byte, want []float32) {
	t.Helper()
	y := as[float32](memory[1])
	for _, parts := range []int{1, 2, 7} {
		clear(y)
		r := c.Bind(memory)
		for g := range c.Groups() {
			for i := range parts {
				if err := r.Run(g, g+1, Time{}, i, i+1, parts); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, got := range y {
			if math.Float32bits(got) != math.Float32bits(want[i]) {
				t.Fatalf("%d parts, result %d: want %v, got %v", parts, i, want[i], got)
			}
		}
	}
}

// TestRows reduces rows of even and of other lengths, which lie next to one another or apart, in either
// direction.
func TestRows(t *testing.T) {
	const rows = 37
	for _, kind := range []reduction.Kind{reduction.Sum, reduction.Mean, reduction.Max, reduction.Min} {
		for _, n := range []int{1, 63, 64, 65, 128, 192, 1024, 1025, 1088, 2048, 2112} {
			for _, name := range []string{"forward", "backward", "part"} {
				c := sumCase{kind: kind, shape: []int{rows, n}, results: []int{rows}, reduced: []int{n}, at: func(of, over []*term.Term) []*term.Term {
					return []*term.Term{of[0], over[0]}
				}}
				row := func(i int) (from int) { return i * n }
				switch name {
				case "backward":
					c.at = func(of, over []*term.Term) []*term.Term {
						return []*term.Term{term.Difference(term.Number(rows-1), of[0]), over[0]}
					}
					row = func(i int) int { return (rows - 1 - i) * n }
				case "part":
					c.shape[1] += 3
					c.at = func(of, over []*term.Term) []*term.Term {
						return []*term.Term{of[0], term.Sum(over[0], term.Number(2))}
					}
					row = func(i int) int { return i*(n+3) + 2 }
				}
				t.Run(fmt.Sprint(kind, n, name), func(t *testing.T) {
					out, memory, _ := c.compile(t)
					x, want := as[float32](memory[0]), make([]float32, rows)
					for i := range want {
						part := x[row(i):][:n]
						switch kind {
						case reduction.Sum:
							want[i] = float32(stripsSum(part))
						case reduction.Mean:
							want[i] = float32(stripsSum(part) / float64(n))
						case reduction.Max:
							want[i] = slices.Max(part)
						case reduction.Min:
							want[i] = slices.Min(part)
						}
					}
					check(t, out, memory, want)
				})
			}
		}
	}
}

// TestWindows sums windows of several rows and columns, element by element and with many terms.
func TestWindows(t *testing.T) {
	for _, c := range []struct{ rows, cols, high, wide int }{{3, 70, 2, 2}, {5, 64, 3, 3}, {2, 1100, 1, 2}, {4, 66, 5, 1}, {2, 70, 9, 8}, {1, 65, 16, 16}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := sumCase{kind: reduction.Sum, shape: []int{c.rows * c.high, c.cols * c.wide}, results: []int{c.rows, c.cols}, reduced: []int{c.high, c.wide},
				at: func(of, over []*term.Term) []*term.Term {
					return []*term.Term{term.Sum(term.Product(of[0], term.Number(c.high)), over[0]), term.Sum(term.Product(of[1], term.Number(c.wide)), over[1])}
				}}
			out, memory, n := s.compile(t)
			x, want := as[float32](memory[0]), make([]float32, n)
			for i := range want {
				var sum float64
				var part float32
				for k := range c.high * c.wide {
					p, q := i/c.cols*c.high+k/c.wide, i%c.cols*c.wide+k%c.wide
					if part += x[p*c.cols*c.wide+q]; (k+1)%flushed == 0 {
						sum += float64(part)
						part = 0
					}
				}
				want[i] = float32(sum + float64(part))
			}
			check(t, out, memory, want)
		})
	}
}

// TestColumns reduces columns of squares. Several short rows are computed in one strip, and added in their
// order.
func TestColumns(t *testing.T) {
	for _, rows := range []int{1, 3, 15, 16, 17, 63, 64, 65, 200} {
		for _, cols := range []int{64, 100, 512, 513} {
			c := sumCase{kind: reduction.Sum, shape: []int{rows, cols}, results: []int{cols}, reduced: []int{rows}, square: true,
				at: func(of, over []*term.Term) []*term.Term { return []*term.Term{over[0], of[0]} }}
			t.Run(fmt.Sprint(rows, cols), func(t *testing.T) {
				out, memory, n := c.compile(t)
				x, want := as[float32](memory[0]), make([]float32, n)
				for i := range want {
					var sum float64
					var part float32
					for k := range rows {
						v := x[k*cols+i]
						if part += float32(v * v); (k+1)%flushed == 0 {
							sum += float64(part)
							part = 0
						}
					}
					want[i] = float32(sum + float64(part))
				}
				check(t, out, memory, want)
			})
		}
	}
}

// TestShortRows computes rows of elements, and of others that are the same in all rows: greatest ones, in
// float64, and some in float32.
func TestShortRows(t *testing.T) {
	const outer = 3
	for _, rows := range []int{4, 15, 16, 17, 1000} {
		for _, cols := range []int{2, 7, 64, 128, 129, -7, -64} { // negative: x is transposed
			crossed := cols < 0
			cols = max(cols, -cols)
			p := &program.Program{Tensors: []*program.Local{reals("x", outer, rows, cols), reals("y", outer, rows, cols), reals("m", outer, cols), reals("b", cols)}}
			a, r, k := index("a", outer), index("r", rows), index("k", cols)
			read := func(tensor int, idx ...*term.Term) *term.Term {
				return elementOf(readOf(p, tensor, idx...))
			}
			readX := func(a, r, k *term.Variable) *term.Term { return read(0, a.Term(), r.Term(), k.Term()) }
			if crossed {
				p.Tensors[0] = reals("x", outer, cols, rows)
				readX = func(a, r, k *term.Variable) *term.Term { return read(0, a.Term(), k.Term(), r.Term()) }
			}
			value := term.Sum(timesOf(readX(a, r, k), read(2, a.Term(), k.Term())), read(3, k.Term()))
			s := &program.Statement{Target: 1, Left: read(1, a.Term(), r.Term(), k.Term()).Read, Vars: []*term.Variable{a, r, k}, Value: value}
			a, r, k = index("a", outer), index("r", rows), index("k", cols)
			most := &program.Statement{Target: 2, Left: read(2, a.Term(), k.Term()).Read, Vars: []*term.Variable{a, k}, Value: reduce(reduction.Max, readX(a, r, k), r)}
			out, err := Compile(p, []*program.Statement{most, s}, []rewrite.Tensor{{Type: dtype.F32, Memory: 0}, {Type: dtype.F32, Memory: 1}, {Type: dtype.F64, Memory: 2},
				{Type: dtype.F32, Memory: 3}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			n := outer * rows * cols
			memory := [][]byte{make([]byte, 4*n), make([]byte, 4*n), make([]byte, 8*outer*cols), make([]byte, 4*cols)}
			x, m, b := as[float32](memory[0]), make([]float32, outer*cols), as[float32](memory[3])
			for i := range x {
				x[i] = float32(i%1019) / 7
			}
			element := func(i int) float32 { // of the result's place i
				if crossed {
					i = i/(rows*cols)*rows*cols + i%cols*rows + i/cols%rows
				}
				return x[i]
			}
			for i := range x {
				at := i/(rows*cols)*cols + i%cols
				m[at] = max(m[at], element(i))
			}
			for i := range b {
				b[i] = float32(i) / 3
			}
			want := make([]float32, n)
			for i := range want {
				v := float32(element(i) * m[i/(rows*cols)*cols+i%cols])
				want[i] = v + b[i%cols]
			}
			t.Run(fmt.Sprint(rows, cols), func(t *testing.T) { check(t, out, memory, want) })
		}
	}
}

// TestCut sums very many elements to one: in parts of a number that follows from the extents, and then these.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		shape []int
		parts int // 0 if the sum is not cut
	}{{[]int{1 << 16}, 64}, {[]int{3 << 16}, 64}, {[]int{100, 1000}, 50}, {[]int{3, 1 << 16}, 64}, {[]int{1<<16 - 64}, 0}, {[]int{65537}, 0}} {
		s := sumCase{kind: reduction.Sum, shape: c.shape, reduced: c.shape, at: func(_, over []*term.Term) []*term.Term { return over }}
		out, memory, _ := s.compile(t)
		x, all := as[float32](memory[0]), len(as[float32](memory[0]))
		want := stripsSum(x)
		groups := 1
		switch {
		case c.parts > 0 && len(c.shape) == 2 && c.shape[0] < 4: // the second index is cut: parts take some columns of all rows
			want, groups = 0, 2
			for i := range c.parts {
				part := 0.0
				for row := range slices.Chunk(x, c.shape[1]) {
					n := len(row) / c.parts
					for strip := range slices.Chunk(row[i*n:][:n], stripLength) {
						part += lanesSum(strip)
					}
				}
				want += part
			}
		case c.parts > 0:
			want, groups = 0, 2
			for part := range slices.Chunk(x, all/c.parts) {
				want += stripsSum(part)
			}
		}
		if out.Groups() != groups || groups == 2 && out.Total(0) != c.parts {
			t.Errorf("%v: want %d groups, the first of %d parts, got %d groups, the first of %d parts", c.shape, groups, c.parts, out.Groups(), out.Total(0))
		}
		check(t, out, memory, []float32{float32(want)})
	}
}
