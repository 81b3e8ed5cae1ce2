package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// Strips of short contiguous rows cover several rows. Operands that are the same in all rows (broadcasts) are
// repeated into a strip first.

// repeatedRow is an operand that is the same in all rows (broadcast), repeated to a strip.
type repeatedRow[T simd.Float] struct {
	code strip[T]
	x    int // register of one row
	all  int // register of the repeated rows
}

// shortIndices returns the only statement of a bundle, the index of its rows and that of their elements, if a
// strip may cover several rows. Otherwise s is nil.
func (k *unitCompiler[T]) shortIndices() (s *rewrite.Statement, w, v *term.Variable) {
	vars, s := k.bundle.vars, k.bundle.statements[0]
	d := len(vars) - 2
	if d < 0 || d < k.depth-1 || len(k.bundle.statements) > 1 || s.Guard != nil || s.Value.Kind != term.Real || s.Left.Which != nil || rewrite.Extent(vars[d+1]) > longestShort {
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

// shortRows compiles a statement whose strips cover several rows. It returns nil if rows are long, or if an
// access is neither contiguous across rows nor a broadcast.
func (k *unitCompiler[T]) shortRows() unit[T] {
	s, w, v := k.shortIndices()
	if s == nil || s.Add || rewrite.Extent(v) < 2 || rewrite.Extent(w) < 4 {
		return nil
	}
	n := rewrite.Extent(v)
	z, a := newVectorizer(k.compiler, v), rewrite.AccessOf(s.Left)
	follows := true
	check := func(f rewrite.Form) {
		follows = follows && f.Factor(w) == n*f.Factor(v) && !f.Hidden(w) && !f.Hidden(v)
	}
	check(a.Offset)
	follows = follows && len(a.Open) == 0 && a.Offset.Factor(v) == 1
	var repeated []repeatedRow[T]
	forms(k.apart(s, w, v, z, &repeated), check)
	if !follows || len(repeated) == 0 {
		return nil
	}
	z.store(s, z.real(s.Value))
	k.finish(&z.strip)
	for i := range repeated {
		k.finish(&repeated[i].code)
		k.accumulators = append(k.accumulators, repeated[i].all)
	}
	out := k.ofRows(w, v, z.strip)
	out.repeated = repeated
	return out
}

// apart returns the value of s with its broadcast operands replaced by contiguous loads. It adds the operands
// to out, and makes z use their repeated rows.
func (k *unitCompiler[T]) apart(s *rewrite.Statement, w, v *term.Variable, z *vectorizer[T], out *[]repeatedRow[T]) *term.Term {
	seen := map[string]bool{}
	var without func(x *term.Term) *term.Term
	without = func(x *term.Term) *term.Term {
		if x.Op == term.Reduce { // a nested reduction has indices of its own
			return x
		}
		if x.Op != term.Element || x.Kind != term.Real || x.Read.Which != nil || x.Read.Else != nil || x.Uses(w) || !x.Uses(v) ||
			k.tensors[x.Read.Tensor].Memory == k.tensors[s.Target].Memory {
			return x.Map(without)
		}
		if a := rewrite.AccessOf(x.Read); len(a.Open) > 0 || len(a.Offset.Rest) > 0 { // it may be out of bounds
			return x.Map(without)
		}
		if key := k.key(x); !seen[key] {
			seen[key] = true
			repeat := func(p *vectorizer[T], reg int, name func(*term.Term) string) {
				r := repeatedRow[T]{code: p.strip, x: reg, all: z.register(true)}
				was := k.lenient
				for _, k.lenient = range []bool{false, true} { // a speculative load has another key
					z.known[name(x)] = operand[T]{reg: r.all}
				}
				k.lenient = was
				*out = append(*out, r)
			}
			p := newVectorizer(k.compiler, v)
			repeat(p, p.vector(p.real(x)), k.key)
			p = newVectorizer(k.compiler, v)
			if rest, ok := p.rest(x); ok {
				repeat(p, rest.reg, k.restKey)
			}
		}
		return following(x, w, v)
	}
	return without(s.Value)
}

// following returns a load that is contiguous across rows, to stand for x.
func following(x *term.Term, w, v *term.Variable) *term.Term {
	at := term.Sum(term.Product(w.Term(), term.Number(rewrite.Extent(v))), v.Term())
	read := *x.Read
	read.Idx, read.Ext = []*term.Term{at}, []*term.Term{term.Number(rewrite.Extent(w) * rewrite.Extent(v))}
	return &term.Term{Op: term.Element, Kind: x.Kind, Read: &read}
}

// fill repeats the operand's row of n elements rows times.
func (r *repeatedRow[T]) fill(s *state[T], n, rows int) {
	r.code.exec(s, n)
	for i := range rows {
		copy(s.regs[r.all][i*n:], s.regs[r.x][:n])
	}
}
