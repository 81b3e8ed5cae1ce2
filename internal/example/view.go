package example

import (
	"cmp"
	"errors"
	"slices"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// view is a use of an operator with the analysis of its formula.
type view struct {
	*use
	*computed
}

// computed is the analysis of a formula at an example, with extents as symbols. It does not depend on facts.
type computed struct {
	example  int // the number of the example, from 1
	choice   Choice
	program  *program.Program
	gradient *derive.Gradient // nil if there is no backward task, or if the formula has no gradient
	tooLarge *derive.TooLarge // set if the gradient is too large to derive
	flops    map[counted]*term.Term
}

// counted is the key of a count of operations: a task, and whether searches count in full.
type counted struct {
	task   task.Kind
	search bool
}

// known holds the results of analyzing an operator's formula, so that each is made once.
type known struct {
	parsed   *program.Parsed // nil if there is no formula, or if it has syntax errors
	computed []*computed
	spent    int          // the terms analyzed so far, a budget
	saved    map[int]bool // slots that are inferred to be saved
}

// maxTerms bounds the terms analyzed at all examples of a formula. Each analysis counts leastTerms at least.
const (
	maxTerms   = 1 << 15
	leastTerms = 1 << 5
)

// spend adds the size of a program to the terms analyzed.
func (k *known) spend(p *program.Program) {
	k.spent += leastTerms
	for _, s := range p.Statements {
		k.spent += s.Value.Size(maxTerms)
	}
}

// Known holds the results of Follow. They stay valid when facts are added to specs. A nil Known is empty.
type Known struct{ of map[string]*known } // by operator

// about returns what is known of an operator, or nothing but the parsed formula.
func (k *Known) about(o *model.Operator) *known {
	if k != nil && k.of[o.Name] != nil {
		return k.of[o.Name]
	}
	out := &known{saved: map[int]bool{}}
	out.parsed, _ = program.Parse(o.Operator.Formula) // program.Build reports the error
	return out
}

// look returns the view of a use, from the cache or by a new analysis. It returns nil if the formula cannot
// be lowered, or if the budget of terms is spent.
func (u *use) look(example int, known *known) *view {
	for _, c := range known.computed {
		if c.example == example && c.choice.Request == u.choice.Request && slices.Equal(c.choice.Types, u.choice.Types) {
			return &view{u, c}
		}
	}
	if known.spent > maxTerms {
		return nil
	}
	open := u.result()
	open.Open, open.Definitions = true, definitions(u.op)
	p, err := program.Build(open)
	if err != nil {
		known.spent += leastTerms
		return nil
	}
	c := &computed{example: example, choice: u.choice, program: p, flops: map[counted]*term.Term{}}
	if u.op.Task(task.KindBackward) != nil {
		g, err := derive.Gradients(p, Outputs(u.op, p))
		if err == nil {
			c.gradient = g
			p = g.Program
		}
		errors.As(err, &c.tooLarge)
	}
	known.spend(p)
	known.computed = append(known.computed, c)
	return &view{u, c}
}

// views returns a view for each example that fits, with floating-point types if the operator allows them.
func views(o *model.Operator, known *known) []*view {
	if known.parsed == nil {
		return nil
	}
	choices := Choices(o)
	slices.SortStableFunc(choices, func(a, b Choice) int { return cmp.Compare(a.others(), b.others()) })
	var out []*view
	for i := range o.Operator.Examples {
		if known.spent > maxTerms {
			break
		}
		for _, c := range choices {
			u := newUse(o, &o.Operator.Examples[i], c)
			if u.err != nil {
				continue
			}
			u.parsed = known.parsed
			if v := u.look(i+1, known); v != nil {
				out = append(out, v)
			}
			break
		}
	}
	return out
}

// others is the sort key of a choice: the number of element types that are not floating-point. A choice with
// outputs on request sorts last.
func (c Choice) others() int {
	n := 0
	for _, t := range c.Types {
		if !t.IsFloat() {
			n++
		}
	}
	if c.Request {
		n += len(c.Types) + 1
	}
	return n
}

// statements returns the statements of a task, or nil if they are not known.
func (v *view) statements(k task.Kind) []*program.Statement {
	switch k {
	case task.KindForward, task.KindUpdate:
		return v.program.Statements
	case task.KindBackward:
		if v.gradient != nil {
			return v.gradient.Statements
		}
	}
	return nil
}

// operations returns the number of operations of a task. With search set, searches count in full.
func (v *view) operations(k task.Kind, search bool) *term.Term {
	c := counted{k, search}
	if v.flops[c] == nil {
		v.flops[c] = derive.Flops(v.statements(k), search)
	}
	return v.flops[c]
}

// tensors returns the program whose tensors the statements of a task refer to.
func (v *view) tensors(k task.Kind) *program.Program {
	if k == task.KindBackward && v.gradient != nil {
		return v.gradient.Program
	}
	return v.program
}

// tensor returns the tensor of a slot, or of its gradient in backward. It returns -1 if there is none, or if
// the slot is variadic.
func (v *view) tensor(k task.Kind, slot int) int {
	if list := v.all(k, slot); len(list) > 0 && !v.op.Slots[slot].Variadic {
		return list[0]
	}
	return -1
}

// all returns the tensors of a slot, or of their gradients in backward, by number. It returns nil if one has
// no gradient.
func (v *view) all(k task.Kind, slot int) (list []int) {
	for t, l := range v.program.Tensors {
		if l.Slot != slot || l.Old >= 0 || len(list) > 0 && !v.op.Slots[slot].Variadic {
			continue
		}
		if k == task.KindBackward {
			if v.gradient == nil {
				return nil
			}
			g, ok := v.gradient.Of[t]
			if !ok {
				return nil
			}
			t = g
		}
		list = append(list, t)
	}
	return list
}

// results returns a predicate: whether a task defines a tensor for a slot, which is an output or the
// gradient of an input.
func (v *view) results(k task.Kind) func(tensor int) bool {
	return func(t int) bool {
		if k != task.KindBackward {
			l := v.program.Tensors[t]
			return l.Slot >= 0 && l.Given && l.Old < 0
		}
		if v.gradient == nil {
			return false
		}
		for of, g := range v.gradient.Of {
			if g == t {
				return v.op.Slots[v.program.Tensors[of].Slot].Role != task.RoleOutput
			}
		}
		return false
	}
}

// running returns the steps of a task that run in this use, and the sizes of their iteration spaces.
func (v *view) running(t *model.Task) (steps []*model.Step, indices []int) {
	for _, s := range t.Steps {
		if s.WhenX != nil && !v.truth(s.WhenX) {
			continue
		}
		n := v.integer(s.OverX)
		for _, x := range s.InnerX {
			n *= v.integer(x)
		}
		steps, indices = append(steps, s), append(indices, n)
	}
	return steps, indices
}

// Outputs returns the output tensors of a program that have gradients: the seeds of backward.
func Outputs(o *model.Operator, p *program.Program) []int {
	var out []int
	for i, l := range p.Tensors {
		if l.Slot >= 0 && l.Given && p.HasGradient(i) && l.Kind == term.Real && o.Slots[l.Slot].Role == task.RoleOutput {
			out = append(out, i)
		}
	}
	return out
}
