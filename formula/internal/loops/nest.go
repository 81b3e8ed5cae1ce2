package loops

import (
	"maps"
	"slices"

	"github.com/opgen/opgen/formula/internal/rewrite"
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
func Parts(p *program.Program, statements []*program.Statement, tensors []rewrite.Tensor) (parts []*Part, all []rewrite.Tensor, own dtype.Type, err error) {
	own = typeOf(p, tensors)
	for _, s := range statements {
		if err := rewrite.Scoped(p, s.Target, s.Left, s.Vars, s.Value, s.Guard); err != nil {
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
func nests(p *program.Program, statements []*program.Statement, tensors []rewrite.Tensor, own dtype.Type, outer []*term.Variable) (out []*Nest, all []rewrite.Tensor, err error) {
	c := &compiler[float32]{p: p, own: own, places: map[*term.Variable]int{}, narrow: map[int]bool{}}
	z, err := rewrite.Normalize(p, statements, tensors, rewrite.Options{Compute: c.own, Device: true, Outer: outer, Unused: true})
	if err != nil {
		return nil, nil, err
	}
	c.tensors = z.Tensors
	c.complete(z.Statements)
	given := map[int]bool{}
	for _, s := range z.Statements {
		given[s.Target] = true
	}
	for i, t := range tensors { // a part chooses the types of what it gives
		if t.Type == dtype.Invalid && !given[i] {
			c.tensors[i].Type = t.Type
		}
	}
	var bundles []*bundle
	for _, s := range z.Statements {
		if !s.Add && s.Scan() == nil && s.Order() == nil {
			s = rewrite.Digits(s)
		}
		if n := len(bundles); n > 0 && c.merge(bundles[n-1], s) {
			continue
		}
		bundles = append(bundles, newBundle(s))
	}
	for _, b := range bundles {
		if !slices.ContainsFunc(b.vars, rewrite.IsOpen) {
			collapse(&bundleGroup{bundles: []*bundle{b}})
		}
		n := &Nest{Vars: b.vars}
		for i, s := range b.statements {
			x := &Nested{Target: s.Target, Left: s.Left, Value: s.Value, Add: s.Add, Guard: s.Guard, Lenient: s.Lenient}
			if b.folds != nil {
				x.Value = &term.Term{Op: term.Reduce, Kind: s.Value.Kind, Reduction: b.folds[i]}
			}
			n.Statements = append(n.Statements, x)
		}
		out = append(out, n)
	}
	return out, c.tensors, nil
}
