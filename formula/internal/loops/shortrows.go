package loops

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// Strips of short contiguous rows cover several rows. What is the same in all rows is computed for one row
// and repeated. What is the same in a row is computed for all rows, and each number is repeated.

// repeatedRow is a value that is the same in all rows, repeated to a strip.
type repeatedRow[T simd.Float] struct {
	code strip[T]
	x    int // register of one row
	all  int // register of the repeated rows
}

// stretchedRow is a value that is the same in each row, with a number for each of them.
type stretchedRow[T simd.Float] struct {
	code strip[T]
	x    int // register of the numbers
	all  int // register of the strip
}

// shortens reports whether a group should not share its innermost loop, since it is short and the unit of the
// group may cover several rows by one strip.
func (c *compiler[T]) shortens(g *bundleGroup) bool {
	if len(g.bundles) != 1 || g.depth < 2 {
		return false
	}
	b := g.bundles[0]
	return b.folds == nil && len(b.statements) == 1 && len(b.vars) == g.depth && rewrite.Extent(b.vars[g.depth-1]) < rewrite.Shortest &&
		rewrite.Extent(b.vars[g.depth-2]) >= wide && !b.statements[0].Add && !c.byElement(g)
}

// shortIndices returns the only statement of a bundle, the index of its rows and that of their elements, if a
// strip may cover several rows. Otherwise s is nil.
func (k *unitCompiler[T]) shortIndices() (s *rewrite.Statement, w, v *term.Variable) {
	vars, s := k.bundle.vars, k.bundle.statements[0]
	d := len(vars) - 2
	if d < 0 || d < k.depth-1 || len(k.bundle.statements) > 1 || s.Guard != nil || s.Value.Kind == term.Boolean || s.Left.Which != nil || rewrite.Extent(vars[d+1]) > longestShort {
		return nil, nil, nil
	}
	return s, vars[d], vars[d+1]
}

// ofRows returns a unit whose strips run code for several rows. w is the index of rows, and v that of their
// elements.
func (k *unitCompiler[T]) ofRows(w, v *term.Variable, code strip[T]) *pointwise[T] {
	n := rewrite.Extent(v)
	return &pointwise[T]{outer: k.loops(k.free()[:len(k.free())-2], nil), inner: k.loop(w), code: code, elements: n, last: k.place(v), length: stripLength / n}
}

// shortRows compiles a statement whose strips cover several rows. It returns nil if rows are long, if all of
// them follow each other as one does, or if an access is neither contiguous across rows nor the same in all
// or in each of them.
func (k *unitCompiler[T]) shortRows() unit[T] {
	s, w, v := k.shortIndices()
	if s == nil || s.Add || rewrite.Extent(v) < 2 || rewrite.Extent(w) < 4 || k.exacts[s.Target] {
		return nil
	}
	a := rewrite.AccessOf(s.Left)
	p := &rowParts[T]{unitCompiler: k, s: s, w: w, v: v, z: newVectorizer(k.compiler, v)}
	value := p.value(s.Value)
	follows := !p.refused && len(a.Open) == 0 && a.Offset.Factor(v) == 1
	check := func(f rewrite.Form) {
		follows = follows && f.Factor(w) == rewrite.Extent(v)*f.Factor(v) && !f.Hidden(w) && !f.Hidden(v)
	}
	check(a.Offset)
	if forms(value, check); !follows || len(p.repeated)+len(p.stretched) == 0 {
		return nil
	}
	p.z.store(s, p.z.real(value))
	return p.unit()
}

// unit returns the unit whose strips run the code of z, which must be complete, for several rows.
func (p *rowParts[T]) unit() *pointwise[T] {
	p.finish(&p.z.strip)
	out := p.ofRows(p.w, p.v, p.z.strip)
	out.repeated, out.stretched, out.found = p.repeated, p.stretched, p.rows
	for i := range out.repeated {
		p.finish(&out.repeated[i].code)
		p.accumulators = append(p.accumulators, out.repeated[i].all)
	}
	for i := range out.stretched {
		p.finish(&out.stretched[i].code)
		p.accumulators = append(p.accumulators, out.stretched[i].all)
	}
	for _, r := range out.found {
		p.accumulators = append(p.accumulators, r.all)
	}
	return out
}

