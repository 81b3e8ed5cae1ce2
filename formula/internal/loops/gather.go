package loops

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/shape"
)

// finder computes the offsets of a gather or a scatter, and checks bounds, in integer strips.
type finder[T simd.Float] struct {
	offset integers[T]
	at     int // the integer strip of the offsets
	tests  []outside[T]
}

// outside is the bounds check of one dimension.
type outside[T simd.Float] struct {
	index  integers[T]
	at     int // the integer strip of the subscripts
	extent int
}

// found returns a finder for an access whose offset is not affine in the vectorized index. uses are the
// registers that the finder reads.
func (z *vectorizer[T]) found(a *rewrite.Access) (f *finder[T], uses []int) {
	code := newIntegerCompiler(z)
	f = &finder[T]{at: code.strip(0)}
	code.sum(a.Offset, 0)
	f.offset = code.finish()
	uses = f.offset.uses
	for _, d := range a.Open {
		code := newIntegerCompiler(z)
		code.sum(a.Idx[d], 1)
		f.tests = append(f.tests, outside[T]{code.finish(), code.strip(1), a.Ext[d]})
		uses = append(uses, code.out.uses...)
	}
	return f, uses
}

// places returns the offsets of n elements, with -1 for an element out of bounds. inside reports whether all
// are in bounds.
func (f *finder[T]) places(s *state[T], n int) (at []int, inside bool) {
	f.offset.exec(s, n)
	at, inside = s.integerStrip(f.at)[:n], true
	for i := range f.tests {
		t := &f.tests[i]
		t.index.exec(s, n)
		for i, v := range s.integerStrip(t.at)[:n] {
			if uint(v) >= uint(t.extent) {
				at[i], inside = -1, false
			}
		}
	}
	return at, inside
}

// text returns the code of the offsets.
func (f *finder[T]) text(p *lister[T]) string { return "[" + f.offset.text(p) + "]" }

// gathered compiles a gather, and returns its register. It returns false if a subscript selects the tensor,
// or if the value of an element out of bounds differs within a strip.
func (z *vectorizer[T]) gathered(n *term.Term, a *rewrite.Access) (reg int, ok bool) {
	r := n.Read
	if r.Which != nil || r.Else != nil && r.Else.Uses(z.v) {
		return 0, false
	}
	same := z.c.tensors[r.Tensor].Type == z.c.own
	if o := z.repeated(r.Tensor, a); o != nil && same {
		return z.other(o, z.register(false)), true
	}
	places, uses := z.found(a)
	o := &gather[T]{tensor: r.Tensor, places: places, one: z.c.reached(r), place: z.at}
	if same {
		if o.spots, o.stretches = z.spotsOf(a), stretchesOf(places); o.spots == nil || r.Else == nil {
			o.direct = z.lookup(a)
		}
	} else {
		o.get = storageOf[T](z.c.tensors[r.Tensor].Type).realAt()
	}
	if r.Else != nil {
		z.fromMemory(r.Else)
		o.other = number[T]{get: z.c.real(r.Else), term: r.Else}
	}
	return z.other(o, z.register(false), uses...), true
}

// gather loads elements at offsets in an integer strip.
type gather[T simd.Float] struct {
	tensor    int
	places    *finder[T]
	direct    *lookup[T]                                    // the same in one loop over an index tensor; nil if the offset has another form
	spots     *spots[T]                                     // the same, with elements out of bounds, or nil
	stretches *stretches[T]                                 // the same by pieces of memory, or nil
	other     number[T]                                     // the value of elements out of bounds, which are an error without it
	one       func(*state[T]) (tensor, at int, inside bool) // locates one element
	place     int                                           // slot of the vectorized index
	get       func(*block[T], int) float64                  // loads an element of another type than T; nil for T
}

