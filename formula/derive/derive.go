// Package derive derives gradients from programs over indices, as statements of the same kind.
//
// The derivation is reverse-mode differentiation. A statement that reads S[e] for all values of its
// variables contributes to the gradient of S at e. The derivation solves x == e for the variables, so that
// the gradient of S at x becomes a sum (a gather). If it finds no solution, as for a subscript loaded from a
// tensor, the statement scatter-adds into the gradient.
package derive

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// Gradient is the backward program that Gradients derives.
type Gradient struct {
	// Program holds the tensors of the forward program, then the tensors of gradients and of temporaries
	// that gradients share. Its statements are the forward statements, then Statements.
	Program *program.Program
	// Statements compute the gradients, in order.
	Statements []*program.Statement
	// Of maps a tensor to the tensor of its gradient: for outputs, whose gradients are inputs of the
	// backward program, and for inputs and weights.
	Of map[int]int
	// Between maps an intermediate tensor to the tensor of its gradient, if that gradient is stored rather
	// than inlined where it is read.
	Between map[int]int
	// Scatter is set for the inputs and weights whose gradient has scatter-add statements.
	Scatter map[int]bool

	giver map[int][]*program.Statement // by tensor; nil before the first query
}

// Gradients derives the gradients of the program's trainable tensors. given lists the outputs whose
// gradients are inputs of the backward program. It returns an error if an operation has no derivative that
// can be written as a statement.
func Gradients(p *program.Program, given []int) (*Gradient, error) {
	q := *p
	q.Tensors, q.Statements = slices.Clone(p.Tensors), slices.Clone(p.Statements)
	d := &deriver{p: &q, forward: p.Statements, slopes: p.Slopes(), found: map[int][]*contribution{}, adjoints: map[int]*adjoint{},
		out: &Gradient{Program: &q, Of: map[int]int{}, Between: map[int]int{}, Scatter: map[int]bool{}}, names: map[string]int{}}
	for _, t := range given {
		if id, ok := p.Grads[t]; ok { // gradients by hand read this tensor
			d.out.Of[t] = id
			continue
		}
		d.out.Of[t] = d.tensor("grad."+p.Tensors[t].Name, p.Tensors[t].Shape)
	}
	for i := len(d.forward) - 1; i >= 0; i-- {
		s := d.forward[i]
		if s.Recurrence != nil {
			block := program.Together(d.forward, i)
			if err := d.recurrence(block); err != nil {
				return nil, err
			}
			i -= len(block) - 1
			continue
		}
		t := d.p.Tensors[s.Target]
		if !t.Varies || t.Kind != term.Real || !d.p.Depends(s.Value) {
			continue
		}
		if d.adjoints[s.Target] == nil {
			if err := d.adjoint(s.Target); err != nil {
				return nil, err
			}
		}
		if err := d.statement(s); err != nil {
			return nil, err
		}
	}
	for t, l := range p.Tensors {
		if l.Varies && !l.Given && l.Slot >= 0 && l.Old < 0 && len(d.found[t]) > 0 {
			d.final(t)
		}
	}
	if err := verify(d.out.Statements); err != nil {
		return nil, fmt.Errorf("the gradient that was derived is wrong: %w", err)
	}
	d.byHand()
	q.Statements = append(q.Statements, d.out.Statements...)
	return d.out, nil
}

// statement propagates the gradient of the statement's target to the elements that the statement reads.
func (d *deriver) statement(s *program.Statement) error {
	seed := d.adjoints[s.Target].at(s.Left)
	if seed == nil {
		return nil
	}
	if d.counts = nil; d.masked(s) {
		d.counts = term.Compare(term.Unequal, seed, term.Number(0))
	}
	return d.walk(s.Value, seed, s.Vars, term.All(s.Guard, d.counts))
}

// deriver is the state of the derivation of one backward program.
type deriver struct {
	p        *program.Program
	forward  []*program.Statement
	slopes   *program.Slopes
	counts   *term.Term              // the condition that the seed is not 0, if the current statement is masked; otherwise nil
	found    map[int][]*contribution // by tensor
	adjoints map[int]*adjoint        // by tensor that statements define
	names    map[string]int
	within   bool // whether the current statement is that of a recurrence
	size     int  // number of terms derived so far
	out      *Gradient
}