// rowParts takes the parts out of a statement's value that are the same in all rows or in each row.
type rowParts[T simd.Float] struct {
	*unitCompiler[T]
	s         *rewrite.Statement
	w, v      *term.Variable
	z         *vectorizer[T]
	seen      map[string]*term.Term // key of a part -> what stands for it
	repeated  []repeatedRow[T]
	stretched []stretchedRow[T]
	rows      []foundRow[T]
	placed    bool // whether the rows are added at places that tensors name
	refused   bool // whether a part would have other bits than the loop over a row computes
}

// value returns a value in which elements that no tensor has stand for the parts. Registers hold them.
func (p *rowParts[T]) value(x *term.Term) *term.Term {
	x = realChoice(x)
	inRow, ofRow := x.Uses(p.v), x.Uses(p.w)
	switch {
	case !inRow && !ofRow || x.Op == term.Reduce: // a nested reduction has indices of its own
		return x
	case OfIntegers(x, p.exacts) && inRow && ofRow: // in float64, since parts would be rounded
		return x
	case inRow && !ofRow && p.apart(x):
		return p.part(x, true)
	case ofRow && !inRow && (p.placed || rewrite.Extent(p.v) < rewrite.Shortest):
		if !p.alike(x) || !p.apart(x) {
			p.refused = true
			return x
		}
		return p.part(x, false)
	case x.Op == term.Element && inRow && ofRow:
		if p.placed {
			if y := p.found(x); y != nil {
				return y
			}
		}
		return p.element(x)
	case x.Op == term.Element || x.Kind == term.Integer || x.Func.Has(term.Random): // of integers, which are no parts
		return x
	case x.Op == term.Equal || x.Op == term.Unequal || x.Op == term.Less || x.Op == term.AtMost:
		if x.Args[0].Kind == term.Integer && x.Args[1].Kind == term.Integer {
			return x
		}
	}
	if x.Op != term.Choose && x.Op != term.And && x.Op != term.Or {
		return x.Map(p.value)
	}
	was := p.lenient // what the first operand selects is speculative
	defer func() { p.lenient = was }()
	return x.Map(func(y *term.Term) *term.Term {
		defer func() { p.lenient = true }()
		return p.value(y)
	})
}

