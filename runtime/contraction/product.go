// Package contraction plans sums of products of tensors, such as equations of einsum say: as products of two
// tensors, each of them by products of matrices or by sums over boxes, in parts that do not depend on each
// other.
package contraction

import (
	"cmp"
	"slices"

	"github.com/opgen/opgen/runtime/box"
)

// tensor says where the elements of a tensor lie: size of them from at on, and how far apart along each
// label. A label that it lacks has the distance 0.
type tensor struct {
	strides  []int
	at, size int
}

// Product is a sum of products of elements of two tensors a and b, or a sum of elements of a alone. The
// result is tensor c.
type Product struct {
	// Alone says that there is no b.
	Alone bool
	// Gemm says that parts are products of matrices. Others are sums over boxes.
	Gemm bool
	// Flipped says that a and b are exchanged, and so are rows and columns.
	Flipped bool
	// Sum holds the labels of a and b that c lacks.
	Sum Grid
	// The matrices of a part: how their elements are stored, and whether they are copied to memory of the
	// worker.
	MatA, MatB, MatC Matrix

	c, a, b tensor
	// Labels of all tensors, of c and a, and of c and b. Of sums over boxes, batch holds all that c has.
	batch, rows, cols Grid
	// Labels of one tensor. Those of a and b are summed before elements are multiplied. All elements along
	// those of c are equal.
	onlyA, onlyB, repeat []box.Axis
}

// Matrix says how a block of a tensor becomes a matrix.
type Matrix struct {
	Copied bool
	Size   int // of the copies, in elements
	// Transposed says that columns are stored one after the other.
	Transposed bool
	// apart is how far apart stored rows, or columns, begin, if it is not a copy.
	apart int
}

// newProduct plans a product for labels with the given extents, none of which is 0. There may be no b.
func newProduct(extents []int, c, a tensor, b *tensor) *Product {
	p := &Product{c: c, a: a, Alone: b == nil}
	if b != nil {
		p.b = *b
	} else {
		p.b.strides = make([]int, len(extents))
	}
	p.group(extents)
	switch {
	case p.nested():
		p.Sum.Axes = slices.Concat(p.Sum.Axes, p.onlyA, p.onlyB)
		p.onlyA, p.onlyB = nil, nil
		p.boxes()
	case p.onlyA == nil && p.onlyB == nil && p.small():
		p.boxes()
	default:
		p.matrices()
	}
	return p
}

// group sorts labels into groups, and joins those along which all tensors go on alike.
func (p *Product) group(extents []int) {
	for l, n := range extents {
		x := box.Axis{Extent: n, C: p.c.strides[l], A: p.a.strides[l], B: p.b.strides[l]}
		if n == 1 || x.C+x.A+x.B == 0 {
			continue // of no tensor of this product
		}
		g := p.groupOf(x)
		*g = append(*g, x)
	}
	for _, g := range []*[]box.Axis{&p.batch.Axes, &p.rows.Axes, &p.cols.Axes, &p.Sum.Axes, &p.onlyA, &p.onlyB, &p.repeat} {
		slices.SortStableFunc(*g, func(x, y box.Axis) int {
			return cmp.Or(cmp.Compare(y.C, x.C), cmp.Compare(y.A, x.A), cmp.Compare(y.B, x.B))
		})
		*g = box.Merge(*g)
	}
}

// groupOf returns the group of an axis.
func (p *Product) groupOf(x box.Axis) *[]box.Axis {
	switch c, a, b := x.C > 0, x.A > 0, x.B > 0; {
	case c && a && b:
		return &p.batch.Axes
	case c && a:
		return &p.rows.Axes
	case c && b:
		return &p.cols.Axes
	case c:
		return &p.repeat
	case a && b:
		return &p.Sum.Axes
	case a:
		return &p.onlyA
	}
	return &p.onlyB
}

// count returns how many indices axes have together.
func count(groups ...[]box.Axis) int {
	n := 1
	for _, axes := range groups {
		for _, x := range axes {
			n *= x.Extent
		}
	}
	return n
}

// nested reports whether sums over the labels of one tensor alone need no step of their own, since then there
// are hardly more products than elements.
func (p *Product) nested() bool {
	if len(p.onlyA)+len(p.onlyB) == 0 {
		return false
	}
	batch, rows, cols, sum := count(p.batch.Axes), count(p.rows.Axes), count(p.cols.Axes), count(p.Sum.Axes)
	onlyA, onlyB := count(p.onlyA), count(p.onlyB)
	products := float64(batch) * float64(rows) * float64(cols) * float64(sum) * float64(onlyA) * float64(onlyB)
	elements := float64(float64(batch) * float64(sum) * (float64(float64(rows)*float64(onlyA)) + float64(float64(cols)*float64(onlyB))))
	return p.Alone || products <= 2*elements
}

