package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
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
func factors(s *rewrite.Statement) (x, y *term.Read) {
	r := s.Reduction()
	if r == nil || r.Kind != reduction.Sum || s.Guard != nil || s.Add || r.Body.Op != term.Multiply || len(s.Vars) == 0 || len(r.Vars) == 0 {
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
func (c *compiler[T]) product(s *rewrite.Statement) *product {
	r := s.Reduction()
	x, y := factors(s)
	if c.options.ByElement || x == nil || c.tensors[x.Tensor].Type != c.own || c.tensors[y.Tensor].Type != c.own {
		return nil
	}
	for _, v := range r.Vars {
		if _, known := v.Hi.Known(); !known || !v.Lo.Is(0) {
			return nil
		}
	}
	n := s.Vars[len(s.Vars)-1]
	p := &product{a: x, b: y}
	if rewrite.AccessOf(p.a).Offset.Factor(n) != 0 {
		p.a, p.b = p.b, p.a
	}
	for _, e := range []*term.Read{p.a, p.b, s.Left} {
		a := rewrite.AccessOf(e)
		if e.Which != nil || len(a.Open) > 0 || len(a.Offset.Rest) > 0 {
			return nil
		}
	}
	a, b, left := rewrite.AccessOf(p.a).Offset, rewrite.AccessOf(p.b).Offset, rewrite.AccessOf(s.Left).Offset
	k := r.Vars[len(r.Vars)-1]
	if a.Factor(n) != 0 || left.Factor(n) != 1 || a.Factor(k) == 0 || b.Factor(k) == 0 || b.Factor(n) == 0 {
		return nil
	}
	if b.Factor(n) != 1 && b.Factor(k) != 1 {
		return nil
	}
	if a.Factor(k) != 1 && !slices.ContainsFunc(s.Vars, func(v *term.Variable) bool { return a.Factor(v) == 1 }) {
		return nil
	}
	// A matrix-vector product reads its operands once, and is better fused with other statements as a
	// reduction.
	rows := func(v *term.Variable) bool { return a.Factor(v) != 0 && b.Factor(v) == 0 && left.Factor(v) != 0 }
	if a.Factor(k) == 1 && b.Factor(k) == 1 && rewrite.Extent(k) >= longRow && !slices.ContainsFunc(s.Vars, rows) {
		return nil
	}
	p.outer = len(s.Vars) - 1
	for p.outer > 0 && a.Factor(s.Vars[p.outer-1]) == 0 { // another index of columns
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
func (k *unitCompiler[T]) productUnit(st *rewrite.Statement, p *product) unit[T] {
	r := k.bundle.folds[0]
	vars, free := k.bundle.vars, k.free()
	n, sum := vars[len(vars)-1], r.Vars[len(r.Vars)-1]
	a, b, left := rewrite.AccessOf(p.a).Offset, rewrite.AccessOf(p.b).Offset, rewrite.AccessOf(st.Left).Offset
	if n == k.lead() {
		return k.fold(st)
	}
	// Offsets are at index 0 of these indices, whose slots other statements may have changed.
	first := func(f rewrite.Form) func(*state[T]) int { return k.value(f.Without(n).Without(sum)) }
	u := &matrices[T]{n: rewrite.Extent(n), k: rewrite.Extent(sum), a: first(a), b: first(b), left: first(left),
		tensors: [3]int{p.a.Tensor, p.b.Tensor, st.Target}, add: k.tensors[st.Target].Add}
	var m *term.Variable
	for _, v := range free {
		if v != n && a.Factor(v) != 0 && b.Factor(v) == 0 && left.Factor(v) != 0 && (m == nil || rewrite.Extent(v) >= rewrite.Extent(m)) &&
			(a.Factor(sum) == 1 || a.Factor(v) == 1) {
			m = v
		}
	}
	u.single = m == nil
	switch {
	case m == nil && a.Factor(sum) == 1:
		u.lda = max(u.k, 1)
	case m == nil:
		return k.fold(st)
	case a.Factor(sum) == 1:
		u.lda = a.Factor(m)
	default:
		u.ta, u.lda = true, a.Factor(sum)
	}
	if b.Factor(n) == 1 {
		u.ldb = b.Factor(sum)
	} else {
		u.tb, u.ldb = true, b.Factor(n)
	}
	u.ldc = u.n
	if m != nil {
		u.ldc = left.Factor(m)
		u.rows = k.loop(m)
	}
	u.buffer = k.tensors[st.Target].Type != k.own
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
	put := storageOf[T](k.tensors[st.Target].Type).putReal(u.add)
	u.give = func(s *state[T], x []T, at int) {
		for i, v := range x {
			put(&s.mem[st.Target], at+i, float64(v))
		}
	}
	outer := slices.DeleteFunc(slices.Clone(free), func(v *term.Variable) bool { return v == n || v == m })
	u.outer = k.loops(outer, nil)
	once := len(r.Vars) == 1 && !slices.ContainsFunc(outer, func(v *term.Variable) bool { return b.Factor(v) != 0 })
	if once && u.rows.lead && !k.given[k.tensors[p.b.Tensor].Memory] {
		u.all = rewrite.Extent(m)
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
