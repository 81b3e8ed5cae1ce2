// Package program lowers the formula of a spec to a program for one use of the operator: statements over
// indices, in which names, ranks, attributes and absent tensors are resolved.
package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/affine"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// Program is the lowered formula for one use of its operator.
type Program struct {
	Operator   string
	Tensors    []*Local
	Statements []*Statement
	// Grads maps a tensor to the tensor of its gradient, for the gradients that the formula itself defines
	// or reads. Backward holds the definitions of these gradients and the statements that only they need.
	Grads    map[int]int
	Backward []*Statement
	use      *Use // the use from which the program was built
}

// Local is a tensor of a program: the tensor of a slot, an intermediate tensor that statements define, or the
// value that a slot had before the task (old.NAME).
type Local struct {
	Name  string
	Shape []*term.Term
	Kind  term.Kind
	// Type is the element type of a slot, also of what it was before the task, and Invalid of other tensors.
	Type dtype.Type
	// Unsigned is set for elements of type uint64.
	Unsigned bool
	Slot     int // number of the slot, or -1
	Number   int // number among the tensors of a variadic slot
	Old      int // the tensor of whose value before the task this is a copy; or -1
	// Unchanged says that the formula reads the tensor as it was before the task, and that no statement gives
	// it in this use.
	Unchanged bool
	// Varies says that the elements have gradients: the tensor is trainable and of real numbers, or a
	// definition of it depends on such a tensor.
	Varies bool
	Given  bool // whether a statement defines elements
	// Stored says that the tensor must be materialized: its elements are compared with copies of them, as
	// for the gradient of a maximum. A recomputed element may be rounded in another way, and equal none.
	Stored bool
	// Passed is the argument whose values the caller passes in the tensor, or nil.
	Passed *Passed
}

// Statement defines the element Left of a tensor for all values of Vars.
type Statement struct {
	Target int
	Left   *term.Read // the element that the statement defines
	Vars   []*term.Variable
	Value  *term.Term
	// Add says that Value is added to the element (scatter-add), for the values of Vars for which Guard
	// holds. A nil Guard always holds. Several values of Vars may have the same element. Only derived
	// gradients have such statements.
	Add   bool
	Guard *term.Term
	// Recurrence is the block of mutually dependent statements to which this one belongs, or nil. Over is the
	// variable in Vars for the index along which the block runs sequentially.
	Recurrence *Recurrence
	Over       *term.Variable
}

// Parsed is a formula after parsing.
type Parsed struct {
	text    string
	formula *expr.Formula
}

// Parse parses the lines of a formula, to build programs for several uses of its operator.
func Parse(lines []string) (*Parsed, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("want one, got none")
	}
	text := strings.Join(lines, "\n")
	f, errs := expr.ParseFormula(text)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return &Parsed{text, f}, nil
}

// Moves reports whether the formula only copies elements: the value of each statement is an element at plain
// indices, without a condition, as in a transpose. Then attributes and extents have no influence on values.
func (p *Parsed) Moves() bool {
	for _, s := range p.formula.Statements {
		root, ok := s.X.(*expr.Read)
		if !ok || s.When != nil {
			return false
		}
		expr.Walk(root, func(n expr.Node) {
			switch n.(type) {
			case *expr.Ident, *expr.Slice, *expr.Number:
			default:
				ok = ok && n == expr.Node(root)
			}
		})
		if !ok {
			return false
		}
	}
	return true
}

// Build lowers the formula of use u to a program. It orders the statements, separates those for gradients by
// hand, and removes dead code.
func Build(u *Use) (*Program, error) {
	b, err := build(u)
	if err != nil {
		return nil, err
	}
	if b.program.Statements, err = Ordered(b.program.Statements); err != nil {
		return nil, err
	}
	if err := b.splitBackward(); err != nil {
		return nil, err
	}
	b.program.settleBefore()
	b.prune()
	b.program.use = u
	if u.Then != nil {
		return u.Then(b.program)
	}
	return b.program, nil
}

// begin truncates a line for a message.
func begin(line string) string {
	const most = 80
	for i := range line {
		if i > most {
			return line[:i] + "..."
		}
	}
	return line
}