// fewProducts is up to how many products of two elements a product of matrices takes longer than a sum over
// boxes.
const fewProducts = 128

// small reports whether a product of matrices takes longer than sums over boxes: there are few products, a
// matrix has one element, or no products are added.
func (p *Product) small() bool {
	rows, cols, sum := count(p.rows.Axes), count(p.cols.Axes), count(p.Sum.Axes)
	return sum == 1 || rows*cols == 1 || float64(rows)*float64(cols)*float64(sum) < fewProducts
}

const (
	// parts is about into how many parts products are cut, and fewest is how many products of elements a part
	// has at least, or it takes longer to begin it than to compute it.
	parts  = 32
	fewest = 16384
	// run is how many neighboring elements a part has at least where it has sums of them side by side.
	run = 128
	// most is how many elements of c a part of sums over boxes copies at most.
	most = 32768
)

// boxes cuts sums over boxes into parts.
func (p *Product) boxes() {
	axes := slices.Concat(p.batch.Axes, p.rows.Axes, p.cols.Axes)
	sums := count(p.Sum.Axes)
	if p.MatC.Copied = len(p.repeat) > 0 && sums > 1; !p.MatC.Copied {
		axes = append(axes, p.repeat...)
		p.repeat = nil
	}
	slices.SortStableFunc(axes, func(x, y box.Axis) int { return cmp.Compare(y.C, x.C) })
	least := max(fewest/sums, 1)
	if !slices.ContainsFunc(p.Sum.Axes, func(x box.Axis) bool { return x.A <= 1 && x.B <= 1 }) {
		least = max(least, run)
	}
	limit := max(count(axes)/parts, least)
	if p.MatC.Copied {
		limit = min(limit, most)
	}
	p.batch, p.rows, p.cols = newGrid(axes, limit), newGrid(nil, 1), newGrid(nil, 1)
	p.Sum = newGrid(p.Sum.Axes, sums)
	if p.MatC.Copied {
		p.MatC.Size = p.batch.size()
	}
}

const (
	// fewRows is how many rows of a product of matrices are a part, if nothing is copied. Neighboring parts
	// are computed as one.
	fewRows = 32
	// A block of copies has at most as many rows, columns and products in a sum.
	mostRows = 128
	mostCols = 512
	mostSum  = 512
)

// matrices cuts products of matrices into parts.
func (p *Product) matrices() {
	p.Gemm = true
	if p.flips() {
		p.a, p.b = p.b, p.a
		for _, axes := range [][]box.Axis{p.batch.Axes, p.rows.Axes, p.cols.Axes, p.Sum.Axes, p.onlyA, p.onlyB} {
			for i, x := range axes {
				axes[i].A, axes[i].B = x.B, x.A
			}
		}
		p.rows, p.cols, p.onlyA, p.onlyB, p.Flipped = p.cols, p.rows, p.onlyB, p.onlyA, true
	}
	rows, cols, sum := p.rows.Axes, p.cols.Axes, p.Sum.Axes
	p.MatA = newMatrix(rows, sum, func(x box.Axis) int { return x.A }, p.a.size)
	p.MatB = newMatrix(sum, cols, func(x box.Axis) int { return x.B }, p.b.size)
	p.MatC = newMatrix(rows, cols, func(x box.Axis) int { return x.C }, p.c.size)
	p.MatA.Copied = p.MatA.Copied || len(p.onlyA) > 0
	p.MatB.Copied = p.MatB.Copied || len(p.onlyB) > 0
	batch, m, n, k := count(p.batch.Axes), count(rows), count(cols), count(sum)
	depth := k
	if p.MatA.Copied || p.MatB.Copied {
		depth = mostSum
	}
	p.MatC.Copied = p.MatC.Copied || p.MatC.Transposed || len(p.repeat) > 0 || depth < k
	p.MatC.Transposed = false
	p.Sum = newGrid(sum, depth)
	p.cols, p.rows = newGrid(cols, mostCols), newGrid(rows, fewRows)
	switch {
	case !p.whole():
		p.rows = newGrid(rows, max(min(batch*p.cols.Parts()*m/parts, mostRows), fewRows/2))
	case m > fewRows:
		p.cols = newGrid(cols, n)
	}
	p.MatA.copies(p.rows, p.Sum, func(x box.Axis) int { return x.A })
	p.MatB.copies(p.Sum, p.cols, func(x box.Axis) int { return x.B })
	p.MatC.copies(p.rows, p.cols, nil)
	p.together(p.rows.size() * p.cols.size() * p.Sum.size())
}

