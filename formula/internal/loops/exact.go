package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// Values without real elements of tensors depend on indices, integers, attributes and constants only, such
// as the angle of a position. Scalar code computes them in float64, and so do strips of such values,
// whatever the compute type: float32 would lose the digits of a large angle, and results would depend on the
// vectorized index. They are rounded once, where they meet real elements.

// wider reports whether a value is computed in float64 strips although the compute type is float32: it
// depends on no real elements of tensors, and needs more than one rounding.
func (z *vectorizer[T]) wider(n *term.Term) bool {
	return z.c.own == dtype.F32 && n.Op != term.Element && n.Uses(z.v) && OfIntegers(n, z.c.exacts)
}

// OfIntegers reports whether a real value depends on indices, integers, attributes and constants only, and
// needs more than one rounding in float32. exacts are float64 temporaries of such values, which it may load.
func OfIntegers(n *term.Term, exacts map[int]bool) bool {
	return n.Kind == term.Real && n.Op != term.Constant && !roundsOnce(n) && rewrite.OfIntegers(n, exacts)
}

// roundsOnce reports whether a value is one operation on numbers that float32 represents. Its float64 result
// then rounds to the result in float32, since float64 has more than twice the digits: this holds for sums,
// differences, products, quotients and square roots.
func roundsOnce(n *term.Term) bool {
	args := n.Args
	switch n.Op {
	case term.Add, term.Subtract, term.Multiply, term.Divide, term.Negate:
	case term.Choose:
		args = args[1:]
	case term.Power:
		if v, known := n.Args[1].Settled(); !known || v != 2 && v != 0.5 && v != -1 {
			return false
		}
	case term.Apply:
		if !n.Func.Has(term.Exact | term.RoundsOnce) {
			return false
		}
	default:
		return false
	}
	for _, a := range args {
		if !single(a) {
			return false
		}
	}
	return true
}

// single reports whether float32 represents a number exactly.
func single(n *term.Term) bool {
	if v, known := n.Settled(); known {
		return float64(float32(v)) == v
	}
	if n.Kind == term.Boolean {
		return true
	}
	if n.Op == term.Choose {
		return single(n.Args[1]) && single(n.Args[2])
	}
	b := rewrite.Linear(n).Bounds()
	return n.Kind == term.Integer && b.Known && b.Lo >= -rewrite.Exact32 && b.Hi <= rewrite.Exact32
}

// inDouble compiles a value in float64 strips, and returns a register that holds it rounded to T.
func (z *vectorizer[T]) inDouble(n *term.Term) int {
	o := z.double(n, false)
	return z.other(o, z.register(false))
}

// storeExact emits a store of a value that is computed in float64 strips, without rounding.
func (z *vectorizer[T]) storeExact(t int, a *rewrite.Access, n *term.Term) {
	o := z.double(n, false)
	o.to = z.address(t, a)
	z.other(o, -1)
}

// doubled is a value that nested float64 strips compute.
type doubled[T simd.Float] struct {
	code    strip[float64]
	from    int         // the register of the value
	of      *term.Term  // the value
	tensors []int       // tensors that the code loads
	to      *address[T] // destination of the value; nil if it is rounded to a register
}

// double compiles a value in float64 strips. If strict is true, its operations round as scalar code does.
func (z *vectorizer[T]) double(n *term.Term, strict bool) *doubled[T] {
	z.fromMemory(n)
	c := z.c.inDouble()
	c.lenient = z.c.lenient
	d := newVectorizer(c, z.v)
	d.strict = strict
	from := d.vector(d.real(n))
	c.finish(&d.strip)
	c.lenient = false
	z.c.fails, z.heavy = z.c.fails || c.fails, z.heavy || d.heavy
	o := &doubled[T]{code: d.strip, from: from, of: n}
	n.Walk(func(m *term.Term) {
		for i := 0; m.Op == term.Element && i < m.Read.Count; i++ {
			o.tensors = append(o.tensors, m.Read.Tensor+i)
		}
	})
	return o
}

