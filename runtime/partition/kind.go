package partition

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/op"
)

// Terms is the number and the roles of the terms of a kind of constraint.
type Terms uint8

const (
	AnyTerms     Terms = iota // one or more, symmetric
	OneTerm                   // one
	SourceTarget              // two: a source, and a target whose tiles depend on it
)

// Form is the syntax of a kind of constraint.
type Form struct {
	Name   string // of the kind, its key in specs
	Terms  Terms
	Fields []Field
	// Hints reports whether the constraint takes a hint.
	Hints bool
	// SameRank and SameExtents require equal ranks, or equal shapes, of all terms.
	SameRank, SameExtents bool
	// Points requires that the source's elements are points or rectangles of the target.
	Points bool
}

// Field is a list of integers in a constraint.
type Field struct {
	Name     string // its key in specs
	Of       func(*Constraint) *[]int
	Least    int  // lower bound of the numbers of a required field
	Required bool // whether the list has one number for each axis, or for each listed axis
}

// kind is a form, and the functions by which launches check and solve it.
type kind struct {
	Form
	// check returns an error if stores do not fit the constraint.
	check func(p *pair) *op.Error
	// restrict applies a constraint with one term to the class of its store.
	restrict func(cl *class, c *Constraint)
	// One of two functions computes a target's tiles: box computes the bounds of one tile on one axis from
	// those of the source's tile; derive computes all tiles.
	box    func(c *Constraint, axis, lo, hi int) (int, int)
	derive func(cl *class, target, source *Store, from tiling) tiling
	// grows reports whether the target's tiles may overlap although the source's do not.
	grows func(c *Constraint) bool
}

var kinds [numKinds]kind

// The table is filled in init, because its functions refer to it.
func init() {
	axes := Field{Name: "axes", Of: func(c *Constraint) *[]int { return &c.Axes }}
	extents := Field{Name: "extents", Of: func(c *Constraint) *[]int { return &c.Extents }, Required: true}
	factors := Field{Name: "factors", Of: func(c *Constraint) *[]int { return &c.Factors }, Required: true, Least: 1}
	low := Field{Name: "low", Of: func(c *Constraint) *[]int { return &c.Low }, Required: true}
	high := Field{Name: "high", Of: func(c *Constraint) *[]int { return &c.High }, Required: true}
	kinds = [numKinds]kind{
		Align: {Form: Form{Name: "align", Terms: AnyTerms, SameRank: true, SameExtents: true}, check: checkAlign},
		Broadcast: {Form: Form{Name: "broadcast", Terms: OneTerm, Fields: []Field{axes}},
			check: func(*pair) *op.Error { return nil }, restrict: broadcast},
		MinExtents: {Form: Form{Name: "min_extents", Terms: OneTerm, Fields: []Field{axes, extents}},
			check: checkLists, restrict: minExtents},
		Scale: {Form: Form{Name: "scale", Terms: SourceTarget, Fields: []Field{axes, factors}, SameRank: true},
			check: checkLists, box: scale},
		Bloat: {Form: Form{Name: "bloat", Terms: SourceTarget, Fields: []Field{axes, low, high}, SameRank: true},
			check: checkLists, box: bloat, grows: bloats},
		Image: {Form: Form{Name: "image", Terms: SourceTarget, Hints: true, Points: true}, check: checkImage, derive: image},
	}
}

// String returns the name that specs use.
func (k Kind) String() string {
	if k < numKinds {
		return kinds[k].Name
	}
	return fmt.Sprintf("partition.Kind(%d)", uint8(k))
}

// Form returns the syntax of constraints of the kind.
func (k Kind) Form() *Form { return &kinds[k].Form }

// dependent reports whether the tiles of the second term, the target, depend on those of the first, the
// source.
func (k Kind) dependent() bool { return kinds[k].Terms == SourceTarget }

// Kinds lists the names of the kinds.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// ParseKind returns the kind of a name.
func ParseKind(name string) (Kind, bool) {
	i := slices.Index(Kinds(), name)
	return Kind(max(i, 0)), i >= 0
}

// grows reports whether the target's tiles may overlap although the source's do not.
func (c Constraint) grows() bool {
	grows := kinds[c.Kind].grows
	return grows != nil && grows(&c)
}

// pair is a constraint on one store, or on a pair of stores.
type pair struct {
	c    Constraint
	a, b argument // b.store is nil for constraints on one store
}

// both formats the stores for an error.
func (p *pair) both() string {
	if p.b.store == nil {
		return p.a.term.String()
	}
	return p.a.term.String() + " and " + p.b.term.String()
}

func (p *pair) fail(code op.Code, slot, want, got string) *op.Error {
	return &op.Error{Code: code, Slot: slot, Want: want + " for " + p.c.String(), Got: got}
}