func (o *gather[T]) exec(s *state[T], in *instruction[T], n int) {
	out, from := s.regs[in.def][:n], s.mem[o.tensor].same
	if o.direct != nil && o.direct.gather(s, out, from) {
		return
	}
	if o.stretches != nil {
		o.stretches.gather(s, out, from, s.vars[o.place])
		return
	}
	if o.spots != nil && (o.spots.gather(s, out, from, &o.other) || o.other.there()) {
		return
	}
	at, inside := o.places.places(s, n)
	switch {
	case inside && o.get == nil:
		for i, k := range at {
			out[i] = from[k]
		}
		return
	case inside:
		for i, k := range at {
			out[i] = T(o.get(&s.mem[o.tensor], k))
		}
		return
	}
	var v T
	if o.other.there() {
		v = T(o.other.get(s))
	}
	for i, k := range at {
		if k >= 0 {
			if o.get != nil {
				out[i] = T(o.get(&s.mem[o.tensor], k))
			} else {
				out[i] = from[k]
			}
			continue
		}
		if !o.other.there() {
			locate(s, o.place, i, o.one) // fails
		}
		out[i] = v
	}
}

func (o *gather[T]) text(p *lister[T], _ []string) string {
	out := p.c.nameOf(o.tensor) + "@" + o.places.text(p)
	if o.other.there() {
		out += ", or else " + numberText(&o.other)
	}
	return out
}

// repetition loads elements each of which is repeated several times, since its subscript is the quotient of
// an index by a constant.
type repetition[T simd.Float] struct {
	from          *address[T] // the element whose subscript is 0
	first         *address[T] // the index
	factor, times int
}

// repeated returns the repetition that a load is. It returns nil for other loads.
func (z *vectorizer[T]) repeated(tensor int, a *rewrite.Access) *repetition[T] {
	same, times, factor := rewrite.Form{Base: a.Offset.Base, Vars: a.Offset.Vars}, 0, 0
	var of rewrite.Form
	for _, p := range a.Offset.Rest {
		d := 0
		if p.Of.Op == term.Quotient {
			d, _ = p.Of.Args[1].Known()
		}
		switch {
		case !p.Of.Uses(z.v):
			same.Rest = append(same.Rest, p)
		case times > 0 || d <= 1:
			return nil
		default:
			of, times, factor = rewrite.Linear(p.Of.Args[0]), d, p.Factor
		}
	}
	if times == 0 || len(a.Open) > 0 || a.Offset.Factor(z.v) != 0 || of.Hidden(z.v) || of.Factor(z.v) != 1 {
		return nil
	}
	return &repetition[T]{&address[T]{tensor: tensor, typ: z.c.own, offset: same, step: factor, at: z.c.value(same)}, z.count(of, z.c.value(of)), factor, times}
}

func (o *repetition[T]) exec(s *state[T], in *instruction[T], n int) {
	i := o.first.at(s)
	q := shape.FloorDiv(i, o.times)
	repeat(s.regs[in.def][:n], s.mem[o.from.tensor].same, o.from.at(s)+o.factor*q, o.factor, o.times, i-q*o.times)
}

func (o *repetition[T]) text(p *lister[T], _ []string) string {
	return fmt.Sprintf("%s, from %s / %d, each %d times", p.address(o.from), p.form(o.first.offset), o.times, o.times)
}

// repeat sets z to strided elements of x, each repeated times times. The first done repetitions of the first
// element are left out.
func repeat[T simd.Float](z, x []T, at, step, times, done int) {
	for len(z) > 0 {
		if n := len(z) / 2; times == 2 && step == 1 && done == 0 && n > 0 {
			simd.Twice(z[:2*n], x[at:at+n])
			z, at = z[2*n:], at+n
		}
		n, v := min(times-done, len(z)), T(0)
		if n > 0 {
			v = x[at]
		}
		for i := range z[:n] {
			z[i] = v
		}
		z, at, done = z[n:], at+step, 0
	}
}

// lookup is the most frequent form of a gather's offset: a multiple of the element of an index tensor, plus
// an affine part.
type lookup[T float32 | float64] struct {
	base   func(*state[T]) int
	step   int
	tensor int // the tensor of indices
	first  func(*state[T]) int
	wide   bool // whether the indices are int64; otherwise they are int32
	factor int
	extent int // exclusive upper bound of the indices
}