// build lowers all statements of a use. It keeps dead code.
func build(u *Use) (*builder, error) {
	parsed := u.Parsed
	if parsed == nil {
		var err error
		if parsed, err = Parse(u.Formula); err != nil {
			return nil, err
		}
	}
	text, f := parsed.text, parsed.formula
	b := &builder{
		program:   &Program{Operator: u.Operator},
		names:     newNames(),
		byName:    map[string]int{},
		env:       newEnvironment(u),
		functions: map[string]*expr.Function{}, conditional: map[*expr.Function]bool{},
		ranges:    map[string]extent{},
		perTensor: map[string]bool{},
		slots:     map[string]*Slot{},
		assigned:  map[string]bool{},
		counts:    map[string]int{},
		pairs:     map[int]pairOf{},
		seconds:   map[int]bool{},
		spans:     &term.Spans{InUse: true, Known: map[*term.Term]affine.Interval{}},
		narrowed:  map[*term.Term]narrowed{},
		far:       map[*term.Term]error{},
		unsettled: u.Unsettled,
	}
	for _, fn := range f.Functions {
		b.functions[fn.Name] = fn
	}
	for _, s := range f.Statements {
		for _, t := range s.Targets {
			b.assigned[nameOf(t)] = true
		}
	}
	b.callees, b.inlined = calleesOf(u.Callees), map[string]int{}
	if u.Open {
		b.define(u.Definitions)
	}
	if err := b.addSlots(u.Slots); err != nil {
		return nil, err
	}
	if err := b.addPassed(u.Passed); err != nil {
		return nil, err
	}
	if !u.Derived {
		b.gradients(f)
	}
	b.written = f.Statements
	statements := f.Statements
	if u.Derived {
		statements = withoutGradients(f)
	}
	if s, err := b.statements(f, statements); err != nil {
		line, _, _ := strings.Cut(text[s.Pos:], "\n")
		return nil, fmt.Errorf("%s: %w", begin(line), err)
	}
	return b, nil
}

// define replaces the symbols of dimensions by their definitions, if both have the same value in this use.
// Extents that are equal by definition thus become equal terms.
func (b *builder) define(definitions map[string]expr.Node) {
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		was := b.env.values[name]
		v, err := b.value(definitions[name], &scope{vars: map[string]*term.Variable{}}, true)
		if err != nil {
			continue
		}
		x, y := itemsOf(was), itemsOf(v)
		if len(x) == len(y) && !slices.ContainsFunc(y, divided) && slices.EqualFunc(x, y, sameValue) {
			b.env.values[name] = v
		}
	}
}

// itemsOf returns the terms in a value: one for a number, those of a run, or none.
func itemsOf(v value) []*term.Term {
	switch {
	case v.run != nil:
		return v.run.items
	case v.node != nil:
		return []*term.Term{v.node}
	}
	return nil
}

func sameValue(x, y *term.Term) bool {
	a, aKnown := x.Known()
	b, bKnown := y.Known()
	return aKnown && bKnown && a == b
}

// divided reports whether n contains a quotient, a remainder, a function or a conditional.
func divided(n *term.Term) bool {
	found := false
	n.Walk(func(m *term.Term) { found = found || term.Divides(m.Op) || m.Op == term.Apply || m.Op == term.Choose })
	return found
}

// addSlots declares the tensors of the operator's slots.
func (b *builder) addSlots(slots []*Slot) error {
	p := b.program
	for _, s := range slots {
		var err error
		if s.elements, err = elementsOf(s.Shape); err != nil {
			return err
		}
		b.slots[s.Name] = s
		for _, e := range s.elements {
			if x, ok := e.x.(*expr.Index); ok {
				if id, ok := x.X.(*expr.Ident); ok {
					s.listed = true
					b.listed = append(b.listed, id.Name)
				}
			}
		}
	}
	for _, s := range slots {
		for n, o := range s.Tensors {
			if n == 0 {
				b.byName[s.Name] = len(p.Tensors)
			}
			name := s.Name
			if s.Variadic {
				name = fmt.Sprintf("%s[%d]", s.Name, n)
			}
			dims, err := b.dimsOf(s, n)
			if err != nil {
				return err
			}
			k := kindOf(o.Type)
			p.Tensors = append(p.Tensors, &Local{Name: name, Shape: dims, Kind: k, Type: o.Type, Slot: o.Slot, Number: n, Old: -1, Unsigned: o.Type == dtype.U64,
				Varies: k == term.Real && s.Trainable})
		}
	}
	return nil
}

