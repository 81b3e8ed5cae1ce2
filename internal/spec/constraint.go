package spec

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/partition"
)

// Constraint says how launches of a task divide tensors.
type Constraint struct {
	Span  source.Span
	Kind  partition.ConstraintKind
	Key   source.Span // of the kind
	Terms []Str       // slots, gradients of slots, groups, or single tensors of these
	// The lists that a kind has, by name: axes, extents, factors, low, high.
	Lists map[string]*Ints
	Hint  Str // of an image
}

// Ints is a list of integers with its place.
type Ints struct {
	Span source.Span
	V    []int
}

// list returns a list's values; nil if it was not given.
func (c *Constraint) list(name string) []int {
	if l := c.Lists[name]; l != nil {
		return l.V
	}
	return nil
}

// Value returns the constraint as the runtime knows it.
func (c *Constraint) Value() partition.Constraint {
	v := partition.Constraint{Kind: c.Kind, Axes: c.list("axes"), Extents: c.list("extents"), Factors: c.list("factors"), Low: c.list("low"), High: c.list("high")}
	for _, t := range c.Terms {
		v.Terms = append(v.Terms, partition.ParseTerm(t.V))
	}
	v.Hint, _ = partition.ParseHint(c.Hint.V)
	return v
}

// constraintLists names the lists that each kind needs.
var constraintLists = map[partition.ConstraintKind][]string{
	partition.MinExtents: {"extents"}, partition.Scale: {"factors"}, partition.Bloat: {"low", "high"},
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
		if sub := r.sub(&source.Entry{Key: e.Key, Value: n}); sub != nil {
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
	for _, name := range partition.ConstraintKinds() {
		if e := t.take(name); e != nil {
			kinds = append(kinds, e)
		}
	}
	switch len(kinds) {
	case 0:
		t.done("a constraint")
		if r.list.Len() == before {
			r.list.Add(diag.MissingKey, c.Span, "want one of %s", strings.Join(partition.ConstraintKinds(), ", "))
		}
		return nil
	case 1:
	default:
		r.list.Add(diag.ExclusiveKey, kinds[1].KeySpan, "a constraint has one kind, this one is %s, too", kinds[0].Key).See(kinds[0].KeySpan, "the other kind")
		return nil
	}
	e := kinds[0]
	c.Key = e.KeySpan
	c.Kind, _ = partition.ParseConstraintKind(e.Key)
	fields := t
	switch {
	case c.Kind == partition.Align:
		c.Terms = r.strings(e)
	case c.Kind.Dependent():
		if fields = r.sub(e); fields == nil {
			return nil
		}
		c.Terms = []Str{fields.required("from", "the tensor whose tiles are known"), fields.required("to", "the tensor whose tiles follow")}
	default:
		c.Terms = []Str{r.str(e)}
	}
	for _, name := range constraintLists[c.Kind] {
		if l := fields.take(name); l != nil {
			c.Lists[name] = r.integers(l)
		} else {
			fields.missing(name, "one number for each dimension")
		}
	}
	if c.Kind == partition.Broadcast {
		if l := t.take("axes"); l != nil {
			c.Lists["axes"] = r.integers(l)
		}
	}
	if c.Kind == partition.Image {
		if c.Hint = fields.str("hint"); c.Hint.Set() {
			r.oneOf(c.Hint, partition.Hints())
		}
	}
	if fields != t {
		fields.done(e.Key)
	}
	t.done("a constraint")
	if r.list.Len() > before || slices.ContainsFunc(c.Terms, func(s Str) bool { return !s.Set() }) {
		return nil
	}
	return c
}

// integers reads an array of integers.
func (r *reader) integers(e *source.Entry) *Ints {
	a, ok := e.Value.(*source.Array)
	if !ok {
		r.wrongKind(e, "an array of integers")
		return nil
	}
	out := &Ints{Span: a.Span, V: []int{}}
	for _, n := range a.Elems {
		if v, ok := r.integer(&source.Entry{Key: e.Key, Value: n}); ok {
			out.V = append(out.V, int(v.V))
		}
	}
	return out
}
