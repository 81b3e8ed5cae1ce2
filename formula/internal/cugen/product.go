package cugen

import (
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
)

// Matrix products are tiled in shared memory. The factors may be any expressions, so convolutions are
// products, too, with an implicit im2col: windows are never copied to memory.
const (
	tileRows = 64 // of the result; a tile has as many columns
	tileSum  = 16 // terms per step
	patch    = 4  // a thread computes a patch of patch x patch results

	tilePitch = tileRows + 4 // the padded row length of a tile, for vector loads of a thread's part
)

// factors are the operands and the indices of a matrix product.
type factors struct {
	x, y              *term.Term
	batch, rows, cols []*term.Variable // used by both factors or none, by x alone, and by y alone
}

// LeastProduct is the minimum number of rows, columns and terms of a matrix product that is tiled or calls
// cuBLAS.
const LeastProduct = 8

// factorsOf returns the factors of a nest that is one matrix product with at least g.least rows, columns and
// terms. It returns nil for other nests.
func (g *generator) factorsOf(n *loops.Nest) *factors {
	s := n.Statements[0]
	r := s.Value.Reduction
	if len(n.Statements) > 1 || r.Kind != reduction.Sum || r.Guard != nil || s.Guard != nil || r.Body.Op != term.Multiply || r.Body.Kind != term.Real || !foldable(r) {
		return nil
	}
	p := &factors{x: r.Body.Args[0], y: r.Body.Args[1]}
	last := func(list []*term.Variable) *term.Variable { return list[len(list)-1] }
	if len(n.Vars) > 0 && p.x.Uses(last(n.Vars)) && !p.y.Uses(last(n.Vars)) {
		p.x, p.y = p.y, p.x
	}
	for _, v := range n.Vars {
		switch x, y := p.x.Uses(v), p.y.Uses(v); {
		case x && !y:
			p.rows = append(p.rows, v)
		case y && !x:
			p.cols = append(p.cols, v)
		default:
			p.batch = append(p.batch, v)
		}
	}
	if min(box(p.rows), box(p.cols), box(r.Vars)) < g.least || box(p.rows) > tileRows*65535 || box(r.Vars) > math.MaxInt32 || box(p.cols) > math.MaxInt32 {
		return nil
	}
	return p
}

// product writes a matrix product by tiles. It returns false if the nest is no matrix product.
func (f *function) product(n *loops.Nest) bool {
	p := f.factorsOf(n)
	if p == nil {
		return false
	}
	f.barriers = true
	s, r := n.Statements[0], n.Statements[0].Value.Reduction
	rows, cols, batch, sum := box(p.rows), box(p.cols), box(p.batch), box(r.Vars)
	for _, name := range []string{"tile_x", "tile_y", "next_x", "next_y", "sums", "x", "y", "matrix", "row", "col", "begin", "i", "j", "k", "e", "top", "left", "down", "right"} {
		f.taken[name] = true
	}
	side := tileRows / patch
	f.block = [3]int{side * side, 1, 1}
	f.grid = [3]int{(cols + tileRows - 1) / tileRows, (rows + tileRows - 1) / tileRows, min(batch, 65535)}
	for _, tile := range []string{"tile_x", "tile_y"} {
		f.hold(tile, fmt.Sprintf("alignas(32) %s %s[%d][%d]", f.real(), tile, tileSum, tilePitch))
	}
	f.line("const int top = grid.block.y * %d, left = grid.block.x * %d;", tileRows, tileRows)
	f.line("const int down = threadIdx.x / %d * %d, right = threadIdx.x %% %d * %d;", side, patch, side, patch)
	f.open("for (int matrix = grid.block.z; matrix < %d; matrix += grid.blocks.z) {", batch)
	f.line("%s sums[%d][%d] = {};", f.real(), patch, patch)
	f.line("// Elements of the next tiles are on their way from memory while products of the present ones are added.")
	f.open("for (int begin = 0; begin < %d; begin += %d) {", (sum+tileSum-1)/tileSum*tileSum+tileSum, tileSum)
	f.fetch("next_x", p.x, p.batch, p.rows, r.Vars, "top", rows, sum)
	f.fetch("next_y", p.y, p.batch, p.cols, r.Vars, "left", cols, sum)
	f.open("if (begin > 0) {")
	f.line("#pragma unroll")
	f.open("for (int k = 0; k < %d; k++) {", tileSum)
	f.line("const opgen_wide<%s, %d> x = opgen_wide_load<%d>(tile_x[k], down), y = opgen_wide_load<%d>(tile_y[k], right);", f.real(), patch, patch, patch)
	f.line("for (int i = 0; i < %d; i++)", patch)
	f.line("\tfor (int j = 0; j < %d; j++) sums[i][j] += x.v[i] * y.v[j];", patch)
	f.close()
	f.close()
	f.line("__syncthreads();")
	f.put("tile_x", "next_x", p.x, r.Vars)
	f.put("tile_y", "next_y", p.y, r.Vars)
	f.line("__syncthreads();")
	f.close()
	f.open("for (int i = 0; i < %d; i++) {", patch)
	f.open("for (int j = 0; j < %d; j++) {", patch)
	f.line("const int row = top + down + i, col = left + right + j;")
	f.open("if (row < %d && col < %d) {", rows, cols)
	f.indices(p.batch, "matrix")
	f.indices(p.rows, "row")
	f.indices(p.cols, "col")
	f.give(s, "sums[i][j]")
	f.close()
	f.close()
	f.close()
	f.close()
	f.library = f.matrices(s, p, r.Vars)
	return true
}

