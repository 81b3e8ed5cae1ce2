package formula

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// order is code for argsort or rank. sort returns the permutation of one row, or its inverse for a rank. find
// looks a result up in this table.
type order struct {
	sort func(*frame) []int
	find func(f *frame, table []int) int
}

// orderOf compiles an argsort or a rank.
func (c *code) orderOf(r *term.Reduction) order {
	each, keys := c.loop(r.Vars, nil), c.keysOf(r)
	slots, lo, hi := make([]int, len(r.Vars)), make([]func(*frame) int, len(r.Vars)), make([]func(*frame) int, len(r.Vars))
	for i, v := range r.Vars {
		slots[i], lo[i], hi[i] = c.slots[v], c.integer(v.Lo), c.integer(v.Hi)
	}
	name := func(f *frame) int { // the number of the current element
		if r.Part >= 0 {
			return f.vars[slots[r.Part]]
		}
		n := 0
		for i, s := range slots {
			n = n*(hi[i](f)-lo[i](f)) + f.vars[s]
		}
		return n
	}
	sorted := func(f *frame) (names, at []int) {
		k := keys()
		each(f, func(f *frame) {
			k.add(f)
			names = append(names, name(f))
		})
		return names, places(len(names), k.compare, r.Descending)
	}
	outside := func(i, n int) {
		if i < 0 || i >= n {
			panic(failure{mistake(c.p.Operator, fmt.Sprintf("%s has %d places, and got %d", r.Kind, n, i))})
		}
	}
	at := make([]func(*frame) int, len(r.At))
	for i, n := range r.At {
		at[i] = c.integer(n)
	}
	if r.Kind == reduction.ArgSort {
		return order{
			func(f *frame) []int {
				names, table := sorted(f)
				for i, k := range table {
					table[i] = names[k]
				}
				return table
			},
			func(f *frame, table []int) int {
				i := at[0](f)
				outside(i, len(table))
				return table[i]
			},
		}
	}
	return order{
		func(f *frame) []int {
			_, table := sorted(f)
			ranks := make([]int, len(table))
			for i, k := range table {
				ranks[k] = i
			}
			return ranks
		},
		func(f *frame, table []int) int {
			n := 0
			for i, x := range at {
				l, h := lo[i](f), hi[i](f)
				outside(x(f)-l, h-l)
				n = n*(h-l) + x(f) - l
			}
			return table[n]
		},
	}
}

// keys holds the sort keys of a row: add appends the key of the current element, compare compares two by
// position.
type keys struct {
	add     func(*frame)
	compare func(i, j int) int
}

// keysOf returns a constructor of keys. Integer keys are not rounded to float64.
func (c *code) keysOf(r *term.Reduction) func() keys {
	if r.Body.Kind == term.Integer {
		x := c.ordered(r.Body)
		return func() keys {
			var k []int
			return keys{func(f *frame) { k = append(k, x(f)) }, func(i, j int) int { return cmp.Compare(k[i], k[j]) }}
		}
	}
	x := c.real(r.Body)
	return func() keys {
		var k []float64
		return keys{func(f *frame) { k = append(k, x(f)) }, func(i, j int) int { return compareReal(k[i], k[j]) }}
	}
}

// compareReal compares sort keys. NaN is greater than all numbers, unlike with cmp.Compare.
func compareReal(x, y float64) int {
	if a, b := math.IsNaN(x), math.IsNaN(y); a || b {
		return cmp.Compare(term.Truth(a), term.Truth(b))
	}
	return cmp.Compare(x, y)
}

// places returns the permutation of a stable sort: element numbers, in the order of their keys.
func places(n int, compare func(i, j int) int, descending bool) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	if descending {
		slices.SortStableFunc(out, func(i, j int) int { return compare(j, i) })
	} else {
		slices.SortStableFunc(out, compare)
	}
	return out
}

// orders compiles a statement whose value is an argsort or a rank. It sorts each row once, and not for each
// result. It returns nil if s is another statement.
func (c *code) orders(s *program.Statement) func(*frame) {
	n := s.Value
	if n.Op != term.Reduce || !n.Reduction.IsOrder() || !plainLoops(s) {
		return nil
	}
	r := n.Reduction
	var outer, inner []*term.Variable
	for _, v := range s.Vars {
		if r.Body.Uses(v) || slices.ContainsFunc(r.Vars, func(w *term.Variable) bool { return w.Lo.Uses(v) || w.Hi.Uses(v) }) {
			outer = append(outer, v)
		} else {
			inner = append(inner, v)
		}
	}
	o, place, id := c.orderOf(r), c.place(s.Left), s.Target
	around, within := c.loop(outer, nil), c.loop(inner, nil)
	return func(f *frame) {
		around(f, func(f *frame) {
			table := o.sort(f)
			within(f, func(f *frame) {
				_, at, _ := place(f)
				f.m.tensors[id].putInteger(at, o.find(f, table))
			})
		})
	}
}

// plainLoops reports whether the loops of a statement may be reordered: no bound depends on an index of the
// statement, and each element is stored once.
func plainLoops(s *program.Statement) bool {
	return !s.Add && s.Guard == nil && !slices.ContainsFunc(s.Vars, func(v *term.Variable) bool { return v.Lo.UsesAny(s.Vars) || v.Hi.UsesAny(s.Vars) })
}
