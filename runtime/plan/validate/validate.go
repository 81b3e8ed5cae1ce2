// Package validate proves that a plan computes what its program says. This is known as translation
// validation: it checks each result of package planner rather than the planner. It shares no code with the
// planner.
package validate

import (
	"math"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/internal/numbering"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Plan proves that sequential execution of a plan's tasks leaves the same values as the program's steps in
// every fetched tensor and every variable. It runs both on symbols: the value that a task writes is a symbol
// that stands for the task, its attributes and the symbols that it reads. It also proves that the accesses of
// each task permit what its signature says, that its steps run over the extents that its operator determines,
// and that Task.After holds the explicit order of the program.
//
// It trusts the signatures of operators, and treats a conversion between floating-point types as the
// identity. Package verify proves the rest: that the queues keep the order of the tasks, and that tensors
// keep their memory. The error is a *plan.Error.
func Plan(p *plan.Plan, prog *graph.Program) error {
	if err := verify.Form(p); err != nil {
		return err
	}
	v := &validator{Plan: p, symbols: newSymbols(4 * len(prog.Steps)), calls: make([]call, 0, len(prog.Steps)), found: make([]int32, len(p.Calls)), attrs: map[*task.Resolution][]byte{}}
	want := v.program(prog)
	got, err := v.plan()
	if err == nil {
		err = v.compare(prog, want, got)
	}
	if err == nil {
		err = v.explicit(prog)
	}
	if err == nil {
		err = v.states(prog)
	}
	if err != nil {
		return err
	}
	return nil
}

type validator struct {
	*plan.Plan
	symbols *symbols
	calls   []call                      // of the program
	numbers map[key]int32               // of calls of the program; made when calls of the plan are found to have another order
	next    int                         // the call of the program that is expected next
	found   []int32                     // per call of the plan: the number of that of the program, plus 1; 0 if it was not looked for yet
	attrs   map[*task.Resolution][]byte // attributes in JSON
}

// symbol stands for the elements of a tensor.
type symbol int64

// empty stands for a tensor without elements.
const empty symbol = -1

// operation says how an expression makes its symbol. Its operands are symbols, or numbers.
type operation int32

const (
	initially   operation = iota // what the caller, or the run before, has left in tensor a of the names
	undefined                    // what nothing has written
	filled                       // the number with the bits a in every element
	neutral                      // the neutral element of reduction a of the names
	added                        // a + b
	reduced                      // a and b by reduction n of the names
	called                       // the call of number a, with nothing that it reads
	readsUnused                  // what a call that has read a has read after an unused gradient of parameter n
	readsOwn                     // the same after a tensor of parameter n that the call has written itself
	reads                        // the same after elements b of parameter n
	returns                      // what a call that has read b writes to tensor a of parameter n
)

// expression says what a symbol stands for.
type expression struct {
	op   operation
	n    int32
	a, b symbol
}

// symbols numbers expressions: equal ones have equal symbols.
type symbols struct {
	of    *numbering.Numbering[expression]
	names map[string]symbol // numbers of names
}

// newSymbols returns symbols with room for n.
func newSymbols(n int) *symbols {
	return &symbols{numbering.New[expression](n), map[string]symbol{}}
}

func (s *symbols) symbol(op operation, n int, a, b symbol) symbol {
	x, _ := s.of.Add(expression{op, int32(n), a, b})
	return symbol(x)
}

// initial stands for what the caller, or the run before, has left in a tensor.
func (s *symbols) initial(name string) symbol {
	return s.symbol(initially, 0, s.name(name), 0)
}

// fill stands for a number in every element. All NaNs are one.
func (s *symbols) fill(value float64) symbol {
	if math.IsNaN(value) {
		value = math.NaN()
	}
	return s.symbol(filled, 0, symbol(math.Float64bits(value)), 0)
}

// identity stands for the neutral element of a reduction.
func (s *symbols) identity(r perm.Redop) symbol { return s.symbol(neutral, 0, s.reduction(r), 0) }

// reduction numbers reduction operators among the names of tensors, of which none begins like that.
func (s *symbols) reduction(r perm.Redop) symbol { return s.name("reduce\x00" + string(r)) }

func (s *symbols) name(name string) symbol {
	n, ok := s.names[name]
	if !ok {
		n = symbol(len(s.names))
		s.names[name] = n
	}
	return n
}

// sum stands for a + b. A sum that begins at 0 is its second term.
func (s *symbols) sum(a, b symbol) symbol {
	if a == s.fill(0) {
		return b
	}
	return s.symbol(added, 0, a, b)
}

// memory holds what tensors contain: graph.Tensor for those of a program, region.Root for those of a plan.
type memory[K any] struct {
	symbols *symbols
	at      func(K) *symbol                     // the symbol plus 2; 0 if nothing has been written
	first   func(K) (elements int, name string) // the name is "" of a tensor that nothing has written
}

func (m *memory[K]) get(k K) symbol {
	if s := *m.at(k); s > 0 {
		return s - 2
	}
	elements, name := m.first(k)
	switch {
	case elements == 0:
		return empty
	case name == "":
		return m.symbols.symbol(undefined, 0, 0, 0)
	}
	return m.symbols.initial(name)
}

func (m *memory[K]) set(k K, s symbol) {
	if elements, _ := m.first(k); elements > 0 {
		*m.at(k) = s + 2
	}
}

// program runs the steps of a program.
func (v *validator) program(prog *graph.Program) *memory[graph.Tensor] {
	var fed graph.Table[bool]
	for _, t := range prog.Fed {
		*fed.At(t) = true
	}
	var contents graph.Table[symbol]
	m := &memory[graph.Tensor]{v.symbols, contents.At, func(t graph.Tensor) (int, string) {
		if t.Variable() || *fed.At(t) {
			return t.Elements(), t.Name()
		}
		return t.Elements(), ""
	}}
	var operands operands[graph.Tensor]
	for _, s := range prog.Steps {
		switch {
		case s.Fill != nil && s.Fill.Identity != perm.NoRedop:
			m.set(s.Fill.Tensor.Root(), v.symbols.identity(s.Fill.Identity))
		case s.Fill != nil:
			m.set(s.Fill.Tensor.Root(), v.symbols.fill(s.Fill.Value))
		case s.Add != nil:
			to, from := s.Add.To.Root(), s.Add.From.Root()
			m.set(to, v.symbols.sum(m.get(to), m.get(from)))
		case s.Copy != nil:
			m.set(s.Copy.To.Root(), m.get(s.Copy.From.Root()))
		case s.AllReduce != nil:
			var all []graph.Tensor
			for _, t := range s.AllReduce.Tensors {
				all = append(all, t.Root())
			}
			reduce(m, perm.Sum, all)
		case s.Invocation != nil:
			v.calls = append(v.calls, v.newCall(s, len(v.calls)))
			c := &v.calls[len(v.calls)-1]
			if c.idle() {
				continue
			}
			operands.reset()
			for _, ts := range s.Invocation.Operands {
				for _, t := range ts {
					operands.add(operand[graph.Tensor]{t.Root(), t.Valid(), t.Mode()})
				}
				operands.end()
			}
			apply(m, c, &operands)
		}
	}
	return m
}

// plan runs the tasks of the plan.
func (v *validator) plan() (*memory[region.Root], *plan.Error) {
	contents := make([]symbol, len(v.Roots))
	at := func(r region.Root) *symbol { return &contents[r] }
	m := &memory[region.Root]{v.symbols, at, func(r region.Root) (int, string) {
		root := &v.Roots[r]
		if root.Use == plan.Fed || root.Use == plan.Variable {
			return shape.Prod(root.Shape), root.Name
		}
		return shape.Prod(root.Shape), ""
	}}
	var now running
	for t := range v.Tasks {
		parts := v.Tasks[t : t+1]
		if g := v.Tasks[t].Group; g != nil {
			parts = g.Parts
		}
		for i := range parts {
			var err *plan.Error
			if parts[i].Builtin != nil {
				err = v.builtin(m, t, &parts[i])
			} else {
				err = v.step(m, &now, t, &parts[i])
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if now.left > 0 {
		return nil, v.Errorf("want %d more steps of the last call", now.left)
	}
	return m, nil
}

// builtin runs a built-in operation.
func (v *validator) builtin(m *memory[region.Root], t int, part *plan.Task) *plan.Error {
	b := part.Builtin
	want := 0 // tensors
	switch b.Op {
	case "fill", "identity":
		want = 1
	case "add", "convert", "copy":
		want = 2
	case "all_reduce":
		want = max(len(part.Access), 1)
	}
	if want == 0 || len(part.Access) != want {
		return v.TaskErrorf(t, "want a built-in operation with its tensors, got %q with %d", b.Op, len(part.Access))
	}
	var roots []region.Root
	for i := range part.Access {
		a := &part.Access[i]
		all := b.Op == "all_reduce"
		if !v.permits(a, a.Root, i > 0 || b.Op == "add" || all, i == 0 || all) || part.Over != shape.Prod(v.Roots[a.Root].Shape) {
			return v.TaskErrorf(t, "want accesses to all of the tensors of %s, got %v to %v over %d", b.Op, a.Perm, a.Region, part.Over)
		}
		roots = append(roots, a.Root)
	}
	to := part.Access[0].Root
	switch b.Op {
	case "fill":
		m.set(to, v.symbols.fill(b.Value))
	case "identity":
		m.set(to, v.symbols.identity(b.Redop))
	case "add":
		m.set(to, v.symbols.sum(m.get(to), m.get(part.Access[1].Root)))
	case "convert", "copy":
		m.set(to, m.get(part.Access[1].Root))
	case "all_reduce":
		reduce(m, b.Redop, roots)
	}
	return nil
}

// reduce sets all of some tensors to their reduction in this order.
func reduce[K any](m *memory[K], r perm.Redop, all []K) {
	s := m.get(all[0])
	for _, k := range all[1:] {
		s = m.symbols.symbol(reduced, int(m.symbols.reduction(r)), s, m.get(k))
	}
	for _, k := range all {
		m.set(k, s)
	}
}

// permits reports whether an access covers a root and permits to read and to write it, if asked.
func (v *validator) permits(a *region.Access, r region.Root, reads, writes bool) bool {
	if a.Root != r || !a.Covers(v.Roots[r].Shape) {
		return false
	}
	switch a.Perm {
	case perm.Read:
		return !writes
	case perm.Write, perm.Scratch:
		return !reads
	}
	return a.Perm == perm.ReadWrite || a.Perm == perm.Reduce
}

// compare checks what the plan leaves in the tensors that outlive a run.
func (v *validator) compare(prog *graph.Program, want *memory[graph.Tensor], got *memory[region.Root]) *plan.Error {
	roots := map[string]region.Root{}
	for i := range v.Roots {
		if r := &v.Roots[i]; r.Use != plan.Internal {
			roots[r.Name] = region.Root(i)
		}
	}
	fetched := map[graph.Tensor]bool{}
	for _, t := range prog.Fetched {
		fetched[t] = true
	}
	for _, list := range []struct {
		tensors []graph.Tensor
		uses    []plan.Use
	}{
		{prog.Fed, []plan.Use{plan.Fed}},
		{prog.Variables, []plan.Use{plan.Variable}},
		{prog.Fetched, []plan.Use{plan.Fed, plan.Variable, plan.Fetched}},
	} {
		for _, t := range list.tensors {
			r, ok := roots[t.Name()]
			if !ok && t.Variable() && want.get(t.Root()) == v.symbols.initial(t.Name()) {
				continue // only views of it are read
			}
			if !ok || !slices.Contains(list.uses, v.Roots[r].Use) || v.Roots[r].Operand().String() != t.Operand().String() || v.Roots[r].Device != t.Device() {
				return v.Errorf("want a tensor (%v) for %s %v of the program, got none", list.uses[len(list.uses)-1], t.Name(), t.Operand())
			}
			if v.Roots[r].Use != plan.Fed && got.get(r) != want.get(t.Root()) {

				return v.RootErrorf(r, "want a plan that computes what its program says, got other elements")
			}
			if v.Roots[r].Last < len(v.Tasks) && fetched[t] {
				return v.RootErrorf(r, "want a fetched tensor to live until %d, got %d", len(v.Tasks), v.Roots[r].Last)
			}
		}
	}
	variables := map[string]bool{}
	for _, t := range prog.Variables {
		variables[t.Name()] = true
	}
	for i := range v.Roots {
		if r := &v.Roots[i]; r.Use == plan.Variable && !variables[r.Name] {
			return v.RootErrorf(region.Root(i), "want the variables of the program, got another")
		}
	}
	return nil
}
