package derive

import (
	"slices"

	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// equation is x == e, for one subscript. x is an expression of the indices of the element whose gradient is
// derived, and e an expression of the variables of a contribution to that gradient.
type equation struct{ x, e *term.Term }

// solution is an equation of a contribution to a gradient, solved for some of the contribution's variables.
type solution struct {
	values     map[*term.Variable]*term.Term   // by solved variable
	ranges     map[*term.Variable][]*term.Term // by solved variable: the conditions that its value is in range
	conditions []*term.Term                    // further conditions for a solution to exist
	equations  []equation                      // equations that replace the solved one
	vars       []*term.Variable                // new variables on which values depend
	left       []*term.Variable                // variables that are not solved, in topological order of their ranges
}

// gather rewrites contribution c to the gradient of tensor t as a function of the element's indices at: a sum
// over the variables of c that remain after its subscripts are solved for variables. For y[n] = x[2 * n], it
// solves k == 2 * n for n: the gradient of x[k] is k % 2 == 0 ? g[k / 2] : 0. It returns nil if it finds no
// solution; c then stays a scatter-add. With search set, the sum goes over all values of the variables that
// are not solved, and leaves out those for which an equation does not hold.
func (d *deriver) gather(t int, c *contribution, at []*term.Variable, search bool) *term.Term {
	if c.read.Which != nil && c.read.Which.Reads() {
		return nil
	}
	// Copy the variables of the contribution: they become those of the sum.
	values := map[*term.Variable]*term.Term{}
	var vars []*term.Variable
	for _, v := range c.vars {
		w := &term.Variable{Name: v.Name, Lo: v.Lo.Substitute(values), Hi: v.Hi.Substitute(values)}
		values[v] = w.Term()
		vars = append(vars, w)
	}
	guard, value := c.guard.Substitute(values), c.value.Substitute(values)
	order := slices.Clone(vars)
	ranges := map[*term.Variable][]*term.Term{} // by variable: the conditions that its value is in its range
	var first []*term.Term                      // further conditions of solutions, which read no tensor
	equations := d.equations(t, c.read, values, at)
	s := &solver{shape: d.p.Tensors[t].Shape, at: at}
	for len(equations) > 0 {
		i, found := s.step(equations, vars)
		if found == nil {
			break
		}
		rest := append(slices.Clone(equations[:i]), equations[i+1:]...)
		equations = nil
		for _, q := range rest {
			equations = append(equations, equation{q.x, term.Norm(q.e.Substitute(found.values))})
		}
		for _, q := range found.equations {
			equations = append(equations, equation{q.x, term.Norm(q.e)})
		}
		vars = found.left
		for v, own := range ranges {
			ranges[v] = substituted(own, found.values)
		}
		for v, own := range found.ranges {
			ranges[v] = own
		}
		first = append(first, found.conditions...)
		value, guard = value.Substitute(found.values), guard.Substitute(found.values)
	}
	// A condition on a variable may read a tensor at an index that only the conditions on outer variables
	// keep in bounds. So conditions follow the order of variables.
	conditions := first
	for _, v := range order {
		conditions = append(conditions, ranges[v]...)
	}
	guard = term.All(append(conditions, guard)...)
	if len(equations) > 0 && len(vars) > 0 && !search {
		return nil
	}
	for _, q := range equations {
		guard = term.All(guard, term.Compare(term.Equal, q.x, q.e))
	}
	for _, g := range term.Conjuncts(guard) {
		if holds, known := g.Truth(); known && !holds {
			return term.Number(0)
		}
	}
	if len(vars) == 0 {
		if guard == nil {
			return value
		}
		return term.Chosen(guard, value, term.Number(0))
	}
	return &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: reduction.Sum, Vars: vars, Guard: guard, Body: value, Part: -1}}
}

// equations returns one equation for each subscript of r, or one for the flat index of x[#(i, j)].
func (d *deriver) equations(t int, r *term.Read, values map[*term.Variable]*term.Term, at []*term.Variable) []equation {
	shape := d.p.Tensors[t].Shape
	var idx []*term.Term
	for _, i := range r.Idx {
		idx = append(idx, i.Substitute(values))
	}
	if !r.ByNumber || sameShape(r.Ext, shape) {
		var out []equation
		for i, x := range idx {
			out = append(out, equation{at[i].Term(), term.Norm(x)})
		}
		return out
	}
	return []equation{{numberOf(terms(at), shape), term.Norm(numberOf(idx, r.Ext))}}
}