func (o *doubled[T]) exec(s *state[T], in *instruction[T], n int) {
	if value := o.values(s, n); o.to != nil {
		simd.Scatter(s.mem[o.to.tensor].f64, value, o.to.at(s), o.to.step)
	} else {
		convert(s.regs[in.def][:n], value)
	}
}

// values computes n elements of the value in float64.
func (o *doubled[T]) values(s *state[T], n int) []float64 {
	x := s.double
	x.step, x.stop = s.step, s.stop
	for _, t := range o.tensors {
		m := &s.mem[t]
		x.mem[t] = block[float64]{same: m.f64, f32: m.f32, f64: m.f64, bits: m.bits, data: m.data}
	}
	o.code.exec(x, n)
	return x.regs[o.from][:n]
}

func (o *doubled[T]) text(p *lister[T], _ []string) string {
	if o.to != nil {
		return p.address(o.to) + " = " + o.of.String() + ", in f64"
	}
	return o.of.String() + ", in f64"
}

// strictly reports whether strict strips compute a value with the bits of scalar code.
func (c *compiler[T]) strictly(n *term.Term) bool {
	if _, known := n.Settled(); known {
		return n.Kind != term.Boolean
	}
	if n.Kind == term.Integer {
		signed := true
		rewrite.Reads(n, func(r *term.Read) { signed = signed && c.tensors[r.Tensor].Type != dtype.U64 })
		return signed
	}
	switch n.Op {
	case term.Element:
		return n.Read.Else == nil || c.strictly(n.Read.Else)
	case term.Negate, term.Add, term.Subtract, term.Multiply, term.Divide:
	case term.Apply:
		if !n.Func.Has(term.Exact) {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(n.Args, func(x *term.Term) bool { return !c.strictly(x) })
}

// inDouble returns the compiler of nested float64 strips. It shares the slots of indices.
func (c *compiler[T]) inDouble() *compiler[float64] {
	if c.double == nil {
		c.double = &compiler[float64]{p: c.p, options: c.options, own: dtype.F64, tensors: c.tensors, places: c.places, kept: map[int]bool{}, narrow: c.narrow,
			exacts: c.exacts}
	}
	return c.double
}

// stateInDouble returns a state of nested float64 strips, with the values of indices in vars. It returns nil
// if there are no such strips.
func stateInDouble[T simd.Float](c *compiler[T], vars []int) *state[float64] {
	if c.double == nil {
		return nil
	}
	r := &runner[float64]{code: &code[float64]{compiler: c.double}, mem: make([]block[float64], len(c.tensors))}
	return r.stateWith(vars)
}

// noteExact makes temporaries float64 if float32 would round their integer-valued reals. Several statements
// may define such a temporary, and it may depend on others.
func (c *compiler[T]) noteExact(statements []*rewrite.Statement) {
	parts := map[int][]*rewrite.Statement{}
	for _, s := range statements {
		parts[s.Target] = append(parts[s.Target], s)
	}
	for again := true; again; {
		again = false
		for target, list := range parts {
			t := &c.tensors[target]
			if t.Local && !t.Planned && t.Type == dtype.Invalid && t.Memory == target && c.givesIntegers(list) {
				t.Type, c.exacts[target], again = dtype.F64, true, true
			}
		}
	}
}

// givesIntegers reports whether the statements that define a temporary compute reals from integers, some of
// which float32 would round.
func (c *compiler[T]) givesIntegers(parts []*rewrite.Statement) bool {
	rounds := false
	for _, s := range parts {
		if s.Add || s.Reduction() != nil || s.Value.Kind != term.Real || !rewrite.OfIntegers(s.Value, c.exacts) {
			return false
		}
		rounds = rounds || RoundsIntegers(s.Value, c.exacts)
	}
	return rounds
}

// RoundsIntegers reports whether a float32 temporary would round a real value that depends on indices,
// integers, attributes and constants only. A function of the temporary may need the digits even if one
// rounding suffices for the value itself.
func RoundsIntegers(n *term.Term, exacts map[int]bool) bool {
	return n.Kind == term.Real && rewrite.OfIntegers(n, exacts) && !single(n)
}
