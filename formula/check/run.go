package check

import (
	"fmt"

	"github.com/opgen/opgen/formula/expr"
)

// run is a list of integers of symbolic length: the extents of the dimensions X..., or one index for each of
// them.
type run struct {
	text  string // the extents as a canonical expression of [dims], equal for equal runs
	rank  poly   // number of integers
	size  poly   // the product of the extents
	index bool   // whether the integers are indices that range over the extents
	each  bool   // a list with a run for each tensor of a variadic slot
	whole *run   // X if text is X[lo:hi], or nil
	lo    poly
	hi    poly
}

// named returns a run with symbolic rank and size: nothing is known about it but its text. It returns nil if
// the text is longer than maxName.
func named(text string) *run {
	if len(text) > maxName {
		return nil
	}
	return &run{text: text, rank: atom("len(" + text + ")"), size: atom("prod(" + text + ")")}
}

func (r *run) asIndex() *run {
	if r == nil {
		return nil
	}
	out := *r
	out.index = true
	return &out
}

// pick applies keep, drop, ones, insert or permute to a run. fn is the name of the function.
func (r *run) pick(fn string, axes *run) *run {
	if r == nil || axes == nil {
		return nil
	}
	out := named(fn + "(" + r.text + ", " + axes.text + ")")
	if out == nil {
		return nil
	}
	out.index = r.index
	switch fn {
	case "keep":
		out.rank = axes.rank
	case "drop":
		out.rank = r.rank.Sub(axes.rank)
	case "insert":
		out.rank, out.size = r.rank.Add(axes.rank), r.size
	case "permute":
		out.rank, out.size = r.rank, r.size
	case "ones":
		out.rank, out.size = r.rank, atom("prod(drop("+r.text+", "+axes.text+"))")
	}
	return out
}

// slice returns r[lo:hi]. A nil bound means the beginning or the end.
func (f *formula) slice(r *run, lo, hi *poly) *run {
	if r == nil || lo == nil && hi == nil {
		return r
	}
	a, b := constant(0), r.rank
	from, to := "", ""
	if lo != nil {
		a, from = *lo, (*lo).String()
	}
	if hi != nil {
		b, to = *hi, (*hi).String()
	}
	if a == nil || b == nil {
		return nil
	}
	out := named(r.text + "[" + from + ":" + to + "]")
	if out == nil {
		return nil
	}
	out.rank, out.index, out.whole, out.lo, out.hi = b.Sub(a), r.index, r, a, b
	if r.whole == nil {
		f.atomInfo("sum(" + out.text + ")").prefix = out
		f.sizes[out.size.Single()] = out
	}
	return out
}

// runOf returns the run that value v denotes, or nil if v is no run or is unknown.
func runOf(v value) *run {
	if v.kinds&kRun == 0 {
		return nil
	}
	return v.run
}

// oneOf returns the run cond ? a : b. It keeps the rank and the size that both have in common.
func oneOf(cond string, a, b *run) *run {
	if a == nil || b == nil || a.index != b.index {
		return nil
	}
	if a.text == b.text {
		return a
	}
	out := named(fmt.Sprintf("(%s ? %s : %s)", cond, a.text, b.text))
	if out == nil {
		return nil
	}
	out.index = a.index
	if a.size.Equal(b.size) {
		out.size = a.size
	}
	if a.rank.Equal(b.rank) {
		out.rank = a.rank
	}
	return out
}

// elem is an element of a shape: a run of dimensions if rest is set, else one dimension with extent n. A nil
// run or n is unknown.
type elem struct {
	rest bool
	run  *run
	n    poly
}

func (e elem) String() string {
	switch {
	case e.rest && e.run == nil:
		return "_..."
	case e.rest:
		return plainName(e.run.text) + "..."
	case e.n == nil:
		return "_"
	}
	return e.n.String()
}

func (e elem) rank() poly {
	switch {
	case !e.rest:
		return constant(1)
	case e.run == nil:
		return nil
	}
	return e.run.rank
}

func (e elem) size() poly {
	switch {
	case !e.rest:
		return e.n
	case e.run == nil:
		return nil
	}
	return e.run.size
}

// sizeOf returns the number of elements of a tensor: the product of its extents.
func sizeOf(elems []elem) poly {
	n := constant(1)
	for _, e := range elems {
		n = n.Mul(e.size())
	}
	return n
}

// shapeText writes a shape in the syntax of specs, such as "[N, X...]".
func shapeText(elems []elem) string {
	s := "["
	for i, e := range elems {
		if i > 0 {
			s += ", "
		}
		s += e.String()
	}
	return s + "]"
}

// list infers the value of a list [a, b] of integers, as a run.
func (f *formula) list(n *expr.List, fr *frame) (value, *expr.Error) {
	name, product := "[", constant(1)
	for i, e := range n.Elems {
		v, err := f.integer(e, fr)
		if err != nil {
			return value{}, err
		}
		if i > 0 {
			name += ", "
		}
		name += f.unique(e, fr)
		product = product.Mul(v.int)
	}
	r := named(name + "]")
	if r == nil {
		return value{kinds: kRun}, nil
	}
	r.rank, r.size = constant(int64(len(n.Elems))), product
	return value{kinds: kRun, run: r}, nil
}
