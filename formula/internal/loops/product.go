package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/blas"
)

// product is a sum of products of loads from two tensors that is a matrix product, or several (batched).
type product struct {
	a, b  *term.Read
	outer int // number of outermost loops that may be shared: batch indices, and rows
}

// factors returns the two loads whose products a statement sums. It returns nil for other statements.
func factors(s *statement) (x, y *term.Read) {
	r := s.reduction()
	if r == nil || r.Kind != reduction.Sum || s.guard != nil || s.add || r.Body.Op != term.Multiply || len(s.vars) == 0 || len(r.Vars) == 0 {
		return nil, nil
	}
	a, b := r.Body.Args[0], r.Body.Args[1]
	if a.Op != term.Element || b.Op != term.Element || a.Kind != term.Real || b.Kind != term.Real {
		return nil, nil
	}
	if r.Guard != nil && !excludesZeros(r.Guard, a) && !excludesZeros(r.Guard, b) {
		return nil, nil
	}
	return a.Read, b.Read
}

// excludesZeros reports whether a guard is the condition that x is not 0.
func excludesZeros(guard, x *term.Term) bool {
	return guard.Op == term.Unequal && guard.Args[1].Is(0) && term.Identical(guard.Args[0], x)
}

// product returns the matrix product that is the statement's value. It returns nil for other values.
func (c *compiler[T]) product(s *statement) *product {
	r := s.reduction()
	x, y := factors(s)
	if c.options.ByElement || x == nil || c.tensors[x.Tensor].Type != c.own || c.tensors[y.Tensor].Type != c.own {
		return nil
	}
	for _, v := range r.Vars {
		if _, known := v.Hi.Known(); !known || !v.Lo.Is(0) {
			return nil
		}
	}
	n := s.vars[len(s.vars)-1]
	p := &product{a: x, b: y}
	if accessOf(p.a).offset.factor(n) != 0 {
		p.a, p.b = p.b, p.a
	}
	for _, e := range []*term.Read{p.a, p.b, s.left} {
		a := accessOf(e)
		if e.Which != nil || len(a.open) > 0 || len(a.offset.rest) > 0 {
			return nil
		}
	}
	a, b, left := accessOf(p.a).offset, accessOf(p.b).offset, accessOf(s.left).offset
	k := r.Vars[len(r.Vars)-1]
	if a.factor(n) != 0 || left.factor(n) != 1 || a.factor(k) == 0 || b.factor(k) == 0 || b.factor(n) == 0 {
		return nil
	}
	if b.factor(n) != 1 && b.factor(k) != 1 {
		return nil
	}
	if a.factor(k) != 1 && !slices.ContainsFunc(s.vars, func(v *term.Variable) bool { return a.factor(v) == 1 }) {
		return nil
	}
	// A matrix-vector product reads its operands once, and is better fused with other statements as a
	// reduction.
	rows := func(v *term.Variable) bool { return a.factor(v) != 0 && b.factor(v) == 0 && left.factor(v) != 0 }
	if a.factor(k) == 1 && b.factor(k) == 1 && extent(k) >= longRow && !slices.ContainsFunc(s.vars, rows) {
		return nil
	}
	p.outer = len(s.vars) - 1
	for p.outer > 0 && a.factor(s.vars[p.outer-1]) == 0 { // another index of columns
		p.outer--
	}
	return p
}

// matrices is a batched matrix product.
type matrices[T simd.Float] struct {
	outer      nest[T] // over the batch indices
	sums       nest[T] // over the reduced indices but the last
	rows       loop[T]
	single     bool // whether there is one row
	a, b, left func(*state[T]) int
	tensors    [3]int
	n, k       int
	all        int // rows of all shares if they share a packed copy of b, and otherwise 0
	lda, ldb   int
	ldc        int
	ta, tb     bool
	give       func(*state[T], []T, int)
	add        bool
	buffer     bool // whether results are converted from a buffer
	masks      byte // operand whose zeros exclude a term, 'a' or 'b'; 0 if no terms are excluded
}

