package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/partition"
)

// Constraint says how launches of a task divide tensors.
type Constraint struct {
	Span  source.Span
	Kind  partition.Kind
	Key   source.Span // of the kind
	Terms []Str       // slots, gradients of slots, groups, or single tensors of these
	// Lists holds the kind's fields by name.
	Lists map[string]*Ints
	Hint  Str // of an image
}

// Ints is a list of integers with its place.
type Ints struct {
	Span  source.Span
	V     []int // of expressions, numbers that stand for theirs
	Names []Str // of axes: dimensions and attributes
	Exprs []Str // the expressions among the numbers, by place; nil if there is none
}

// Value returns the constraint in its run-time form. The numbers of lists with expressions are those of a
// use.
func (c *Constraint) Value() partition.Constraint {
	v := c.Sample()
	for _, f := range c.Kind.Form().Fields {
		l := c.Lists[f.Name]
		if l == nil || l.Exprs == nil {
			continue
		}
		*f.Of(&v) = nil
		if v.Exprs == nil {
			v.Exprs = map[string][]string{}
		}
		for i, n := range l.V {
			text := strconv.Itoa(n)
			if l.Exprs[i].Set() {
				text = l.Exprs[i].V
			}
			v.Exprs[f.Name] = append(v.Exprs[f.Name], text)
		}
	}
	return v
}

// Sample returns a constraint of the same form in which numbers stand for expressions.
func (c *Constraint) Sample() partition.Constraint {
	v := partition.Constraint{Kind: c.Kind}
	for _, f := range c.Kind.Form().Fields {
		if l := c.Lists[f.Name]; l != nil {
			*f.Of(&v) = l.V
			for _, n := range l.Names {
				v.Dims = append(v.Dims, n.V)
			}
			if len(l.V) == 0 && len(l.Names) > 0 {
				*f.Of(&v) = nil
			}
		}
	}
	for _, t := range c.Terms {
		v.Terms = append(v.Terms, partition.ParseTerm(t.V))
	}
	v.Hint, _ = partition.ParseHint(c.Hint.V)
	return v
}

// constraints reads an array of constraints.
func (r *reader) constraints(e *source.Entry) []*Constraint {
	var out []*Constraint
	a, ok := e.Value.(*source.Array)
	if !ok {
		r.wrongKind(e, "an array of constraints")
		return nil
	}
	for _, n := range a.Elems {
		if sub := r.sub(&source.Entry{Key: e.Key, Value: n}, constraintKeys(partition.Kinds()...)); sub != nil {
			if c := r.constraint(sub); c != nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// constraint reads a constraint: the key of its kind holds its terms. It returns nil after a finding.
func (r *reader) constraint(t *tableReader) *Constraint {
	c := &Constraint{Span: t.t.Span, Lists: map[string]*Ints{}}
	before := r.list.Len()
	var kinds []*source.Entry
	for _, name := range partition.Kinds() {
		if e := t.take(name); e != nil {
			kinds = append(kinds, e)
		}
	}
	switch len(kinds) {
	case 0:
		t.done()
		if r.list.Len() == before {
			r.list.Add(diag.MissingKey, c.Span, "want one of %s", strings.Join(partition.Kinds(), ", "))
		}
		return nil
	case 1:
	default:
		r.list.Add(diag.ExclusiveKey, kinds[1].KeySpan, "a constraint has one kind, this one is %s, too", kinds[0].Key).See(kinds[0].KeySpan, "the other kind")
		return nil
	}
	e := kinds[0]
	c.Key = e.KeySpan
	c.Kind, _ = partition.ParseKind(e.Key)
	form := c.Kind.Form()
	fields := t
	t.keys = constraintKeys(e.Key)
	switch form.Terms {
	case partition.AnyTerms:
		c.Terms = r.strings(e)
	case partition.SourceTarget:
		if fields = r.sub(e, linkKeys(c.Kind)); fields == nil {
			return nil
		}
		c.Terms = []Str{fields.required("from"), fields.required("to")}
	default:
		c.Terms = []Str{r.str(e)}
	}
	for _, f := range form.Fields {
		if l := fields.take(f.Name); l != nil {
			c.Lists[f.Name] = r.integers(l, f)
		} else if f.Required {
			fields.missing(f.Name, "one number for each dimension")
		}
	}
	if form.Hints {
		if c.Hint = fields.str("hint"); c.Hint.Set() {
			r.oneOf(c.Hint, partition.Hints())
		}
	}
	if fields != t {
		fields.done()
	}
	t.done()
	if r.list.Len() > before || slices.ContainsFunc(c.Terms, func(s Str) bool { return !s.Set() }) {
		return nil
	}
	return c
}

// integers reads an array of integers, which may also hold expressions or, if the field may be left out,
// names.
func (r *reader) integers(e *source.Entry, f partition.Field) *Ints {
	a, ok := e.Value.(*source.Array)
	if !ok {
		r.wrongKind(e, "an array of integers")
		return nil
	}
	out := &Ints{Span: a.Span, V: []int{}}
	for _, n := range a.Elems {
		if sc, ok := n.(*source.Scalar); ok {
			if text, ok := sc.Value.(string); ok && !f.Required {
				out.Names = append(out.Names, Str{text, sc})
				continue
			} else if ok {
				out.Exprs = append(slices.Grow(out.Exprs, len(a.Elems)), make([]Str, len(out.V)-len(out.Exprs))...)
				out.Exprs, out.V = append(out.Exprs, Str{text, sc}), append(out.V, max(f.Least, 1))
				continue
			}
		}
		if v, ok := r.integer(&source.Entry{Key: e.Key, Value: n}); ok {
			out.V = append(out.V, int(v.V))
		}
	}
	if out.Exprs != nil {
		out.Exprs = append(out.Exprs, make([]Str, len(out.V)-len(out.Exprs))...)
	}
	return out
}
