// Package rewrite brings the statements of a program into the form that loops and device code compile. Each
// rewriting is a pass of its own, in a file of its own: [Normalize] runs them in order. The package also
// holds the linear forms of subscripts ([Form], [Access]), by which both choose loops.
package rewrite

import (
	"fmt"
	"maps"
	"slices"

	algebra "github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Options restricts how statements are rewritten.
type Options struct {
	// Compute is the type in which real numbers are computed, F32 or F64.
	Compute dtype.Type
	// Device says that statements become device code, which keeps ranges, scans and windows as they are.
	Device bool
	// Ordered says that loops must not be permuted.
	Ordered bool
	// Outer holds the indices that have values when the code runs, such as the index of a recurrence.
	Outer []*term.Variable
	// Exact holds float64 temporaries of other code whose values are integers.
	Exact map[int]bool
	// Unused says that statements remain on which no other tensor depends.
	Unused bool
}

// Result holds rewritten statements.
type Result struct {
	Statements []*Statement
	Tensors    []Tensor     // by tensor of the program, with the temporaries that were added
	Constants  []*Statement // definitions of tensors of constants
	Exact      map[int]bool // float64 temporaries whose values are integers
}

// Normalize rewrites the statements of a program for loops: indices begin at 0, and a reduction is a
// statement's whole value. tensors describes the memory of the program's tensors, by tensor. Normalize adds
// temporaries to the program, such as those for nested reductions. The error names a statement for which
// there are no loops, such as one with an index whose range depends on other indices and with a value that is
// not accumulated.
func Normalize(p *program.Program, statements []*program.Statement, tensors []Tensor, o Options) (*Result, error) {
	z := &normalizer{p: p, own: o.Compute, tensors: slices.Clone(tensors), whole: o.Device, outer: o.Outer, ordered: o.Ordered,
		numbers: map[int]*term.Term{}, exacts: map[int]bool{}, written: map[int]bool{}, used: map[int]bool{},
		joined: map[*program.Statement]*program.Statement{}}
	maps.Copy(z.exacts, o.Exact)
	if err := z.normalize(statements); err != nil {
		return nil, err
	}
	if !o.Unused {
		z.prune()
	}
	return &Result{z.out, z.tensors, z.constants, z.exacts}, nil
}

// normalizer rewrites statements, and adds temporaries for nested reductions.
type normalizer struct {
	p       *program.Program
	own     dtype.Type // compute type
	tensors []Tensor
	out     []*Statement
	written map[int]bool                              // owners of memory that statements write
	numbers map[int]*term.Term                        // scalar temporaries that are inlined
	joined  map[*program.Statement]*program.Statement // statement -> the segment reduction that is scattered into its result
	whole   bool                                      // whether statements become device code
	outer   []*term.Variable                          // indices that have values when the code runs, such as the index of a recurrence

	ordered   bool         // whether loops must not be permuted
	used      map[int]bool // tensors that statements read
	exacts    map[int]bool // float64 temporaries whose values are integers
	constants []*Statement // definitions of tensors of constants
	early     []*Statement // definitions of functions that were hoisted
	segments  []segment    // segment reductions whose results are temporaries
}

// normalize rewrites statements, and appends them to the result.
func (z *normalizer) normalize(statements []*program.Statement) error {
	for _, s := range statements {
		z.written[z.tensors[s.Target].Memory] = true
		s.Reads(func(r *term.Read) {
			for i := range r.Count {
				z.used[r.Tensor+i] = true
			}
		})
	}
	if !z.whole {
		statements = z.withoutCopies(z.withoutCheap(statements))
	}
	for i, s := range statements {
		if z.whole || !z.join(statements, i) {
			if err := z.statement(s); err != nil {
				return err
			}
		}
	}
	if !z.whole {
		z.places()
		z.cut()
	}
	for _, s := range z.out {
		if err := Scoped(z.p, s.Target, s.Left, slices.Concat(z.outer, s.Vars), s.Value, s.Guard); err != nil {
			return err
		}
	}
	return nil
}

// prune removes dead statements: those that define a temporary on which no other tensor depends.
func (z *normalizer) prune() {
	need := map[int]bool{} // memory
	var kept []*Statement
	for _, s := range slices.Backward(z.out) {
		if t := z.tensors[s.Target]; t.Local && !need[t.Memory] {
			continue
		}
		kept = append(kept, s)
		s.Walk(func(n *term.Term) {
			for i := 0; n.Op == term.Element && i < n.Read.Count; i++ {
				need[z.tensors[n.Read.Tensor+i].Memory] = true
			}
		})
	}
	slices.Reverse(kept)
	z.out = kept
}

// read copies a statement of a program, with scalar temporaries inlined.
func (z *normalizer) read(s *program.Statement) *Statement {
	left := *s.Left
	left.Which, left.Idx = z.inlined(s.Left.Which), nil
	for _, x := range s.Left.Idx {
		left.Idx = append(left.Idx, z.inlined(x))
	}
	return &Statement{Target: s.Target, Left: &left, Vars: s.Vars, Value: integral(z.inlined(s.Value)), Add: s.Add, Guard: integral(z.inlined(s.Guard))}
}

// fromZero makes all ranges of a statement's indices begin at 0. Ranges that depend on other indices become
// constant ones with a guard. The error names an index for which there is no such range.
func (z *normalizer) fromZero(n *Statement) (err error) {
	clipped(n)
	var ranges *term.Term
	if ranges, err = z.shift(n); err == nil {
		n.Value, n.Guard = densities(settled(z.held(n.Value))), term.All(ranges, settled(z.held(n.Guard)))
		if !z.whole {
			z.unbounded(n)
		}
	}
	return err
}

// held removes conditions that always hold since the elements of index tensors are below their bounds.
func (z *normalizer) held(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	if n.Op == term.Less || n.Op == term.AtMost {
		if holds, known := compared(z.ranged(n)); holds && known {
			return term.Condition(true)
		}
	}
	m := n.Map(z.held)
	switch {
	case m.Op == term.And:
		return term.Both(m.Args[0], m.Args[1])
	case m.Op == term.Choose:
		return term.Chosen(m.Args[0], m.Args[1], m.Args[2])
	}
	return m
}

// ranged replaces loads from index tensors by indices with the range of the tensors' elements.
func (z *normalizer) ranged(n *term.Term) *term.Term {
	if n.Op == term.Element && n.Kind == term.Integer && n.Read.Count == 1 && n.Read.Which == nil && z.tensors[n.Read.Tensor].Below > 0 {
		if n.Read.Else == nil || len(AccessOf(n.Read).Open) == 0 {
			return (&term.Variable{Name: "i", Lo: term.Number(0), Hi: term.Number(z.tensors[n.Read.Tensor].Below)}).Term()
		}
	}
	return n.Map(z.ranged)
}

// statement appends the normalized statements of a statement of the program.
func (z *normalizer) statement(s *program.Statement) error {
	n := z.read(s)
	if z.number(n) {
		return nil
	}
	if !z.whole {
		n.Value = derive.Narrowed(n.Value, len(z.outer) == 0)
	}
	if err := z.fromZero(n); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	if !z.whole {
		if err := z.onePass(s, n); err != nil {
			return err
		}
	}
	if h := z.joined[s]; h != nil {
		into := z.read(h)
		if err := z.fromZero(into); err != nil {
			return fmt.Errorf("%s: %w", h, err)
		}
		if err := z.onePass(h, into); err != nil {
			return err
		}
		if z.folded(n, into) {
			return nil
		}
		if !z.histogram(into) {
			z.finish(into)
		}
	}
	if z.whole || n.Ragged != nil {
		z.finish(n)
		return nil
	}
	if z.histogram(n) {
		return nil
	}
	z.segmented(n)
	n.Value = z.counted(n.Value)
	if scattered(n) {
		return fmt.Errorf("%s: there are no loops for the places that it looks up", s)
	}
	if n.Present() != nil {
		z.finish(presentLast(n))
		return nil
	}
	if n.Order() != nil {
		n, _ = OrderedFirst(n)
		z.finish(n)
		return nil
	}
	parts := []*Statement{Digits(n)}
	if !z.ordered {
		parts = residues(n)
	}
	for _, d := range parts {
		d.Value = written(edged(z.counted(z.rectangular(d.Value, d.Vars))))
		for _, piece := range Pieces(d) {
			if piece.Add {
				piece = consecutiveLast(piece)
			}
			for _, p := range z.unrolled(piece) {
				z.finish(z.hoisted(p))
			}
		}
	}
	return nil
}

// consecutiveLast makes an index with stride 1 the innermost loop of a scatter, if there is one. The order
// of additions to an element is unchanged.
func consecutiveLast(s *Statement) *Statement {
	f := AccessOf(s.Left).Offset
	i := slices.IndexFunc(s.Vars, func(v *term.Variable) bool { return f.Factor(v) == 1 && !f.Hidden(v) && Extent(v) >= Shortest })
	if i < 0 {
		return s
	}
	out := *s
	out.Vars = append(slices.Delete(slices.Clone(s.Vars), i, i+1), s.Vars[i])
	return &out
}

// number records the value of a scalar temporary that needs no loop, and returns true. The value is inlined
// where it is read, so that the temporary takes no step of its own.
func (z *normalizer) number(s *Statement) bool {
	if !z.tensors[s.Target].Local || len(s.Left.Idx) > 0 || len(s.Vars) > 0 || s.Add || s.Guard != nil {
		return false
	}
	loops := false
	s.Value.Walk(func(n *term.Term) {
		loops = loops || n.Op == term.Reduce || n.Op == term.Element && z.written[z.tensors[n.Read.Tensor].Memory]
	})
	if loops {
		return false
	}
	z.numbers[s.Target] = s.Value
	return true
}

// inlined replaces loads of recorded scalar temporaries in a value by their definitions.
func (z *normalizer) inlined(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	if n.Op == term.Element {
		if v := z.numbers[n.Read.Tensor]; v != nil {
			return v
		}
	}
	return n.Map(z.inlined)
}

// finish extracts the nested reductions of a statement into statements of their own, and appends it. A
// statement whose guard never holds is dropped.
func (z *normalizer) finish(n *Statement) {
	if n.Guard != nil {
		if holds, known := n.Guard.Truth(); known {
			if !holds {
				return
			}
			n.Guard = nil
		}
	}
	n.Value = z.separated(n)
	if n.Guard != nil && !z.whole {
		n.Guard = z.extracted(n.Guard, even(n), n.Lenient)
	}
	z.out = append(z.out, n)
}

// even returns the indices of a statement whose ranges do not depend on others.
func even(n *Statement) []*term.Variable {
	return slices.DeleteFunc(slices.Clone(n.Vars), func(v *term.Variable) bool { return slices.Contains(n.Ragged, v) })
}

// separated returns the statement's value with nested reductions replaced by loads of temporaries. A
// reduction that is the whole value stays.
func (z *normalizer) separated(n *Statement) *term.Term {
	if n.Value.Op != term.Reduce || n.Add {
		return z.extracted(n.Value, even(n), n.Guard != nil || n.Lenient)
	}
	if !z.whole && n.Chain() != nil {
		return n.Value
	}
	lenient := n.Guard != nil || n.Lenient
	x := z.withMean(z.varied(z.inside(n.Value, n.Vars, false), n.Vars, lenient))
	if y := z.wholeProduct(x, n.Vars, lenient); y != nil {
		return y
	}
	if y := z.known(x, false); y != nil {
		return y
	}
	return x
}

// shift makes the indices of a statement begin at 0, and eliminates indices with one value. It returns the
// conditions that replace ranges which depend on other indices. The error names an index that has no constant
// range around its own.
func (z *normalizer) shift(s *Statement) (ranges *term.Term, err error) {
	to := map[*term.Variable]*term.Term{}
	var vars []*term.Variable
	for _, v := range s.Vars {
		from := v
		var open *term.Variable
		if IsOpen(v) {
			lo, hi := z.inlined(v.Lo).Substitute(to), z.inlined(v.Hi).Substitute(to)
			open = &term.Variable{Name: v.Name, Lo: z.single(lo), Hi: z.single(hi)}
			if v = open; !z.whole {
				if v = z.around(open); v == nil || !s.Add {
					return nil, fmt.Errorf("there are no loops for %s, whose range depends on other indices", from.Name)
				}
			}
			to[from] = v.Term()
		}
		lo, known := v.Lo.Known() // an index with one value is a constant now
		hi, both := v.Hi.Known()
		switch {
		case !known || !both:
			vars = append(vars, v)
		case hi == lo+1:
			to[from] = term.Number(lo)
		case lo != 0:
			w := &term.Variable{Name: v.Name, Lo: term.Number(0), Hi: term.Number(max(hi-lo, 0))}
			to[from] = term.Sum(w.Term(), term.Number(lo))
			vars = append(vars, w)
		default:
			vars = append(vars, v)
		}
		if open != nil && !z.whole && IsOpen(open) {
			at := from.Term().Substitute(to)
			ranges = term.All(ranges, term.Compare(term.AtMost, open.Lo, at), term.Compare(term.Less, at, open.Hi))
			s.Ragged = append(s.Ragged, at.Free()...)
		}
	}
	r := *s.Left
	r.Idx = nil
	for _, x := range s.Left.Idx {
		r.Idx = append(r.Idx, x.Substitute(to))
	}
	if r.Which != nil {
		r.Which = r.Which.Substitute(to)
	}
	s.Vars, s.Left = vars, &r
	s.Value, s.Guard = z.single(s.Value.Substitute(to)), z.single(s.Guard.Substitute(to))
	return ranges, nil
}

// around returns an index with a constant range that contains the range of v. It returns nil if there is
// none.
func (z *normalizer) around(v *term.Variable) *term.Variable {
	lo, known := bound(z.ranged(v.Lo), term.Max, func(i algebra.Interval) int { return i.Lo })
	hi, both := bound(z.ranged(v.Hi), term.Min, func(i algebra.Interval) int { return i.Hi })
	if !known || !both {
		return nil
	}
	return &term.Variable{Name: v.Name, Lo: term.Number(lo), Hi: term.Number(max(hi, lo))}
}

// bound returns a lower or upper bound of an integer, as end selects: the end of its interval or, for a min
// or max, the end of an operand's interval. It returns false if no bound is known.
func bound(n *term.Term, function *term.Function, end func(algebra.Interval) int) (int, bool) {
	if i := Linear(n).Bounds(); i.Known {
		return end(i), true
	}
	if n.Op == term.Apply && n.Func == function {
		for _, x := range n.Args {
			if b, known := bound(x, function, end); known {
				return b, true
			}
		}
	}
	return 0, false
}

// single eliminates reduced indices with one value, and makes the constant ranges of the others begin at 0.
func (z *normalizer) single(n *term.Term) *term.Term {
	if n == nil {
		return nil
	}
	if n.Op != term.Reduce || n.Reduction.Kind == reduction.ArgMax || n.Reduction.Kind == reduction.ArgMin || n.Reduction.IsOrder() {
		return n.Map(z.single)
	}
	to := map[*term.Variable]*term.Term{}
	r := *n.Reduction
	r.Vars = nil
	for _, v := range n.Reduction.Vars {
		w := &term.Variable{Name: v.Name, Lo: v.Lo.Substitute(to), Hi: v.Hi.Substitute(to)}
		lo, known := w.Lo.Known()
		hi, both := w.Hi.Known()
		switch {
		case known && both && hi == lo+1:
			to[v] = term.Number(lo)
			continue
		case known && both && (lo != 0 || hi < 0): // an empty range has 0 values, not a negative number
			w.Lo, w.Hi = term.Number(0), term.Number(max(hi-lo, 0))
			to[v] = term.Sum(w.Term(), term.Number(lo))
		default:
			to[v] = w.Term()
		}
		r.Vars = append(r.Vars, w)
	}
	r.Guard, r.Body = z.single(r.Guard.Substitute(to)), z.single(r.Body.Substitute(to))
	if r.Relative() {
		r.At = []*term.Term{z.single(r.At[0])}
		if len(r.Vars) == 0 && r.Guard == nil {
			return term.RealNumber(0)
		}
	}
	// An extreme of one integer stays: an integer that is the extreme of nothing is stored in another way.
	if extreme := n.Kind == term.Integer && r.Kind.Is(reduction.Extreme); len(r.Vars) == 0 && r.Guard == nil && !extreme && (r.Kind.Is(reduction.Same|reduction.Truth) || r.Kind == reduction.Mean) {
		return r.Body
	}
	if len(r.Vars) == 0 && n.Kind == term.Real && r.Kind.Is(reduction.Same) {
		return term.Chosen(r.Guard, r.Body, term.RealNumber(r.Kind.Identity()))
	}
	return &term.Term{Op: term.Reduce, Kind: n.Kind, Reduction: &r}
}