// check returns an error if the stores do not fit the constraint.
func (p *pair) check() *op.Error {
	if p.c.Kind.dependent() {
		if p.a.store == p.b.store {
			return p.fail(AliasedOperands, p.both(), "different stores", "the same store twice")
		}
		for _, x := range []argument{p.a, p.b} {
			if x.store.Unbound {
				return p.fail(DependentUnbound, x.term.String(), "a bound store", "an unbound one")
			}
		}
	}
	return kinds[p.c.Kind].check(p)
}

func checkAlign(p *pair) *op.Error {
	a, b := p.a.store, p.b.store
	ranks := fmt.Sprintf("ranks %d and %d", a.rank(), b.rank())
	switch {
	case a == b:
	case a.Unbound != b.Unbound:
		return p.fail(AlignUnbound, p.both(), "stores that are both bound or both unbound", "one of each")
	case a.Unbound && a.rank() != b.rank():
		return p.fail(RankMismatch, p.both(), "stores of the same rank", ranks)
	case a.rank() != b.rank():
		return p.fail(AlignShape, p.both(), "stores of the same shape", ranks)
	case !slices.Equal(a.Shape, b.Shape):
		return p.fail(AlignShape, p.both(), "stores of the same shape", fmt.Sprintf("%v and %v", a.Shape, b.Shape))
	}
	return nil
}

// checkLists checks that all stores have the same rank and that each list has a number for each axis.
func checkLists(p *pair) *op.Error {
	n := p.a.store.rank()
	if b := p.b.store; b != nil && b.rank() != n {
		return p.fail(RankMismatch, p.both(), "stores of the same rank", fmt.Sprintf("%d and %d", n, b.rank()))
	}
	for _, f := range p.c.Kind.Form().Fields {
		if got := len(*f.Of(&p.c)); got != n && f.Required {
			return p.fail(LengthMismatch, p.both(), fmt.Sprintf("%d numbers in %s, one for each axis,", n, f.Name), fmt.Sprint(got))
		}
	}
	return nil
}

// spread normalizes axes to non-negative numbers, and expands lists for some axes to all axes. Other axes
// get the neutral value.
func (p *pair) spread() *op.Error {
	if p.c.Dims != nil {
		return p.fail(BadOperand, p.both(), "axes by their numbers", fmt.Sprint(p.c.Dims))
	}
	if p.c.Exprs != nil {
		return p.fail(BadOperand, p.both(), "numbers", "expressions")
	}
	if p.c.Axes == nil {
		return nil
	}
	n := p.a.store.rank()
	axes := slices.Clone(p.c.Axes)
	for i, axis := range axes {
		if axis < 0 {
			axes[i] += n
		}
		if axes[i] < 0 || axes[i] >= n {
			return p.fail(AxisOutOfRange, p.both(), fmt.Sprintf("an axis of a store of rank %d", n), fmt.Sprintf("axis %d", axis))
		}
	}
	if p.c.Kind == Broadcast {
		p.c.Axes = axes
		return nil
	}
	for _, f := range p.c.Kind.Form().Fields {
		list := *f.Of(&p.c)
		switch {
		case !f.Required:
			continue
		case len(list) != len(axes):
			return p.fail(LengthMismatch, p.both(), fmt.Sprintf("%d numbers in %s, one for each of the axes,", len(axes), f.Name), fmt.Sprint(len(list)))
		}
		all := slices.Repeat([]int{f.Least}, n)
		for i, axis := range axes {
			all[axis] = list[i]
		}
		*f.Of(&p.c) = all
	}
	p.c.Axes = nil
	return nil
}

func checkImage(p *pair) *op.Error {
	source, rank := p.a.store, p.b.store.rank()
	e, want := source.Element, fmt.Sprintf("points or rects of rank %d", rank)
	if rank == 0 { // no element type has rank 0, and unset ranks would match
		return p.fail(ImageType, p.b.term.String(), "a store of rank 1 or more", "rank 0")
	}
	if e.Points != rank && e.Rects != rank {
		return p.fail(ImageType, p.a.term.String(), want, e.Name)
	}
	for i, v := range source.Values {
		if len(v.Lo) != rank || len(v.Hi) != rank {
			return p.fail(ImageType, p.a.term.String(), want, fmt.Sprintf("%v as element %d", v, i))
		}
	}
	return nil
}

func broadcast(cl *class, c *Constraint) {
	for d := range cl.broadcast {
		cl.broadcast[d] = cl.broadcast[d] || c.Axes == nil || slices.Contains(c.Axes, d)
	}
}

func minExtents(cl *class, c *Constraint) {
	for d, e := range c.Extents {
		cl.extents[d] = max(cl.extents[d], e)
	}
}

func scale(c *Constraint, axis, lo, hi int) (int, int) {
	return lo * c.Factors[axis], hi * c.Factors[axis]
}

func bloat(c *Constraint, axis, lo, hi int) (int, int) { return lo - c.Low[axis], hi + c.High[axis] }

func bloats(c *Constraint) bool {
	positive := func(v int) bool { return v > 0 }
	return slices.ContainsFunc(c.Low, positive) || slices.ContainsFunc(c.High, positive)
}