func sameShape(a, b []*term.Term) bool { return slices.EqualFunc(a, b, term.SameInteger) }

func terms(vars []*term.Variable) []*term.Term {
	out := make([]*term.Term, len(vars))
	for i, v := range vars {
		out[i] = v.Term()
	}
	return out
}

// numberOf returns the row-major flat index of idx in a tensor of shape ext.
func numberOf(idx, ext []*term.Term) *term.Term {
	out := term.Number(0)
	for i, x := range idx {
		out = term.Sum(term.Product(out, ext[i]), x)
	}
	return out
}

// solver solves equations for the variables of a contribution.
type solver struct {
	shape []*term.Term
	at    []*term.Variable
}

// step solves one equation and returns its position and its solution. It tries the rules in order of
// preference, each on all equations. It returns a nil solution if no rule applies.
func (s *solver) step(equations []equation, vars []*term.Variable) (int, *solution) {
	for _, rule := range []func(equation, []*term.Variable) []*solution{s.constant, s.exact, s.radix, s.unit, s.strided, s.floor} {
		for i, q := range equations {
			for _, found := range rule(q, vars) {
				if found.fits(vars) {
					return i, found
				}
			}
		}
	}
	return 0, nil
}

// fits sorts the variables that remain topologically, by the variables in their ranges, and substitutes the
// solved ones in these ranges. It returns false if a range depends on itself.
func (s *solution) fits(vars []*term.Variable) bool {
	var open []*term.Variable
	next := map[*term.Variable]*term.Variable{} // applied to vars only if the solution fits
	values := map[*term.Variable]*term.Term{}
	for v, x := range s.values {
		values[v] = x
	}
	for _, v := range slices.Concat(vars, s.vars) {
		if s.values[v] == nil {
			open = append(open, v)
			next[v] = &term.Variable{Name: v.Name, Lo: v.Lo.Substitute(values), Hi: v.Hi.Substitute(values)}
		}
	}
	for len(open) > 0 {
		i := slices.IndexFunc(open, func(v *term.Variable) bool { return !next[v].Lo.UsesAny(open) && !next[v].Hi.UsesAny(open) })
		if i < 0 {
			return false
		}
		s.left, open = append(s.left, open[i]), slices.Delete(open, i, i+1)
	}
	for _, v := range s.left {
		v.Lo, v.Hi = next[v].Lo, next[v].Hi
	}
	return true
}

// substituted returns terms with values in place of variables.
func substituted(terms []*term.Term, values map[*term.Variable]*term.Term) []*term.Term {
	out := make([]*term.Term, len(terms))
	for i, x := range terms {
		out[i] = x.Substitute(values)
	}
	return out
}

// constant turns an equation without variables into a condition.
func (s *solver) constant(q equation, vars []*term.Variable) []*solution {
	if q.e.UsesAny(vars) || q.e.Reads() {
		return nil
	}
	if q.x.Op == term.Index && q.e.Is(0) && q.x.Var.Hi.Is(1) {
		return []*solution{{}}
	}
	return []*solution{{conditions: []*term.Term{term.Compare(term.Equal, q.x, q.e)}}}
}

// exact solves x == v for a variable v.
func (s *solver) exact(q equation, vars []*term.Variable) []*solution {
	if q.e.Op != term.Index || !slices.Contains(vars, q.e.Var) {
		return nil
	}
	return []*solution{s.solved(q.e.Var, q.x, nil)}
}

func (s *solver) solved(v *term.Variable, x *term.Term, conditions []*term.Term) *solution {
	return &solution{values: map[*term.Variable]*term.Term{v: x}, conditions: conditions,
		ranges: map[*term.Variable][]*term.Term{v: s.inRange(v, x)}}
}

// inRange returns the conditions that x is in the range of v, except those that follow from the ranges of
// indices in x.
func (s *solver) inRange(v *term.Variable, x *term.Term) []*term.Term {
	out := some(v, x)
	if !v.Lo.Is(0) || !term.NonNegative(x) {
		out = append(out, bounds(term.AtMost, v.Lo, x)...)
	}
	switch {
	case x.Op == term.Index && term.SameInteger(x.Var.Hi, v.Hi):
	case x.Op == term.Quotient && x.Args[0].Op == term.Index && term.SameInteger(term.Product(x.Args[1], v.Hi), x.Args[0].Var.Hi):
	case x.Op == term.Modulo && term.SameInteger(x.Args[1], v.Hi):
	case term.SameInteger(x, numberOf(terms(s.at), s.shape)) && term.SameInteger(v.Hi, term.Total(s.shape)):
	default:
		out = append(out, bounds(term.Less, x, v.Hi)...)
	}
	return out
}