// dimsOf returns the extents of tensor n of slot s, as terms in the slot's shape. If the value of a term
// differs from the tensor's extent, the extent is a constant instead.
func (b *builder) dimsOf(s *Slot, n int) ([]*term.Term, error) {
	sc := &scope{params: map[string]value{"i": {node: term.Number(n)}}, vars: map[string]*term.Variable{}}
	dims := []*term.Term{}
	for _, e := range s.elements {
		x, err := b.shapeOf(e, sc)
		if err != nil {
			return nil, err
		}
		dims = append(dims, x...)
	}
	actual := s.Tensors[n].Shape
	if len(dims) != len(actual) {
		return nil, fmt.Errorf("%s has the shape %s, which gives %d dimensions, and got %d", s.Name, s.Shape, len(dims), len(actual))
	}
	for i, d := range dims {
		if v, _ := d.Known(); v != actual[i] {
			dims[i] = term.Number(actual[i])
		}
	}
	return dims, nil
}

// Add declares a tensor that belongs to no slot, and returns its number.
func (p *Program) Add(l *Local) int {
	l.Slot = -1
	for i, n := range l.Shape {
		if extent, known := n.Known(); known && extent < 0 { // the range is empty: hi < lo
			l.Shape[i] = term.Number(0)
		}
	}
	p.Tensors = append(p.Tensors, l)
	return len(p.Tensors) - 1
}

// prune drops the statements on which no slot depends (dead code), and marks the tensors that have gradients.
func (b *builder) prune() {
	p := b.program
	need := make([]bool, len(p.Tensors))
	for i, t := range p.Tensors {
		need[i] = t.Slot >= 0
	}
	var kept []*Statement
	for _, s := range slices.Backward(p.Statements) {
		if !s.Needs(func(t int) bool { return need[t] }) {
			continue
		}
		kept = append(kept, s)
		s.Reads(func(r *term.Read) {
			for i := range r.Count {
				need[r.Tensor+i] = true
			}
		})
	}
	slices.Reverse(kept)
	p.Statements = kept
	for i := range kept {
		block := Together(kept, i)
		for range block { // what one gives may vary by what another one gives
			for _, s := range block {
				t := p.Tensors[s.Target]
				t.Given = true
				t.Varies = t.Varies || t.Kind == term.Real && b.program.Depends(s.Value)
			}
		}
	}
	b.pruneBackward()
}

// Depends reports whether n reads an element that has a gradient. It ignores detached reductions.
func (p *Program) Depends(n *term.Term) bool {
	found := false
	n.WalkInto(func(m *term.Term) bool {
		if m.Op == term.Element && m.Kind == term.Real && p.Tensors[m.Read.Tensor].Varies {
			found = true
		}
		return m.Op != term.Reduce || !m.Reduction.Detached
	})
	return found
}

// Walk calls visit for the terms of a statement: of its value, its guard, the element that it defines and the
// ranges of its variables.
func (s *Statement) Walk(visit func(*term.Term)) {
	s.Value.Walk(visit)
	s.Guard.Walk(visit)
	s.Left.Which.Walk(visit)
	for _, i := range s.Left.Idx {
		i.Walk(visit)
	}
	for _, v := range s.Vars {
		v.Lo.Walk(visit)
		v.Hi.Walk(visit)
	}
}

// Reads calls visit for each element that the statement reads.
func (s *Statement) Reads(visit func(*term.Read)) {
	s.Walk(func(n *term.Term) {
		if n.Op == term.Element {
			visit(n.Read)
		}
	})
}

// String prints the statement in the syntax of formulas.
func (s *Statement) String() string {
	left := &term.Term{Op: term.Element, Kind: s.Value.Kind, Read: s.Left}
	if !s.Add {
		return left.String() + " = " + s.Value.String()
	}
	text := left.String() + " += " + s.Value.String()
	for i, v := range s.Vars {
		if i == 0 {
			text += " for " + v.Range()
		} else {
			text += ", " + v.Range()
		}
	}
	if s.Guard != nil {
		text += " when " + s.Guard.String()
	}
	return text
}
