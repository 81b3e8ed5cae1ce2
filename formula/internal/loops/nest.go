package loops

import (
	"maps"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Nest is a loop nest of statements. A statement may read what another one of the nest writes only in the
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
	Add    bool       // whether the value is added to the target, whose elements several iterations may share
	Guard  *term.Term // condition of the addition; nil if there is none
	// Lenient says that the value is speculative: it is also evaluated where it is not used, and loads out of
	// bounds are 0.
	Lenient bool
}

// Part is loop nests that run in order. The nests of a recurrence run once for each value of an index.
type Part struct {
	Nests []*Nest
	Over  *term.Variable // the index of a recurrence, from 0, which is free in the nests; nil if the part is no recurrence
	Down  bool           // whether the index runs from its last value to the first
	// Rows are further free indices of a recurrence, from 0. Statements read results of the recurrence only
	// at the same values of these indices.
	Rows []*term.Variable
	Own  []int // temporaries whose elements are those of one value of all free indices
}

// Parts returns the statements of a program as loop nests, which run in order, and the memory of all tensors,
// among them temporaries that it adds to the program. own is the compute type. Only statements that
// accumulate may have indices whose ranges depend on other indices; others are an error.
func Parts(p *program.Program, statements []*program.Statement, tensors []Tensor) (parts []*Part, all []Tensor, own dtype.Type, err error) {
	own = typeOf(p, tensors)
	for _, s := range statements {
		if err := scoped(p, s.Target, s.Left, s.Vars, s.Value, s.Guard); err != nil {
			return nil, nil, own, err
		}
	}
	blocks, tensors := partsOf(statements), slices.Clone(tensors)
	var global []int
	if program.Recurs(statements) {
		if global, err = crossing(p, blocks, tensors, own, nil); err != nil {
			return nil, nil, own, err
		}
	}
	for _, block := range blocks {
		part, outer := &Part{}, []*term.Variable(nil)
		if r := block[0].Recurrence; r != nil {
			n, err := stepsOf(block)
			if err != nil {
				return nil, nil, own, err
			}
			part.Over, part.Down = &term.Variable{Name: block[0].Over.Name, Lo: term.Number(0), Hi: term.Number(n)}, r.Down
			if block, err = part.atRows(block); err != nil {
				return nil, nil, own, err
			}
			outer = append([]*term.Variable{part.Over}, part.Rows...)
		}
		before := len(tensors)
		if part.Nests, tensors, err = nests(p, block, tensors, own, outer); err != nil {
			return nil, nil, own, err
		}
		for t := before; t < len(tensors) && part.Over != nil; t++ {
			part.Own = append(part.Own, t)
		}
		parts = append(parts, part)
	}
	for _, t := range global {
		tensors[t].Local = true
	}
	return parts, tensors, own, nil
}

// atRows sets the part's rows, and returns the statements of a block at one value of the recurrence's index
// and of the rows.
func (part *Part) atRows(block []*program.Statement) ([]*program.Statement, error) {
	rows := map[*program.Statement]map[*term.Variable]*term.Term{}
	for at := range block[0].Left.Idx {
		own := rowsAt(block, at)
		if own == nil {
			continue
		}
		v := own[block[0]]
		row := &term.Variable{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
		part.Rows = append(part.Rows, row)
		for s, v := range own {
			if rows[s] == nil {
				rows[s] = map[*term.Variable]*term.Term{}
			}
			rows[s][v] = row.Term()
		}
	}
	i := -1
	return step(block, part.Over, func(s *program.Statement, to map[*term.Variable]*term.Term) {
		i++
		own := rows[block[i]]
		maps.Copy(to, own)
		s.Vars = slices.DeleteFunc(s.Vars, func(v *term.Variable) bool { return own[v] != nil })
	})
}

// nests returns statements as loop nests, and the memory of all tensors. outer are indices that have values
// when the nests run.
func nests(p *program.Program, statements []*program.Statement, tensors []Tensor, own dtype.Type, outer []*term.Variable) (out []*Nest, all []Tensor, err error) {
	c := &compiler[float32]{p: p, own: own, places: map[*term.Variable]int{}, narrow: map[int]bool{}}
	z := newNormalizer(p, tensors, c.own)
	z.whole, z.outer = true, outer
	if err := z.normalize(statements); err != nil {
		return nil, nil, err
	}
	c.tensors = z.tensors
	c.complete(z.out)
	given := map[int]bool{}
	for _, s := range z.out {
		given[s.target] = true
	}
	for i, t := range tensors { // a part chooses the types of what it gives
		if t.Type == dtype.Invalid && !given[i] {
			c.tensors[i].Type = t.Type
		}
	}
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
		out = append(out, n)
	}
	return out, c.tensors, nil
}

// Open returns the dimensions of an access whose subscripts are not proved to be in bounds.
func Open(r *term.Read) []int { return accessOf(r).open }

// Stride returns by how many elements the offset of an access grows with an index. known is false if the
// offset is not affine in the index.
func Stride(r *term.Read, v *term.Variable) (elements int, known bool) {
	f := accessOf(r).offset
	return f.factor(v), !f.hidden(v)
}

// Offset returns the offset of an access where all indices are 0. linear is false if the offset is not
// affine, or if subscripts are not proved to be in bounds.
func Offset(r *term.Read) (elements int, linear bool) {
	a := accessOf(r)
	return a.offset.base, len(a.offset.rest) == 0 && len(a.open) == 0 && r.Which == nil
}

// Row describes an access as rows of elements, one row for each iteration of the outer loops. stride is the
// distance of rows. first and last are the least and the greatest offset in a row, relative to its begin.
// known is false if the access has another form.
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

// Bounds returns the least and the greatest value of an integer. known is false if one of them is not known.
func Bounds(n *term.Term) (lo, hi int, known bool) {
	b := linear(n).bounds()
	return b.Lo, b.Hi, b.Known
}

// IsOpen reports whether the range of an index depends on other indices or on elements of tensors.
func IsOpen(v *term.Variable) bool {
	_, lo := v.Lo.Known()
	_, hi := v.Hi.Known()
	return !lo || !hi
}

// Extent returns the number of values of an index that starts at 0.
func Extent(v *term.Variable) int { return extent(v) }