// alike reports whether a value that is the same in a row has the same bits in a strip as in scalar code,
// which computes it in float64 where a loop goes over one row: how loops are shared may not decide about
// bits.
func (p *rowParts[T]) alike(x *term.Term) bool {
	if v, known := x.Settled(); known {
		return float64(T(v)) == v
	}
	switch x.Op {
	case term.Element:
		return p.sameType(x)
	case term.And, term.Or, term.Not:
	case term.Equal, term.Unequal, term.Less, term.AtMost:
		if x.Args[0].Kind != term.Real || x.Args[1].Kind != term.Real {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(x.Args, func(y *term.Term) bool { return !p.alike(y) })
}

// apart reports whether a part may be computed before all rows of a strip.
func (p *rowParts[T]) apart(x *term.Term) bool {
	ok := !x.Reduces() && !rewrite.Fails(x)
	x.Walk(func(m *term.Term) {
		for i := 0; m.Op == term.Element && i < m.Read.Count; i++ {
			ok = ok && p.tensors[m.Read.Tensor+i].Memory != p.tensors[p.s.Target].Memory && len(rewrite.AccessOf(m.Read).Offset.Rest) == 0
		}
		ok = ok && !m.Func.Has(term.Random)
	})
	return ok
}

// part returns what stands for a part, which is the same in all rows if inRow is set, and otherwise in each
// row.
func (p *rowParts[T]) part(x *term.Term, inRow bool) *term.Term {
	key := p.key(x)
	if y := p.seen[key]; y != nil {
		return y
	}
	over := p.w
	if inRow {
		over = p.v
	}
	kind := x.Kind
	if kind == term.Integer {
		kind = term.Real
	}
	y := p.stands(x, key, kind)
	compute := func(z *vectorizer[T], reg int, name func(*term.Term) string) {
		all := p.holds(y, name)
		if inRow {
			p.repeated = append(p.repeated, repeatedRow[T]{z.strip, reg, all})
		} else {
			p.stretched = append(p.stretched, stretchedRow[T]{z.strip, reg, all})
		}
	}
	z := newVectorizer(p.compiler, over)
	compute(z, z.vector(z.real(x)), p.key)
	z = newVectorizer(p.compiler, over)
	if rest, ok := z.rest(x); ok {
		compute(z, rest.reg, p.restKey)
	}
	return y
}

// stands returns what stands for a part with this key from now on.
func (p *rowParts[T]) stands(x *term.Term, key string, kind term.Kind) *term.Term {
	if p.seen == nil {
		p.seen = map[string]*term.Term{}
	}
	p.seen[key] = p.stand(x, kind)
	return p.seen[key]
}

// holds returns a new register that holds the elements y, by their key.
func (p *rowParts[T]) holds(y *term.Term, key func(*term.Term) string) int {
	all, was := p.z.register(true), p.lenient
	for _, p.lenient = range []bool{false, true} { // a speculative load has another key
		p.z.known[key(y)] = operand[T]{reg: all}
	}
	p.lenient = was
	return all
}

// stand returns an element that no tensor has, contiguous across rows, to stand for x.
func (p *rowParts[T]) stand(x *term.Term, kind term.Kind) *term.Term {
	tensor := p.s.Target
	if x.Op == term.Element {
		tensor = x.Read.Tensor
	}
	none := &term.Variable{Name: "part", Lo: term.Number(0), Hi: term.Number(1)}
	at := term.Sum(term.Sum(term.Product(p.w.Term(), term.Number(rewrite.Extent(p.v))), p.v.Term()), none.Term())
	return &term.Term{Op: term.Element, Kind: kind, Read: &term.Read{Tensor: tensor, Count: 1, Idx: []*term.Term{at}, Ext: []*term.Term{term.Number(math.MaxInt32)}}}
}

// element returns an element of the rows. Where it may be out of bounds in a row, the element is chosen by
// a condition that is the same in all or in each of them, since the rows of a strip follow each other in
// memory.
func (p *rowParts[T]) element(x *term.Term) *term.Term {
	a := rewrite.AccessOf(x.Read)
	if len(a.Open) == 0 || x.Read.Which != nil || x.Kind != term.Real || x.Read.Else == nil && !p.lenient {
		return x
	}
	var tests []*term.Term
	at := term.Number(0)
	for d, n := range a.Ext {
		if slices.Contains(a.Open, d) {
			if x.Read.Idx[d].Uses(p.v) && x.Read.Idx[d].Uses(p.w) {
				return x
			}
			b := rewrite.Linear(x.Read.Idx[d]).Bounds()
			if !b.Known || b.Lo < 0 {
				tests = append(tests, term.Compare(term.AtMost, term.Number(0), x.Read.Idx[d]))
			}
			if !b.Known || b.Hi >= n {
				tests = append(tests, term.Compare(term.Less, x.Read.Idx[d], term.Number(n)))
			}
		}
		at = term.Sum(term.Product(at, term.Number(n)), x.Read.Idx[d])
	}
	other := term.RealNumber(0)
	if x.Read.Else != nil {
		other = p.value(x.Read.Else)
	}
	read := *x.Read
	read.Idx, read.Ext, read.Else = []*term.Term{at}, []*term.Term{term.Total(x.Read.Ext)}, term.RealNumber(0)
	return term.Chosen(p.value(term.All(tests...)), &term.Term{Op: term.Element, Kind: x.Kind, Read: &read}, other)
}

// fill repeats the row of n elements rows times.
func (r *repeatedRow[T]) fill(s *state[T], n, rows int) {
	r.code.exec(s, n)
	for i := range rows {
		copy(s.regs[r.all][i*n:], s.regs[r.x][:n])
	}
}

// fill computes a number for each of rows rows, and repeats it n times.
func (r *stretchedRow[T]) fill(s *state[T], n, rows int) {
	r.code.exec(s, rows)
	all := s.regs[r.all]
	for i, v := range s.regs[r.x][:rows] {
		row := all[i*n:][:n]
		for j := range row {
			row[j] = v
		}
	}
}