// contribution adds value to the gradient of element read, for all values of vars for which guard holds.
type contribution struct {
	read         *term.Read
	vars         []*term.Variable
	guard, value *term.Term
}

// adjoint is the gradient of a tensor that statements define: an expression that is inlined, or a stored
// tensor.
type adjoint struct {
	vars   []*term.Variable
	value  *term.Term // an expression of vars
	tensor int        // the stored tensor, or -1
	name   string
}

// at returns the gradient of the element on the left side of a statement, or nil if the gradient is 0.
func (a *adjoint) at(left *term.Read) *term.Term {
	if a.tensor >= 0 {
		return &term.Term{Op: term.Element, Kind: term.Real,
			Read: &term.Read{Tensor: a.tensor, Count: 1, Idx: left.Idx, Ext: left.Ext, ByNumber: left.ByNumber, Text: a.name}}
	}
	if a.value == nil || a.value.IsZero() {
		return nil
	}
	values := map[*term.Variable]*term.Term{}
	for i, v := range a.vars {
		values[v] = left.Idx[i]
	}
	return a.value.Substitute(values)
}

// tensor declares a temporary of real numbers and returns its number. A name that is in use gets a suffix.
func (d *deriver) tensor(name string, shape []*term.Term) int {
	d.names[name]++
	if n := d.names[name]; n > 1 {
		name = fmt.Sprintf("%s%d", name, n)
	}
	return d.p.Add(&program.Local{Name: name, Shape: shape, Kind: term.Real, Old: -1, Given: true})
}

// indices returns one variable for each dimension of tensor t. It takes their names from the left side of a
// statement that defines t, else from reads of t, else from the symbol of the extent.
func (d *deriver) indices(t int) []*term.Variable {
	var vars []*term.Variable
	used := map[string]bool{}
	for i, n := range d.p.Tensors[t].Shape {
		name := ""
		for _, s := range d.forward {
			if s.Target == t && !s.Left.ByNumber && s.Left.Idx[i].Op == term.Index {
				name = s.Left.Idx[i].Var.Name
			}
		}
		for _, c := range d.found[t] {
			if name == "" && !c.read.ByNumber && i < len(c.read.Idx) && c.read.Idx[i].Op == term.Index {
				name = c.read.Idx[i].Var.Name
			}
		}
		if name == "" && n.Op == term.Symbol {
			name = strings.ToLower(n.Name)
		}
		if name == "" {
			name = "i"
		}
		vars = append(vars, &term.Variable{Name: unused(name, used), Lo: term.Number(0), Hi: n})
	}
	return vars
}

// adjoint derives the gradient of tensor t from the contributions of its readers, before the derivation
// walks the definitions of t. It inlines a small gradient and stores a large one.
func (d *deriver) adjoint(t int) error {
	l := d.p.Tensors[t]
	a := &adjoint{tensor: -1}
	d.adjoints[t] = a
	given, isGiven := d.out.Of[t]
	if len(d.found[t]) == 0 {
		if isGiven {
			a.tensor, a.name = given, d.p.Tensors[given].Name
		}
		return nil
	}
	a.vars = d.indices(t)
	sum, scatters := d.collect(t, a.vars)
	if isGiven {
		sum = term.Sum(d.elementAt(given, a.vars), sum)
	}
	sum = d.neat(sum)
	if len(scatters) == 0 && d.plain(t) && !d.anyMasked(t) && !(chooses(sum) && d.reduces(t)) && (small(sum) || d.readOnce(t) && !sum.Reduces()) {
		a.value = sum
		return nil
	}
	prefix := "grad."
	if isGiven {
		prefix = "total."
	}
	a.tensor = d.tensor(prefix+l.Name, l.Shape)
	a.name = d.p.Tensors[a.tensor].Name
	if !isGiven {
		d.out.Between[t] = a.tensor
	}
	d.give(a.tensor, a.vars, sum, scatters)
	return nil
}