const (
	// abreast is how many products have copies at a time where their elements lie side by side: a line of the
	// cache has as many of float32.
	abreast = 16
	// mostCopied is how many elements of a tensor are copied at a time at most.
	mostCopied = 1 << 18
)

// together cuts the batch into blocks of several products: of small ones, or of those whose elements of a
// tensor that is copied lie side by side.
func (p *Product) together(products int) {
	axes := p.batch.Axes
	limit := min(fewest/products, count(axes)/parts)
	near := slices.IndexFunc(axes, func(x box.Axis) bool {
		return p.MatA.Copied && x.A == 1 || p.MatB.Copied && x.B == 1 || p.MatC.Copied && x.C == 1
	})
	if near >= 0 {
		axes = append(slices.Delete(slices.Clone(axes), near, near+1), axes[near])
		limit = max(limit, abreast)
	}
	p.batch = newGrid(axes, min(limit, mostCopied/max(p.MatA.Size, p.MatB.Size, p.MatC.Size, 1)))
	for _, m := range []*Matrix{&p.MatA, &p.MatB, &p.MatC} {
		m.Size *= p.batch.size()
	}
}

// flips reports whether rows and columns are to change places: then elements of c neighbor each other along
// columns, or else there is one column.
func (p *Product) flips() bool {
	near := func(x box.Axis) bool { return x.C == 1 }
	return slices.ContainsFunc(p.rows.Axes, near) || len(p.rows.Axes) == 0 && !slices.ContainsFunc(p.cols.Axes, near)
}

// whole reports whether no block is copied.
func (p *Product) whole() bool { return !p.MatA.Copied && !p.MatB.Copied && !p.MatC.Copied }

// newMatrix returns how a matrix is stored in a tensor of the given size. It is copied unless its rows, or
// its columns, lie equally far apart.
func newMatrix(rows, cols []box.Axis, distance func(box.Axis) int, size int) Matrix {
	if len(rows) > 1 || len(cols) > 1 {
		return Matrix{Copied: true}
	}
	height, width := count(rows), count(cols)
	down, right := width, height // where a row, or a column, is all there is
	if len(rows) > 0 {
		down = distance(rows[0])
	}
	if len(cols) > 0 {
		right = distance(cols[0])
	}
	switch {
	case (len(cols) == 0 || right == 1) && down >= width && height <= size/down:
		return Matrix{apart: down}
	case (len(rows) == 0 || down == 1) && right >= height && width <= size/right:
		return Matrix{apart: right, Transposed: true}
	}
	return Matrix{Copied: true}
}

// copies sets how a matrix is copied: by columns if the elements of a column neighbor each other in the
// tensor.
func (m *Matrix) copies(rows, cols Grid, distance func(box.Axis) int) {
	if !m.Copied {
		return
	}
	m.Size = rows.size() * cols.size()
	m.Transposed = distance != nil && slices.ContainsFunc(rows.Axes, func(x box.Axis) bool { return distance(x) == 1 })
}

// workspace returns how many elements of memory a worker needs: for the copies of blocks of a, b and c, one
// after the other.
func (p *Product) workspace() int { return p.MatA.Size + p.MatB.Size + p.MatC.Size }

// Parts returns into how many parts the product is cut.
func (p *Product) Parts() int { return p.batch.Parts() * p.cols.Parts() * p.rows.Parts() }

// Part returns part i: the indices of its batch, rows and columns, and the offsets of the batch in the
// tensors. Where nothing is copied, adjacent parts are joined to one, up to part end-1. It also returns the
// number of the next part.
func (p *Product) Part(i, end int) (batch, rows, cols Block, next int) {
	n := p.rows.Parts()
	first := i % n
	last := first + 1
	if p.Gemm && p.whole() {
		last = min(n, first+end-i)
	}
	rest := i / n
	batch = p.batch.Block(rest/p.cols.Parts(), 1)
	batch.C, batch.A, batch.B = batch.C+p.c.at, batch.A+p.a.at, batch.B+p.b.at
	return batch, p.rows.Block(first, last-first), p.cols.Block(rest%p.cols.Parts(), 1), i + last - first
}