// lookup returns the offset of an access as a lookup. It returns nil if the offset has another form.
func (z *vectorizer[T]) lookup(a *rewrite.Access) *lookup[T] {
	var one *rewrite.Addend
	same := rewrite.Form{Base: a.Offset.Base, Vars: a.Offset.Vars}
	for i, p := range a.Offset.Rest {
		switch {
		case !p.Of.Uses(z.v):
			same.Rest = append(same.Rest, p)
		case one != nil || p.Of.Op != term.Element:
			return nil
		default:
			one = &a.Offset.Rest[i]
		}
	}
	if one == nil || len(a.Open) != 1 {
		return nil
	}
	r, idx := one.Of.Read, a.Idx[a.Open[0]]
	at, typ := rewrite.AccessOf(r), z.c.tensors[r.Tensor].Type
	if len(at.Open) > 0 || r.Which != nil || at.Offset.Factor(z.v) != 1 || typ != dtype.I32 && typ != dtype.I64 ||
		!idx.Same(rewrite.Form{Rest: []rewrite.Addend{{Of: one.Of, Factor: 1}}}) {
		return nil
	}
	return &lookup[T]{base: z.c.value(same), step: a.Offset.Factor(z.v), tensor: r.Tensor, first: z.c.value(at.Offset), wide: typ == dtype.I64,
		factor: one.Factor, extent: a.Ext[a.Open[0]]}
}

// gather sets z to elements of x. It returns false if an index is out of bounds.
func (l *lookup[T]) gather(s *state[T], z, x []T) bool {
	base, first := l.base(s), l.first(s)
	if l.wide {
		return gatherBy(z, x, wholesIn[int64](&s.mem[l.tensor])[first:], base, l.step, l.factor, l.extent)
	}
	return gatherBy(z, x, wholesIn[int32](&s.mem[l.tensor])[first:], base, l.step, l.factor, l.extent)
}

func gatherBy[T simd.Float, U int32 | int64](z, x []T, index []U, at, step, factor, extent int) bool {
	index = index[:len(z)]
	if step != 0 || factor != 1 {
		if !simd.Below(index, extent) {
			return false
		}
		for i, k := range index {
			z[i] = x[at+int(k)*factor]
			at += step
		}
		return true
	}
	// One loop that checks and uses the indices is faster than two loops, which load them twice.
	x = x[at : at+extent]
	n := uint(len(x))
	for len(z) >= 4 && len(index) >= 4 {
		a, b, c, d := uint(index[0]), uint(index[1]), uint(index[2]), uint(index[3])
		if a >= n || b >= n || c >= n || d >= n {
			return false
		}
		z[0], z[1], z[2], z[3] = x[a], x[b], x[c], x[d]
		z, index = z[4:], index[4:]
	}
	for i, k := range index {
		if uint(k) >= n {
			return false
		}
		z[i] = x[k]
	}
	return true
}

// add adds the elements of x to elements of z, in order. It stops before an index that is out of bounds, and
// returns the number of elements that it added.
func (l *lookup[T]) add(s *state[T], z, x []T) int {
	base, first := l.base(s), l.first(s)
	if l.wide {
		return addBy(z, x, wholesIn[int64](&s.mem[l.tensor])[first:], base, l.step, l.factor, l.extent)
	}
	return addBy(z, x, wholesIn[int32](&s.mem[l.tensor])[first:], base, l.step, l.factor, l.extent)
}

func addBy[T simd.Float, U int32 | int64](z, x []T, index []U, at, step, factor, extent int) int {
	index = index[:len(x)]
	if step == 0 && factor == 1 {
		z, x = z[at:at+extent], x[:len(index)]
		for i, k := range index {
			if uint(k) >= uint(len(z)) {
				return i
			}
			z[k] += x[i]
		}
		return len(x)
	}
	for i, k := range index {
		if uint(k) >= uint(extent) {
			return i
		}
		z[at+int(k)*factor] += x[i]
		at += step
	}
	return len(x)
}