// elementAt returns the element of a tensor at indices.
func (d *deriver) elementAt(t int, vars []*term.Variable) *term.Term {
	l := d.p.Tensors[t]
	return &term.Term{Op: term.Element, Kind: term.Real, Read: &term.Read{Tensor: t, Count: 1, Ext: l.Shape, Text: l.Name, Idx: terms(vars)}}
}

// masked reports whether statement s needs a mask: if the gradient of its target is 0, the gradients of its
// operands must be 0, too, although the derivative may be infinite (0*Inf is NaN).
func (d *deriver) masked(s *program.Statement) bool {
	return d.slopes.Masks(s)
}

func (d *deriver) anyMasked(t int) bool {
	return slices.ContainsFunc(d.forward, func(s *program.Statement) bool { return s.Target == t && d.masked(s) })
}

// reduces reports whether a definition of t contains a reduction. Its gradient is read once for each reduced
// element, so it is best stored.
func (d *deriver) reduces(t int) bool {
	return slices.ContainsFunc(d.forward, func(s *program.Statement) bool { return s.Target == t && s.Value.Reduces() })
}

func chooses(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || m.Op == term.Choose })
	return found
}

// plain reports whether no statement that defines t has a flat index on its left side.
func (d *deriver) plain(t int) bool {
	return !slices.ContainsFunc(d.forward, func(s *program.Statement) bool { return s.Target == t && s.Left.ByNumber })
}

// readOnce reports whether the definitions of t together read at most one element that carries a gradient.
func (d *deriver) readOnce(t int) bool {
	n := 0
	for _, s := range d.forward {
		if s.Target == t {
			s.Value.Walk(func(m *term.Term) {
				if m.Op == term.Element && m.Kind == term.Real && d.p.Tensors[m.Read.Tensor].Varies {
					n++
				}
			})
		}
	}
	return n <= 1
}

// small reports whether n is cheaper to recompute than to store.
func small(n *term.Term) bool {
	size := 0
	n.Walk(func(*term.Term) { size++ })
	return size <= 12 && !n.Reduces()
}

// final derives the gradient of an input or a weight.
func (d *deriver) final(t int) {
	l := d.p.Tensors[t]
	vars := d.indices(t)
	sum, scatters := d.collect(t, vars)
	id := d.tensor("grad."+l.Name, l.Shape)
	d.out.Of[t], d.out.Scatter[t] = id, len(scatters) > 0
	d.give(id, vars, d.neat(sum), scatters)
}

// give emits the statements that define gradient tensor id: id[vars] = sum, then one scatter-add for each of
// scatters.
func (d *deriver) give(id int, vars []*term.Variable, sum *term.Term, scatters []*contribution) {
	l := d.p.Tensors[id]
	if !sum.IsZero() || len(scatters) == 0 {
		left := &term.Read{Tensor: id, Count: 1, Ext: l.Shape, Text: l.Name}
		for _, v := range vars {
			left.Idx = append(left.Idx, v.Term())
		}
		d.emit(&program.Statement{Target: id, Left: left, Vars: vars, Value: sum})
	}
	for _, c := range scatters {
		left := *c.read
		left.Tensor, left.Which, left.Count, left.Else, left.Text = id, nil, 1, nil, l.Name
		d.emit(&program.Statement{Target: id, Left: &left, Vars: c.vars, Value: d.neat(c.value), Add: true, Guard: implied(c.guard)})
	}
}

// emit appends a statement. It renames the indices, so that all of them have different names with as few
// primes as possible.
func (d *deriver) emit(s *program.Statement) {
	used := map[string]bool{}
	values := map[*term.Variable]*term.Term{}
	vars := make([]*term.Variable, len(s.Vars))
	for i, v := range s.Vars {
		vars[i] = &term.Variable{Name: unused(v.Name, used), Lo: v.Lo.Substitute(values), Hi: v.Hi.Substitute(values)}
		values[v] = vars[i].Term()
	}
	left := *s.Left
	left.Idx = nil
	for _, x := range s.Left.Idx {
		left.Idx = append(left.Idx, x.Substitute(values))
	}
	out := &program.Statement{Target: s.Target, Left: &left, Vars: vars, Value: named(s.Value.Substitute(values), used), Add: s.Add}
	if s.Guard != nil {
		out.Guard = named(s.Guard.Substitute(values), used)
	}
	d.out.Statements = append(d.out.Statements, out)
}

