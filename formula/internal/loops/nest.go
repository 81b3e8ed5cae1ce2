package loops

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Nest is statements in one loop nest. A statement of the nest reads the result of another one only at the
// same iteration.
type Nest struct {
	Vars       []*term.Variable // from 0, with constant extents unless IsOpen
	Statements []*Nested
}

// Nested is a statement of a nest. A reduction is the whole value, or is nested in the body of another
// reduction.
type Nested struct {
	Target int
	Left   *term.Read
	Value  *term.Term
	Add    bool       // whether the value is accumulated; an iteration may share its element with others
	Guard  *term.Term // of the accumulation; nil if none
	// Lenient says that the value is speculative: it is also evaluated where it is not used. Loads out of
	// bounds are then 0.
	Lenient bool
}

// Nests returns the statements of a program as loop nests, which run in order, and the memory of all
// tensors. Tensors that it adds to the program are temporaries. own is the compute type. Only statements
// that accumulate may have indices whose ranges depend on other indices.
func Nests(p *program.Program, statements []*program.Statement, tensors []Tensor) (nests []*Nest, all []Tensor, own dtype.Type, err error) {
	c := &compiler[float32]{p: p, own: typeOf(p, tensors), places: map[*term.Variable]int{}, narrow: map[int]bool{}}
	z := newNormalizer(p, tensors, c.own)
	z.whole = true
	for _, s := range statements {
		if s.Recurrence != nil {
			return nil, nil, c.own, fmt.Errorf("%s: there is no device code for a recurrence", s)
		}
		if err := scoped(p, s.Target, s.Left, s.Vars, s.Value, s.Guard); err != nil {
			return nil, nil, c.own, err
		}
	}
	if err := z.normalize(statements); err != nil {
		return nil, nil, c.own, err
	}
	c.tensors = z.tensors
	c.complete(z.out)
	var bundles []*bundle
	for _, s := range z.out {
		if !s.add && s.scan() == nil && s.order() == nil {
			s = digits(s)
		}
		if n := len(bundles); n > 0 && c.merge(bundles[n-1], s) {
			continue
		}
		bundles = append(bundles, newBundle(s))
	}
	for _, b := range bundles {
		if !slices.ContainsFunc(b.vars, IsOpen) {
			collapse(&bundleGroup{bundles: []*bundle{b}})
		}
		n := &Nest{Vars: b.vars}
		for i, s := range b.statements {
			x := &Nested{Target: s.target, Left: s.left, Value: s.value, Add: s.add, Guard: s.guard, Lenient: s.lenient}
			if b.folds != nil {
				x.Value = &term.Term{Op: term.Reduce, Kind: s.value.Kind, Reduction: b.folds[i]}
			}
			n.Statements = append(n.Statements, x)
		}
		nests = append(nests, n)
	}
	return nests, c.tensors, c.own, nil
}

// Open lists the dimensions of an access whose bounds are not proved.
func Open(r *term.Read) []int { return accessOf(r).open }

// Stride returns the stride of an access along an index, in elements; false if the offset is not affine in
// the index.
func Stride(r *term.Read, v *term.Variable) (elements int, known bool) {
	f := accessOf(r).offset
	return f.factor(v), !f.hidden(v)
}

// Offset returns the offset of an access at index 0; false if the offset is not affine, or if bounds are not
// proved.
func Offset(r *term.Read) (elements int, linear bool) {
	a := accessOf(r)
	return a.offset.base, len(a.offset.rest) == 0 && len(a.open) == 0 && r.Which == nil
}

// Row describes an access as rows of elements, one row for each iteration of the outer loops. stride is the
// distance of rows, and first to last the range of elements in a row. It returns false if the access has
// another form.
func Row(r *term.Read, outer []*term.Variable) (stride, first, last int, known bool) {
	a := accessOf(r)
	if len(a.offset.rest) > 0 || len(a.open) > 0 || r.Which != nil {
		return 0, 0, 0, false
	}
	inner, after := a.offset, 1
	for i := len(outer) - 1; i >= 0; i-- {
		switch factor := a.offset.factor(outer[i]); {
		case extent(outer[i]) == 1:
		case after == 1:
			stride = factor
		case factor != stride*after:
			return 0, 0, 0, false
		}
		after *= extent(outer[i])
		inner = inner.without(outer[i])
	}
	b := inner.bounds()
	return stride, b.Lo, b.Hi, b.Known
}

// Bounds returns the least and the greatest value of an integer, if they are known.
func Bounds(n *term.Term) (lo, hi int, known bool) {
	b := linear(n).bounds()
	return b.Lo, b.Hi, b.Known
}

// IsOpen reports whether the range of an index depends on others, which are before it.
func IsOpen(v *term.Variable) bool {
	_, lo := v.Lo.Known()
	_, hi := v.Hi.Known()
	return !lo || !hi
}

// Extent returns how many values an index that starts at 0 has.
func Extent(v *term.Variable) int { return extent(v) }
