package example

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// Follow infers facts from formulas at the examples, and adds them to the specs that do not state them.
// These specs must then be checked again, since inferred facts contain expressions. It returns its results
// for Check, and reports whether it added a fact.
func Follow(m *model.Module, specs []*spec.Spec) (k *Known, added bool) {
	byName := map[string]*spec.Spec{}
	for _, s := range specs {
		byName[s.Name.V] = s
	}
	all := make([]*known, len(m.Operators))
	some := make([]bool, len(m.Operators))
	parallel.Do(len(m.Operators), func(i int) {
		o := m.Operators[i]
		all[i] = k.about(o)
		f := &follower{op: o, spec: byName[o.Name], views: views(o, all[i]), known: all[i]}
		if len(f.views) == 0 {
			return
		}
		f.saved()
		f.scatters()
		f.inPlace()
		f.shards()
		f.costs()
		f.tasks()
		some[i] = f.added
	})
	k = &Known{map[string]*known{}}
	for i, o := range m.Operators {
		k.of[o.Name] = all[i]
	}
	return k, slices.Contains(some, true)
}

// follower infers the facts of one operator.
type follower struct {
	op    *model.Operator
	spec  *spec.Spec
	views []*view // at least one
	known *known
	added bool

	others   []*view // varied uses that no example shows; nil before varied is called
	complete bool    // others holds all varied uses

	gradients, choices []*view // of such uses, with gradients; nil before they are looked at
}

// text returns a string value as if the spec contained it at a position.
func (f *follower) text(at source.Span, s string) spec.Str {
	f.added = true
	return spec.Str{V: s, Node: &source.Scalar{Span: at, Value: s}}
}

// differentiable reports whether the operator has a backward task, and the formula has a gradient at all
// examples.
func (f *follower) differentiable() bool {
	if f.op.Task(task.KindBackward) == nil {
		return false
	}
	for _, v := range f.views {
		if v.gradient == nil {
			return false
		}
	}
	return true
}

// rankFree prints a product of symbols and quotients with the names of the spec, independent of the rank:
// all symbols of a run become prod(run). ok is false if factors contain only some of them.
func (v *view) rankFree(factors []*term.Term) (text string, ok bool) {
	count, own := map[string]int{}, map[string]int{} // by dimension, by symbol
	var names, quotients []string
	for _, x := range factors {
		switch {
		case x.Op == term.Quotient:
			top, fine := v.product(x.Args[0])
			below, too := v.product(x.Args[1])
			if !fine || !too || strings.ContainsAny(below, "*/") {
				return "", false
			}
			quotients = append(quotients, "("+top+" / "+below+")")
		case x.Op != term.Symbol:
			return "", false
		default:
			name := v.dimOf(x.Name)
			if count[name] == 0 {
				names = append(names, name)
			}
			count[name]++
			own[x.Name]++
		}
	}
	var parts []string
	for _, d := range v.order(names) {
		run, isRun := v.dims[d].([]int)
		if !isRun {
			for range count[d] {
				parts = append(parts, d)
			}
			continue
		}
		times := count[d] / len(run)
		for i := range run {
			if own[program.SymbolOf(d, i)] != times {
				return "", false
			}
		}
		for range times {
			parts = append(parts, "prod("+d+")")
		}
	}
	if parts = append(parts, quotients...); len(parts) == 0 {
		return "1", true
	}
	return strings.Join(parts, " * "), true
}

// product prints an integer that is a single monomial with the names of the spec.
func (v *view) product(n *term.Term) (string, bool) {
	m := term.Monomials(n)
	if len(m) != 1 {
		return "", false
	}
	text, ok := v.rankFree(m[0].Factors)
	if m[0].Coefficient != 1 {
		text = fmt.Sprintf("%d * %s", m[0].Coefficient, text)
	}
	return text, ok
}

// dimOf returns the dimension of a symbol: the run that contains it, or its own name.
func (v *view) dimOf(name string) string {
	for _, d := range v.op.Dims {
		run, ok := v.dims[d.Name].([]int)
		for i := range run {
			if ok && program.SymbolOf(d.Name, i) == name {
				return d.Name
			}
		}
	}
	return name
}

// order sorts the names of dimensions and attributes: dimensions in the order of the spec, then attributes.
func (v *view) order(names []string) []string {
	var out []string
	has := map[string]bool{}
	for _, n := range names {
		has[n] = true
	}
	for _, n := range extentNames(v.op) {
		if has[n] {
			out = append(out, n)
			has[n] = false
		}
	}
	for _, n := range names {
		if has[n] {
			out = append(out, n)
		}
	}
	return out
}

// extentNames returns the names that extents may have: dimensions, then attributes.
func extentNames(o *model.Operator) []string {
	var out []string
	for _, d := range o.Dims {
		out = append(out, d.Name)
	}
	for _, a := range o.Attrs {
		out = append(out, a.Name)
	}
	return out
}