// unused appends primes to a name until it is new, and marks the result as used.
func unused(name string, used map[string]bool) string {
	name = strings.TrimRight(name, "'")
	for used[name] {
		name += "'"
	}
	used[name] = true
	return name
}

// named renames the indices of reductions in n, so that none has the name of an enclosing index.
func named(n *term.Term, used map[string]bool) *term.Term {
	if n.Op == term.Reduce {
		used = maps.Clone(used)
		n = n.Map(func(x *term.Term) *term.Term { return x }) // a copy with fresh variables
		for _, v := range n.Reduction.Vars {
			v.Name = unused(v.Name, used)
		}
	}
	return n.Map(func(x *term.Term) *term.Term { return named(x, used) })
}

// collect derives the gradient of tensor t, as a function of its indices vars, from all contributions. sum is
// the sum of the contributions that gather can solve; scatters are the others.
func (d *deriver) collect(t int, vars []*term.Variable) (sum *term.Term, scatters []*contribution) {
	sum = term.Number(0)
	for _, c := range d.found[t] {
		if x := d.gather(t, c, vars, false); x != nil {
			sum = term.Sum(sum, x)
		} else {
			scatters = append(scatters, c.placed())
		}
	}
	return sum, scatters
}

// placed eliminates the indices of a scatter-add whose values a condition tells, as that of a node that an
// edge leads to: the scatter-add goes over the edges, and not over all nodes for each of them.
func (c *contribution) placed() *contribution {
	s := &sum{guards: term.Conjuncts(c.guard), body: c.value}
	var stay []*term.Variable // those of the place itself, and those on which ranges depend
	for _, v := range c.vars {
		if slices.ContainsFunc(c.read.Idx, func(x *term.Term) bool { return x.Uses(v) }) ||
			slices.ContainsFunc(c.vars, func(w *term.Variable) bool { return w.Lo.Uses(v) || w.Hi.Uses(v) }) {
			stay = append(stay, v)
		} else {
			s.vars = append(s.vars, v)
		}
	}
	for s.replace() {
	}
	out := &contribution{read: c.read, guard: term.All(s.guards...), value: s.body}
	for _, v := range c.vars {
		if slices.Contains(stay, v) || slices.Contains(s.vars, v) {
			out.vars = append(out.vars, v)
		}
	}
	return out.joined(s.vars)
}

// joined adds what iterations over vars, none of which the place depends on, add to an element before a
// scatter-add does: a sum goes over them. It returns c if a condition that stays would stand before one that
// keeps its reads in bounds.
func (c *contribution) joined(vars []*term.Variable) *contribution {
	if len(vars) == 0 {
		return c
	}
	out := &contribution{read: c.read}
	var first, inner []*term.Term
	for _, v := range c.vars {
		if !slices.Contains(vars, v) {
			out.vars = append(out.vars, v)
		}
	}
	for _, v := range vars { // the place may be out of bounds where nothing is added
		if n := term.Compare(term.Less, v.Lo, v.Hi); n.UsesAny(vars) {
			return c
		} else if holds, known := n.Truth(); !known || !holds {
			first = append(first, n)
		}
	}
	for _, g := range term.Conjuncts(c.guard) {
		switch {
		case g.UsesAny(vars):
			inner = append(inner, g)
		case len(inner) > 0 && !certain(g):
			return c
		default:
			first = append(first, g)
		}
	}
	all := &term.Term{Op: term.Reduce, Kind: term.Real, Reduction: &term.Reduction{Kind: reduction.Sum, Vars: vars, Guard: term.All(inner...), Body: c.value, Part: -1}}
	out.guard, out.value = term.All(first...), all.Map(func(x *term.Term) *term.Term { return x })
	return out
}