// placed emits a scatter, which stores elements in order. It returns false if a subscript selects the tensor,
// if the target needs a conversion, or if a guard may protect integers from a division by 0.
func (z *vectorizer[T]) placed(st *rewrite.Statement, x operand[T]) bool {
	a, t := rewrite.AccessOf(st.Left), z.c.tensors[st.Target]
	if st.Left.Which != nil || t.Type != z.c.own && !(t.Type == dtype.F64 && st.Add) || !a.Offset.Hidden(z.v) ||
		st.Guard != nil && slices.ContainsFunc(append(slices.Clone(st.Left.Idx), st.Guard), rewrite.DividesByZero) {
		return false
	}
	uniform, varying := z.guards(st)
	places, uses := z.found(a)
	o := &scatter[T]{target: st.Target, places: places, place: z.at, guard: uniform, guarded: varying != nil, skips: st.Skip,
		wide: t.Type != z.c.own, join: reduction.Sum.Join()}
	add := t.Add || st.Add
	if add && !st.Joined() && !o.wide {
		if st.Skip {
			o.spots = z.spotsOf(a)
		}
		if o.spots == nil && st.Guard == nil {
			o.direct, o.stretches = z.lookup(a), stretchesOf(places)
		}
	}
	operands := []int{z.vector(x)}
	o.one = z.c.target(st)
	if o.guarded {
		operands = append(operands, z.vector(z.real(varying)))
	}
	if st.Joined() {
		o.join = st.Fold.Join()
	}
	o.adds, o.joins = add && !st.Joined() && !o.wide, add
	z.other(o, -1, append(operands, uses...)...)
	return true
}

// guards splits the guard of a statement. uniform evaluates the part that is uniform in a strip. varying is
// the rest, or nil.
func (z *vectorizer[T]) guards(st *rewrite.Statement) (uniform func(*state[T]) bool, varying *term.Term) {
	var same *term.Term
	for _, c := range term.Conjuncts(st.Guard) {
		if c.Uses(z.v) {
			varying = term.All(varying, c)
		} else {
			same = term.All(same, c)
		}
	}
	z.fromMemory(same)
	return z.c.holds(same), varying
}

// scatter stores its first register to offsets in an integer strip, in order. Its second register, if any,
// holds the part of the guard that differs within a strip.
type scatter[T simd.Float] struct {
	target    int
	guard     func(*state[T]) bool // the uniform part of the guard
	places    *finder[T]
	direct    *lookup[T]                                    // the same in one loop over an index tensor; nil if the offset has another form
	spots     *spots[T]                                     // the same, with guards and elements out of bounds, or nil
	stretches *stretches[T]                                 // the same by pieces of memory, or nil
	one       func(*state[T]) (tensor, at int, inside bool) // locates one element
	place     int                                           // slot of the vectorized index
	guarded   bool
	skips     bool // whether elements out of bounds are skipped; otherwise they are an error
	wide      bool // whether the target is float64 although T is float32
	adds      bool // whether elements are added in T
	joins     bool // whether join combines elements with those in memory; otherwise they are stored
	join      func(x, y float64) float64
}

func (o *scatter[T]) exec(s *state[T], in *instruction[T], n int) {
	if !o.guard(s) {
		return
	}
	to, from, done := s.mem[o.target].same, s.regs[in.uses[0]][:n], 0
	if o.direct != nil {
		if done = o.direct.add(s, to, from); done == n {
			return
		}
	}
	if o.stretches != nil {
		o.stretches.add(s, to, from, s.vars[o.place])
		return
	}
	if o.spots != nil {
		var guard []T
		if o.guarded {
			guard = s.regs[in.uses[1]][:n]
		}
		o.spots.add(s, to, from, guard)
		return
	}
	at, inside := o.places.places(s, n)
	if o.adds && inside && !o.guarded {
		for i, k := range at[done:] {
			to[k] += from[done+i]
		}
		return
	}
	for i := done; i < n; i++ {
		k, v := at[i], from[i]
		switch {
		case o.guarded && s.regs[in.uses[1]][i] == 0:
		case k < 0:
			if !o.skips {
				locate(s, o.place, i, o.one) // fails
			}
		case o.adds:
			to[k] += v
		case o.wide:
			s.mem[o.target].f64[k] = o.join(s.mem[o.target].f64[k], float64(v))
		case o.joins:
			to[k] = T(o.join(float64(to[k]), float64(v)))
		default:
			to[k] = v
		}
	}
}

func (o *scatter[T]) text(p *lister[T], x []string) string {
	sign, guard := " = ", ""
	if o.joins {
		sign = " += "
	}
	if o.guarded {
		guard = " if " + x[1]
	}
	return p.c.nameOf(o.target) + "@" + o.places.text(p) + sign + x[0] + guard
}

// locate calls find for element i of a strip over the index in slot place. find reports an error if the
// element is out of bounds.
func locate[T simd.Float](s *state[T], place, i int, find func(*state[T]) (tensor, at int, inside bool)) {
	first := s.vars[place]
	s.vars[place] = first + i
	find(s)
	s.vars[place] = first
}