// productUnit compiles a matrix product. It compiles a reduction instead if the operands have no layout of
// matrices.
func (k *unitCompiler[T]) productUnit(st *statement, p *product) unit[T] {
	r := k.bundle.folds[0]
	vars, free := k.bundle.vars, k.free()
	n, sum := vars[len(vars)-1], r.Vars[len(r.Vars)-1]
	a, b, left := accessOf(p.a).offset, accessOf(p.b).offset, accessOf(st.left).offset
	if n == k.lead() {
		return k.fold(st)
	}
	// Offsets are at index 0 of these indices, whose slots other statements may have changed.
	first := func(f form) func(*state[T]) int { return k.value(f.without(n).without(sum)) }
	u := &matrices[T]{n: extent(n), k: extent(sum), a: first(a), b: first(b), left: first(left),
		tensors: [3]int{p.a.Tensor, p.b.Tensor, st.target}, add: k.tensors[st.target].Add}
	var m *term.Variable
	for _, v := range free {
		if v != n && a.factor(v) != 0 && b.factor(v) == 0 && left.factor(v) != 0 && (m == nil || extent(v) >= extent(m)) &&
			(a.factor(sum) == 1 || a.factor(v) == 1) {
			m = v
		}
	}
	u.single = m == nil
	switch {
	case m == nil && a.factor(sum) == 1:
		u.lda = max(u.k, 1)
	case m == nil:
		return k.fold(st)
	case a.factor(sum) == 1:
		u.lda = a.factor(m)
	default:
		u.ta, u.lda = true, a.factor(sum)
	}
	if b.factor(n) == 1 {
		u.ldb = b.factor(sum)
	} else {
		u.tb, u.ldb = true, b.factor(n)
	}
	u.ldc = u.n
	if m != nil {
		u.ldc = left.factor(m)
		u.rows = k.loop(m)
	}
	u.buffer = k.tensors[st.target].Type != k.own
	switch {
	case r.Guard == nil:
	case excludesZeros(r.Guard, &term.Term{Op: term.Element, Kind: term.Real, Read: p.a}):
		u.masks = 'a'
	default:
		u.masks = 'b'
	}
	u.buffer = u.buffer || u.masks != 0 && u.add
	if u.lda < 0 || u.ldb < 0 || u.ldc < u.n && m != nil || !u.ta && u.lda < u.k || u.tb && u.ldb < u.k || !u.tb && u.ldb < u.n {
		return k.fold(st)
	}
	put := storageOf[T](k.tensors[st.target].Type).putReal(u.add)
	u.give = func(s *state[T], x []T, at int) {
		for i, v := range x {
			put(&s.mem[st.target], at+i, float64(v))
		}
	}
	outer := slices.DeleteFunc(slices.Clone(free), func(v *term.Variable) bool { return v == n || v == m })
	u.outer = k.loops(outer, nil)
	once := len(r.Vars) == 1 && !slices.ContainsFunc(outer, func(v *term.Variable) bool { return b.factor(v) != 0 })
	if once && u.rows.lead && !k.given[k.tensors[p.b.Tensor].Memory] {
		u.all = extent(m)
	}
	u.sums = k.loops(r.Vars, sum)
	return u
}

func (u *matrices[T]) run(s *state[T], lo, hi int) {
	u.outer.each(s, 0, lo, hi, func(s *state[T]) {
		m := 1
		if !u.single {
			a, b := u.rows.limits(s, lo, hi)
			if m = b - a; m <= 0 {
				return
			}
			s.vars[u.rows.place] = a
		}
		u.multiply(s, m)
	})
}

// multiply computes m rows of a matrix product, or of a sum of matrix products.
func (u *matrices[T]) multiply(s *state[T], m int) {
	if u.n == 0 {
		return
	}
	c, ldc, add := s.mem[u.tensors[2]].same, u.ldc, u.add
	at := u.left(s)
	if u.buffer {
		if cap(s.products) < m*u.n {
			s.products = make([]T, m*u.n)
		}
		c, ldc, add = s.products[:m*u.n], u.n, false
	} else {
		c = c[at:]
	}
	done := false
	u.sums.each(s, 0, 0, 0, func(s *state[T]) {
		a, b := s.mem[u.tensors[0]].same[u.a(s):], s.mem[u.tensors[1]].same[u.b(s):]
		key := blas.Key{}
		if m*leastShared <= u.all {
			key = s.key
			key.Tensor, key.Offset = u.tensors[1], u.b(s)
		}
		blas.MultiplyShared(key, c, ldc, a, u.lda, u.ta, b, u.ldb, u.tb, m, u.n, u.k, add || done)
		done = true
	})
	if !done && !add {
		for i := range m {
			clear(c[i*ldc : i*ldc+u.n])
		}
	}
	if u.masks != 0 {
		u.mask(s, c, ldc, m)
	}
	if u.buffer {
		for i := range m {
			u.give(s, c[i*u.n:(i+1)*u.n], at+i*u.ldc)
		}
	}
}

// mask computes again the elements of a product that are not finite, without the terms in which the masking
// operand is 0: 0 times an infinite number is NaN. If an element is finite, all of its terms were finite, and
// the excluded ones were 0.
func (u *matrices[T]) mask(s *state[T], c []T, ldc, m int) {
	for i := range m {
		row := c[i*ldc : i*ldc+u.n]
		var all simd.Lanes[T]
		if simd.SumInto(&all, row); all.Sum()-all.Sum() == 0 {
			continue // a row of finite elements, whose sum is finite as a rule
		}
		for j, v := range row {
			if v-v == 0 {
				continue
			}
			var sum T
			u.sums.each(s, 0, 0, 0, func(s *state[T]) {
				a, b := s.mem[u.tensors[0]].same[u.a(s):], s.mem[u.tensors[1]].same[u.b(s):]
				for k := range u.k {
					x, y := a[at(i, k, u.lda, u.ta)], b[at(k, j, u.ldb, u.tb)]
					if u.masks == 'a' && x != 0 || u.masks == 'b' && y != 0 {
						sum += T(x * y)
					}
				}
			})
			row[j] = sum
		}
	}
}

// at returns the offset of an element of a matrix with leading dimension ld.
func at(i, j, ld int, transposed bool) int {
	if transposed {
		i, j = j, i
	}
	return i*ld + j
}
