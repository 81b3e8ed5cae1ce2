package formula_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opgen/opgen/formula"
	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/task"
)

// forEachUse calls f with a use of every operator of the catalogue for each of its examples, in f64.
func forEachUse(t *testing.T, f func(t *testing.T, o *task.Operator, u *program.Use, r *task.Resolution)) {
	t.Helper()
	forEachChanged(t, func(_ string, examples []task.Example) []task.Example { return examples }, f)
}

// forEachChanged is forEachUse with the examples that change returns. It skips those to which the operator
// cannot be applied.
func forEachChanged(t *testing.T, change func(operator string, examples []task.Example) []task.Example,
	f func(t *testing.T, o *task.Operator, u *program.Use, r *task.Resolution)) {
	t.Helper()
	for _, o := range catalogue.Operators() {
		for i, ex := range change(o.Name, o.Examples) {
			attrs, err := o.DecodeAttrs([]byte(ex.Attrs))
			if err != nil {
				t.Fatal(err)
			}
			given := task.NoneGiven(&o.Operator)
			for n, s := range o.Slots {
				given.Requested[n] = ex.Counts[s.Name]
				if s.Role == task.RoleArgument || s.Role == task.RoleState {
					continue
				}
				typ, err := dtype.Parse(s.Type)
				for _, v := range o.Types {
					if v.Name == s.Type {
						if typ, err = v.Types[0], nil; slices.Contains(v.Types, dtype.F64) {
							typ = dtype.F64
						}
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				if dims, ok := ex.Shapes[s.Name]; ok {
					given.Operands[n] = []task.Operand{{Type: typ, Shape: dims}}
				}
				for k := 0; ; k++ {
					dims, ok := ex.Shapes[fmt.Sprintf("%s.%d", s.Name, k)]
					if !ok {
						break
					}
					given.Operands[n] = append(given.Operands[n], task.Operand{Type: typ, Shape: dims})
				}
			}
			passed, err := ex.Passed(&o.Operator)
			if err != nil {
				t.Fatal(err)
			}
			given.Pass(passed)
			r, err := task.Resolve(&o.Operator, attrs, given)
			if err != nil {
				continue // an attribute asks for another type, or a condition fails
			}
			if len(o.Formula) == 0 {
				continue
			}
			u, err := formula.UseOf(&o.Operator, attrs, r, 0, task.NewPassed(passed))
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s/%d", o.Name, i)
			t.Run(name, func(t *testing.T) { f(t, &o.Operator, u, r) })
		}
	}
}

// TestDerivedGradients compares derived gradients with those of the interpreter, at all examples of the
// catalogue.
func TestDerivedGradients(t *testing.T) {
	forEachUse(t, formula.CompareGradients)
}

// TestPartsOfCatalogue runs the loops of the catalogue's formulas in parts, at all examples and at variants
// in which some extents are 1 and others are greater.
func TestPartsOfCatalogue(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	groups, apart := 0, 0
	forEachChanged(t, func(operator string, examples []task.Example) []task.Example {
		out := slices.Clone(examples)
		if testing.Short() { // the test computes with one goroutine
			if operator[0]%4 > 0 {
				return nil
			}
			return out
		}
		for range 2 {
			for _, x := range examples {
				more := map[int]int{} // for each extent another one
				for n := range 9 {
					if more[n] = n; rng.IntN(3) == 0 {
						more[n] = n + rng.IntN(4)
					}
				}
				y := task.Example{Attrs: x.Attrs, Counts: x.Counts, Args: x.Args, Shapes: map[string][]int{}}
				for name, dims := range x.Shapes {
					y.Shapes[name] = slices.Clone(dims)
					for d, n := range dims {
						if m, ok := more[n]; ok {
							y.Shapes[name][d] = m
						}
						if rng.IntN(4) == 0 {
							y.Shapes[name][d] = 1
						}
					}
				}
				out = append(out, y)
			}
		}
		return out
	}, func(t *testing.T, o *task.Operator, u *program.Use, r *task.Resolution) {
		p, err := program.Build(u)
		if err != nil {
			return // the formula reads elements that these extents do not have
		}
		g, a := formula.CompareParts(t, p, dtype.F64, func(tensor int) int {
			if l := p.Tensors; tensor < len(l) && l[tensor].Slot >= 0 {
				if b, ok := r.Bound(l[tensor].Slot); ok {
					return b.Below
				}
			}
			return 2
		}, rng)
		groups, apart = groups+g, apart+a
	})
	least := 8000
	if testing.Short() {
		least /= 20
	}
	if groups < least || apart < least/2 {
		t.Errorf("want more groups, and more that go element by element, got %d and %d", groups, apart)
	}
}

// TestReach checks package reach: no result changes with an element on which reach says that it does not
// depend, at all examples of the catalogue.
func TestReach(t *testing.T) {
	results, changing := 0, 0
	forEachUse(t, func(t *testing.T, _ *task.Operator, u *program.Use, r *task.Resolution) {
		n, m := formula.CompareReach(t, u, r)
		results, changing = results+n, changing+m
	})
	if results < 300 || changing < 250 {
		t.Errorf("want 300 results, of which 250 change, got %d and %d", results, changing)
	}
}

// TestScatterFollows compares the specs' claims that a gradient writes each element once with the formulas.
// Three operators claim it for a lookup by indices of which no two are equal, which formulas cannot show.
func TestScatterFollows(t *testing.T) {
	forEachUse(t, func(t *testing.T, o *task.Operator, u *program.Use, _ *task.Resolution) {
		backward := o.Signature(task.KindBackward)
		u.Open = true
		p, err := program.Build(u)
		if err != nil {
			t.Fatal(err)
		}
		var outputs []int
		for i, l := range p.Tensors {
			if l.Slot >= 0 && l.Given && l.Varies && o.Slots[l.Slot].Role == task.RoleOutput {
				outputs = append(outputs, i)
			}
		}
		g, err := derive.Gradients(p, outputs)
		if err != nil {
			t.Fatal(err)
		}
		for i, scatter := range g.Scatter {
			slot := p.Tensors[i].Slot
			if backward == nil || o.Name == "aggregate" || o.Name == "aggregate_spec" || o.Name == "topk" {
				continue
			}
			for _, param := range backward.Params {
				if param.Grad && param.Slot == slot && scatter && !param.Scatter {
					t.Errorf("the gradient of %s is added to element by element, and the spec says that it is written once", o.Slots[slot].Name)
				}
			}
		}
	})
}

// TestShardingFollows checks that the specs' claims about dividing an operator among devices follow from the
// formulas.
func TestShardingFollows(t *testing.T) {
	claims := 0
	forEachUse(t, func(t *testing.T, o *task.Operator, u *program.Use, r *task.Resolution) {
		u.Open = true
		p, err := program.Build(u)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range o.Shards {
			if len(r.Shards[i]) == 0 {
				continue
			}
			var symbols []string
			switch n := u.Dims[s.Dim].(type) {
			case []int:
				for k, extent := range n {
					if extent > 1 {
						symbols = append(symbols, fmt.Sprintf("%s%d", s.Dim, k))
					}
				}
			default:
				symbols = []string{s.Dim}
			}
			want := derive.Divided
			if s.Partial {
				want = derive.Partial
			}
			for _, symbol := range symbols {
				claims++
				if got := derive.Divide(p, symbol); got != want {
					t.Errorf("dividing %s %v according to the spec, but %v according to the formula", symbol, want, got)
				}
			}
		}
	})
	t.Log(claims, "claims")
}