// bounds returns the conjuncts of x op y, where op is < or <=: a maximum on the left and a minimum on the
// right become two conditions each.
func bounds(op term.Op, x, y *term.Term) []*term.Term {
	if x.Op == term.Apply && x.Func == term.Max {
		return append(bounds(op, x.Args[0], y), bounds(op, x.Args[1], y)...)
	}
	if y.Op == term.Apply && y.Func == term.Min {
		return append(bounds(op, x, y.Args[0]), bounds(op, x, y.Args[1])...)
	}
	return []*term.Term{term.Compare(op, x, y)}
}

// radix solves x == m*u + v, where v has the range [0, m): v = x % m and u = x / m. It also solves a digit
// that counts down, x == m*u + (m - 1 - v).
func (s *solver) radix(q equation, vars []*term.Variable) []*solution {
	for _, v := range vars {
		if !v.Lo.Is(0) || !q.e.Uses(v) || v.Hi.UsesAny(vars) {
			continue
		}
		c, rest, ok := term.Linear(q.e, v)
		if !ok || !c.Is(1) && !c.Is(-1) {
			continue
		}
		digit := term.Arithmetic(term.Modulo, q.x, v.Hi)
		if c.Is(-1) {
			last := term.Difference(v.Hi, term.Number(1))
			rest, digit = term.Norm(term.Difference(rest, last)), term.Difference(last, digit)
		}
		if !rest.UsesAny(vars) {
			continue
		}
		u := term.Norm(term.Arithmetic(term.Quotient, rest, v.Hi))
		if u.Op == term.Quotient || containsQuotient(u) || u.Reads() || !term.SameInteger(term.Product(u, v.Hi), rest) {
			continue // m does not divide the rest
		}
		return []*solution{{
			values:    map[*term.Variable]*term.Term{v: digit},
			equations: []equation{{term.Arithmetic(term.Quotient, q.x, v.Hi), u}},
		}}
	}
	return nil
}

func containsQuotient(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || m.Op == term.Quotient })
	return found
}

// unit solves x == rest + v and x == rest - v.
func (s *solver) unit(q equation, vars []*term.Variable) []*solution {
	return s.linear(q, vars, func(c *term.Term) bool { return c.Is(1) || c.Is(-1) })
}

// strided solves x == c*v + rest: v = (x - rest) / c if c divides x - rest.
func (s *solver) strided(q equation, vars []*term.Variable) []*solution {
	return s.linear(q, vars, func(c *term.Term) bool { return !c.Reads() && len(c.Free()) == 0 && !c.IsZero() && positive(c) })
}

// positive reports whether an integer is greater than 0 in this use.
func positive(c *term.Term) bool {
	v, known := c.Known()
	return known && v > 0
}

func (s *solver) linear(q equation, vars []*term.Variable, fits func(c *term.Term) bool) []*solution {
	var out []*solution
	for _, v := range vars {
		if !q.e.Uses(v) {
			continue
		}
		c, rest, ok := term.Linear(q.e, v)
		if !ok || !fits(c) || rest.Reads() {
			continue
		}
		switch {
		case c.Is(1):
			out = append(out, s.solved(v, term.Norm(term.Difference(q.x, rest)), nil))
		case c.Is(-1):
			out = append(out, s.solved(v, term.Norm(term.Difference(rest, q.x)), nil))
		default:
			difference := term.Norm(term.Difference(q.x, rest))
			divides := term.Compare(term.Equal, term.Arithmetic(term.Modulo, difference, c), term.Number(0))
			out = append(out, s.solved(v, term.Arithmetic(term.Quotient, difference, c), []*term.Term{divides}))
		}
	}
	return out
}

// floor solves x == v / m: v = m*x + w for all w in [0, m).
func (s *solver) floor(q equation, vars []*term.Variable) []*solution {
	if q.e.Op != term.Quotient || q.e.Args[0].Op != term.Index || !slices.Contains(vars, q.e.Args[0].Var) || len(q.e.Args[1].Free()) > 0 {
		return nil
	}
	v, m := q.e.Args[0].Var, q.e.Args[1]
	if !positive(m) {
		return nil
	}
	w := &term.Variable{Name: v.Name + "'", Lo: term.Number(0), Hi: m}
	out := s.solved(v, term.Norm(term.Sum(term.Product(m, q.x), w.Term())), nil)
	out.vars = []*term.Variable{w}
	return []*solution{out}
}
