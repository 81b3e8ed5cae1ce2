package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Nest is statements that share all of their loops. Within a nest, a statement uses what another one of it
// gives only for the same values of the indices.
type Nest struct {
	Vars       []*term.Variable // from 0 on, of known extents, but for those of which IsOpen is true
	Statements []*Nested
}

// Nested is a statement of a nest. A reduction is all of its value, or part of the body of another one.
type Nested struct {
	Target int
	Left   *term.Read
	Value  *term.Term
	Add    bool       // the value is added to the element, of which there may be several for an index
	Guard  *term.Term // of what is added; nil if all is
	// Lenient says that the value is also computed where it is not needed. Elements outside of tensors are
	// then 0.
	Lenient bool
}

// Nests returns the statements of a program as nests, which run one after the other, and how all tensors are
// kept. Tensors that it adds to the program are local. own is the type of real numbers. If the range of an
// index depends on others, the statement must be one that adds to elements.
func Nests(p *program.Program, statements []*program.Statement, tensors []Tensor) (nests []*Nest, all []Tensor, own dtype.Type, err error) {
	c := &compiler[float32]{p: p, own: typeOf(p, tensors), places: map[*term.Variable]int{}, narrow: map[int]bool{}}
	z := newNormalizer(p, tensors, c.own)
	z.whole = true
	for _, s := range statements {
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

// Open lists the dimensions in which an element may lie outside of its tensor.
func Open(r *term.Read) []int { return accessOf(r).open }

// Stride returns by how many elements the place of an element moves with an index. It is false if the place
// depends on the index in another way.
func Stride(r *term.Read, v *term.Variable) (elements int, known bool) {
	f := accessOf(r).offset
	return f.factor(v), !f.hidden(v)
}

// Offset returns the place of the element at which all indices are 0. It is false if the place is not a
// linear function of the indices, or if the element may lie outside.
func Offset(r *term.Read) (elements int, linear bool) {
	a := accessOf(r)
	return a.offset.base, len(a.offset.rest) == 0 && len(a.open) == 0 && r.Which == nil
}

// Row tells where elements lie in rows, one for each value that outer indices have when they are taken as
// one: by how many elements a row begins after the one before, and from where to where in its row elements
// lie. It is false if they do not lie so.
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
	return stride, b.lo, b.hi, b.known
}

// Bounds returns the least and the greatest value of an integer, if they are known.
func Bounds(n *term.Term) (lo, hi int, known bool) {
	b := linear(n).bounds()
	return b.lo, b.hi, b.known
}

// IsOpen reports whether the range of an index depends on others, which are before it.
func IsOpen(v *term.Variable) bool {
	_, lo := v.Lo.Known()
	_, hi := v.Hi.Known()
	return !lo || !hi
}

// Extent returns how many values an index that starts at 0 has.
func Extent(v *term.Variable) int { return extent(v) }
