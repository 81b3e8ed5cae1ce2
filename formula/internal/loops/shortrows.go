package loops

import (
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// shortRows is a pointwise statement over contiguous short rows. A strip covers several rows. Operands that
// are the same in all rows (broadcasts) are repeated into a strip first.
type shortRows[T simd.Float] struct {
	outer    nest[T] // over all indices but those of rows and of elements
	row      loop[T]
	last     int // slot of the index of elements
	n        int // elements of a row
	together int // rows of a strip
	repeated []repeatedRow[T]
	code     strip[T]
}

// repeatedRow is a broadcast operand.
type repeatedRow[T simd.Float] struct {
	code strip[T]
	x    int // register of one row
	all  int // register of the repeated rows
}

// longestShort is the maximum length of a short row.
const longestShort = 128

// shortRows returns a unit for short rows, or nil if rows are long, or if an access is neither contiguous
// across rows nor a broadcast.
func (k *unitCompiler[T]) shortRows() unit[T] {
	vars, s := k.bundle.vars, k.bundle.statements[0]
	d := len(vars) - 2
	if d < 0 || d < k.depth-1 || len(k.bundle.statements) > 1 || s.guard != nil || s.add || s.value.Kind != term.Real || s.left.Which != nil {
		return nil
	}
	w, v := vars[d], vars[d+1]
	n := extent(v)
	if n < 2 || n > longestShort || extent(w) < 4 {
		return nil
	}
	out := &shortRows[T]{last: k.place(v), n: n, together: stripLength / n}
	z, a := newVectorizer(k.compiler, v), accessOf(s.left)
	follows := true
	check := func(f form) { follows = follows && f.factor(w) == n*f.factor(v) && !f.hidden(w) && !f.hidden(v) }
	check(a.offset)
	follows = follows && len(a.open) == 0 && a.offset.factor(v) == 1
	forms(k.apart(s, w, v, z, out), check)
	if !follows || len(out.repeated) == 0 {
		return nil
	}
	z.store(s, z.real(s.value))
	k.finish(&z.strip)
	for i := range out.repeated {
		k.finish(&out.repeated[i].code)
	}
	k.accumulate(out)
	out.outer, out.row, out.code = k.loops(k.free()[:len(k.free())-2], nil), k.loop(w), z.strip
	return out
}

// apart replaces the broadcast operands in a statement's value by contiguous loads, and records them in out.
func (k *unitCompiler[T]) apart(s *statement, w, v *term.Variable, z *vectorizer[T], out *shortRows[T]) *term.Term {
	seen := map[string]bool{}
	var without func(x *term.Term) *term.Term
	without = func(x *term.Term) *term.Term {
		if x.Op == term.Reduce { // a nested reduction has indices of its own
			return x
		}
		if x.Op != term.Element || x.Kind != term.Real || x.Read.Which != nil || x.Read.Else != nil || x.Uses(w) || !x.Uses(v) ||
			k.tensors[x.Read.Tensor].Memory == k.tensors[s.target].Memory {
			return x.Map(without)
		}
		if a := accessOf(x.Read); len(a.open) > 0 || len(a.offset.rest) > 0 { // it may be out of bounds
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
				out.repeated = append(out.repeated, r)
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
	return without(s.value)
}

// following returns a load that is contiguous across rows, in place of x.
func following(x *term.Term, w, v *term.Variable) *term.Term {
	at := term.Sum(term.Product(w.Term(), term.Number(extent(v))), v.Term())
	read := *x.Read
	read.Idx, read.Ext = []*term.Term{at}, []*term.Term{term.Number(extent(w) * extent(v))}
	return &term.Term{Op: term.Element, Kind: x.Kind, Read: &read}
}

// accumulate allocates strips for registers of repeated rows.
func (k *unitCompiler[T]) accumulate(u *shortRows[T]) {
	for _, r := range u.repeated {
		k.accumulators = append(k.accumulators, r.all)
	}
}

func (u *shortRows[T]) run(s *state[T], lo, hi int) {
	u.outer.each(s, 0, lo, hi, func(s *state[T]) { u.rows(s, lo, hi) })
}

// rows computes the rows of one iteration of the outer loops.
func (u *shortRows[T]) rows(s *state[T], lo, hi int) {
	a, b := u.row.limits(s, lo, hi)
	if a >= b {
		return
	}
	s.vars[u.row.place], s.vars[u.last] = a, 0
	for i := range u.repeated {
		r := &u.repeated[i]
		r.code.exec(s, u.n)
		x, all := s.regs[r.x][:u.n], s.regs[r.all][:u.n*min(u.together, b-a)]
		for len(all) > 0 {
			all = all[copy(all, x):]
		}
	}
	for i := a; i < b; i += u.together {
		s.vars[u.row.place] = i
		u.code.exec(s, u.n*min(u.together, b-i))
	}
}
