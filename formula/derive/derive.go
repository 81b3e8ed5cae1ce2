// Package derive derives gradients from programs over indices, as statements of the same kind.
//
// The derivation is reverse-mode differentiation. A statement that reads S[e] for all values of its variables
// adds to the gradient of S at e. The derivation solves x == e for the variables, so that the gradient of S
// at x becomes a sum. Where it finds no solution, such as for an index that is looked up, the statement adds
// to the gradient element by element.
package derive

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
)

// Gradient is what Gradients derives.
type Gradient struct {
	// Program holds the tensors of the program and, behind them, those of gradients and of values that
	// gradients share. Its statements are those of the program, then Statements.
	Program *program.Program
	// Statements compute the gradients, in order.
	Statements []*program.Statement
	// Of holds the tensors of gradients by tensor: those of outputs, which are given, and of inputs and
	// weights.
	Of map[int]int
	// Between holds those of values between outputs and inputs that are not worked out where they are used,
	// by tensor.
	Between map[int]int
	// Scatter tells of which inputs and weights the gradient is added to element by element.
	Scatter map[int]bool
}

// Gradients derives the gradients of the program's trainable tensors from those of the outputs in given. It
// is an error if something has no derivative that can be written as a statement.
func Gradients(p *program.Program, given []int) (*Gradient, error) {
	q := *p
	q.Tensors, q.Statements = slices.Clone(p.Tensors), slices.Clone(p.Statements)
	d := &deriver{p: &q, forward: p.Statements, slopes: p.Slopes(), found: map[int][]*contribution{}, adjoints: map[int]*adjoint{},
		out: &Gradient{Program: &q, Of: map[int]int{}, Between: map[int]int{}, Scatter: map[int]bool{}}, names: map[string]int{}}
	for _, t := range given {
		if id, ok := p.Grads[t]; ok { // lines that give gradients by hand read it
			d.out.Of[t] = id
			continue
		}
		d.out.Of[t] = d.tensor("grad."+p.Tensors[t].Name, p.Tensors[t].Shape)
	}
	for i := len(d.forward) - 1; i >= 0; i-- {
		s := d.forward[i]
		t := d.p.Tensors[s.Target]
		if !t.Varies || t.Kind != term.Real || !d.p.Depends(s.Value) {
			continue
		}
		if d.adjoints[s.Target] == nil {
			if err := d.adjoint(s.Target); err != nil {
				return nil, err
			}
		}
		if seed := d.adjoints[s.Target].at(s.Left); seed != nil {
			if d.counts = nil; d.masked(s) {
				d.counts = term.Compare(term.Unequal, seed, term.Number(0))
			}
			if err := d.walk(s.Value, seed, s.Vars, d.counts); err != nil {
				return nil, err
			}
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

type deriver struct {
	p        *program.Program
	forward  []*program.Statement
	slopes   *program.Slopes
	counts   *term.Term              // the condition that the element which the present statement gives counts, if slopes may be infinite
	found    map[int][]*contribution // by tensor
	adjoints map[int]*adjoint        // by tensor that statements give
	names    map[string]int
	size     int // how many terms were derived
	out      *Gradient
}

// contribution adds value to the gradient of the element that read names, for all values of vars for which
// guard holds.
type contribution struct {
	read         *term.Read
	vars         []*term.Variable
	guard, value *term.Term
}

// adjoint is the gradient of a tensor: an expression of an index, or a tensor.
type adjoint struct {
	vars   []*term.Variable
	value  *term.Term // of vars
	tensor int        // or -1
	name   string
}

// at returns the gradient of the element that a statement gives; nil if there is none.
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

// tensor adds a tensor.
func (d *deriver) tensor(name string, shape []*term.Term) int {
	d.names[name]++
	if n := d.names[name]; n > 1 {
		name = fmt.Sprintf("%s%d", name, n)
	}
	return d.p.Add(&program.Local{Name: name, Shape: shape, Kind: term.Real, Old: -1, Given: true})
}

// indices returns variables for an index of a tensor, named like those of a statement that gives it, or of
// contributions.
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

// adjoint works out the gradient of a tensor that statements give, before their right sides are walked.
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
		g := &term.Read{Tensor: given, Count: 1, Ext: l.Shape, Text: d.p.Tensors[given].Name}
		for _, v := range a.vars {
			g.Idx = append(g.Idx, v.Term())
		}
		sum = term.Sum(&term.Term{Op: term.Element, Kind: term.Real, Read: g}, sum)
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

// masked reports whether a gradient of 0 of what a statement gives is to stay 0, since the slope of the value
// may be infinite.
func (d *deriver) masked(s *program.Statement) bool {
	return d.slopes.Masks(s)
}

func (d *deriver) anyMasked(t int) bool {
	return slices.ContainsFunc(d.forward, func(s *program.Statement) bool { return s.Target == t && d.masked(s) })
}

// reduces reports whether elements of a tensor are made of many, for all of which a gradient is best worked
// out once.
func (d *deriver) reduces(t int) bool {
	return slices.ContainsFunc(d.forward, func(s *program.Statement) bool { return s.Target == t && s.Value.Reduces() })
}

func chooses(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || m.Op == term.Choose })
	return found
}

// plain reports whether all statements that give a tensor do so by index rather than by number.
func (d *deriver) plain(t int) bool {
	return !slices.ContainsFunc(d.forward, func(s *program.Statement) bool { return s.Target == t && s.Left.ByNumber })
}

// readOnce reports whether what gives a tensor reads at most one element through which a gradient flows.
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

// small reports whether a value is worked out twice sooner than it is stored.
func small(n *term.Term) bool {
	size := 0
	n.Walk(func(*term.Term) { size++ })
	return size <= 12 && !n.Reduces()
}

// final gives the gradient of an input or a weight.
func (d *deriver) final(t int) {
	l := d.p.Tensors[t]
	vars := d.indices(t)
	sum, scatters := d.collect(t, vars)
	id := d.tensor("grad."+l.Name, l.Shape)
	d.out.Of[t], d.out.Scatter[t] = id, len(scatters) > 0
	d.give(id, vars, d.neat(sum), scatters)
}

// give adds the statements of a gradient: the sum that gives it, and those that add to its elements.
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

// emit adds a statement, in which every index has a name of its own with as few primes as there can be.
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

// unused returns a name with as few primes as make it new, and notes it.
func unused(name string, used map[string]bool) string {
	name = strings.TrimRight(name, "'")
	for used[name] {
		name += "'"
	}
	used[name] = true
	return name
}

// named returns a value in which the indices of reductions have names that are not used around them.
func named(n *term.Term, used map[string]bool) *term.Term {
	if n.Op == term.Reduce {
		used = maps.Clone(used)
		n = n.Map(func(x *term.Term) *term.Term { return x }) // with variables of its own
		for _, v := range n.Reduction.Vars {
			v.Name = unused(v.Name, used)
		}
	}
	return n.Map(func(x *term.Term) *term.Term { return named(x, used) })
}

// collect returns the contributions to the gradient of a tensor as a sum, an expression of vars, and those
// that cannot be written so.
func (d *deriver) collect(t int, vars []*term.Variable) (sum *term.Term, scatters []*contribution) {
	sum = term.Number(0)
	for _, c := range d.found[t] {
		if x := d.gather(t, c, vars); x != nil {
			sum = term.Sum(sum, x)
		} else {
			scatters = append(scatters, c)
		}
	}
	return sum, scatters
}