// matrices returns the cuBLAS call that computes the same product, or nil if there is none. Both factors must
// be loads. The rows, columns, terms and batch must each have one constant stride.
func (f *function) matrices(s *loops.Nested, p *factors, sum []*term.Variable) *gpu.Product {
	if s.Add || s.Left.Which != nil || p.x.Op != term.Element || p.y.Op != term.Element {
		return nil
	}
	out := &gpu.Product{Rows: box(p.rows), Cols: box(p.cols), Sum: box(sum), Batch: box(p.batch), Add: f.tensors[s.Target].Add}
	left := *s.Left
	left.Tensor = s.Target
	ok := f.matrix(&out.A, p.x.Read, p.rows, sum, p.batch) && f.matrix(&out.B, p.y.Read, sum, p.cols, p.batch) && f.matrix(&out.C, &left, p.rows, p.cols, p.batch)
	pair := [2]dtype.Type{out.A.Type, out.C.Type}
	if !ok || out.C.Right != 1 || out.A.Type != out.B.Type || !libraryTypes[pair] || f.shared(f.params[out.C.Arg]) {
		return nil
	}
	return out
}

// libraryTypes are the types of factors and results that cuBLAS supports. It accumulates in the wider type,
// at least f32.
var libraryTypes = map[[2]dtype.Type]bool{
	{dtype.F32, dtype.F32}: true, {dtype.F64, dtype.F64}: true,
	{dtype.F16, dtype.F16}: true, {dtype.F16, dtype.F32}: true,
	{dtype.BF16, dtype.BF16}: true, {dtype.BF16, dtype.F32}: true,
}

// matrix sets m to the batch of matrices that a read accesses. down, right and next are the indices of rows,
// columns and matrices. It returns false if the access is not affine, or if neither rows nor columns are
// contiguous.
func (f *function) matrix(m *gpu.Matrix, r *term.Read, down, right, next []*term.Variable) bool {
	linear, known := true, [3]bool{}
	m.Offset, linear = rewrite.Offset(r)
	m.Down, known[0] = strideOf(r, down)
	m.Right, known[1] = strideOf(r, right)
	m.Next, known[2] = strideOf(r, next)
	m.Type = f.tensors[r.Tensor].Type
	m.Arg = slices.IndexFunc(f.params, func(p param) bool { return p.tensor == r.Tensor })
	beside := m.Right == 1 && m.Down >= box(right) || m.Down == 1 && m.Right >= box(down)
	return linear && known == [3]bool{true, true, true} && m.Arg >= 0 && m.Next >= 0 && beside && max(m.Down, m.Right) <= math.MaxInt32
}

// strideOf returns the stride, in elements, of indices that are coalesced into one. known is false if they
// cannot be coalesced.
func strideOf(r *term.Read, vars []*term.Variable) (elements int, known bool) {
	after := 1 // product of the inner extents
	for i := len(vars) - 1; i >= 0; i-- {
		s, known := rewrite.Stride(r, vars[i])
		switch {
		case !known:
			return 0, false
		case i == len(vars)-1:
			elements = s
		case s != elements*after && rewrite.Extent(vars[i]) > 1:
			return 0, false
		}
		after *= rewrite.Extent(vars[i])
	}
	return elements, true
}

// fetch writes the loads of a thread's share of the next tile of factor x into registers.
func (f *function) fetch(to string, x *term.Term, batch, side, sum []*term.Variable, begin string, rows, products int) {
	f.line("%s %s[%d];", f.real(), to, tileRows*tileSum/threads)
	f.line("#pragma unroll")
	f.open("for (int e = 0; e < %d; e++) {", tileRows*tileSum/threads)
	f.spot(x, sum)
	f.line("%s[e] = 0;", to)
	f.open("if (%s + i < %d && begin + k < %d) {", begin, rows, products)
	f.indices(batch, "matrix")
	f.line("const int row = %s + i, product = begin + k;", begin)
	f.taken["product"] = true
	f.indices(side, "row")
	f.indices(sum, "product")
	f.line("%s[e] = %s;", to, f.number(x))
	f.close()
	f.close()
}

// put writes the copy of the registers that fetch loaded to a tile in shared memory.
func (f *function) put(to, from string, x *term.Term, sum []*term.Variable) {
	f.line("#pragma unroll")
	f.open("for (int e = 0; e < %d; e++) {", tileRows*tileSum/threads)
	f.spot(x, sum)
	f.line("%s[k][i] = %s[e];", to, from)
	f.close()
}

// spot declares which element of a tile a thread loads: row or column i, and term k. Neighboring threads load
// neighboring elements.
func (f *function) spot(x *term.Term, sum []*term.Variable) {
	if alongSum(x, sum) {
		f.line("const int i = (threadIdx.x + e * %d) / %d, k = threadIdx.x %% %d;", threads, tileSum, tileSum)
	} else {
		f.line("const int i = threadIdx.x %% %d, k = (threadIdx.x + e * %d) / %d;", tileRows, threads, tileRows)
	}
}

// alongSum reports whether factor x has stride 1 along the index of the sum.
func alongSum(x *term.Term, sum []*term.Variable) bool {
	own := false
	x.Walk(func(n *term.Term) {
		if n.Op != term.Element {
			return
		}
		if s, known := rewrite.Stride(n.Read, sum[len(sum)-1]); known && s == 1 {
			own = true
		}
	})
	return own
}
