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

// view is a use of an operator with what its formula computes there, in which extents are open.
type view struct {
	*use
	*computed
}

// computed is what a formula computes at an example, in which extents are open. It does not depend on facts.
type computed struct {
	example  int // its number, from 1
	choice   Choice
	program  *program.Program
	gradient *derive.Gradient // nil if there is no backward task, or if the formula has no gradient
	tooLarge *derive.TooLarge // why there is no gradient, if it would take too long to derive
	flops    map[counted]*term.Term
}

// counted is what operations are counted of: the statements of a task, with the search for elements or
// without.
type counted struct {
	task   task.Kind
	search bool
}

// known is what was worked out of an operator's formula, so that it is worked out once.
type known struct {
	parsed   *program.Parsed // the formula; nil if there is none, or if it cannot be read
	computed []*computed
	spent    int          // what was worked out so far, in terms
	saved    map[int]bool // slots of which it follows that they are saved
}

// maxTerms bounds what is worked out of a formula at all examples, and leastTerms is what each of them counts
// at least.
const (
	maxTerms   = 1 << 15
	leastTerms = 1 << 5
)

// spend notes the size of a program.
func (k *known) spend(p *program.Program) {
	k.spent += leastTerms
	for _, s := range p.Statements {
		k.spent += s.Value.Size(maxTerms)
	}
}

// Known is what Follow worked out of formulas. It holds for the operators of the module also after facts were
// added to their specs. A nil Known is empty.
type Known struct{ of map[string]*known } // by name of the operator

// about returns what is known of an operator, and begins with the formula if that is nothing.
func (k *Known) about(o *model.Operator) *known {
	if k != nil && k.of[o.Name] != nil {
		return k.of[o.Name]
	}
	out := &known{saved: map[int]bool{}}
	out.parsed, _ = program.Parse(o.Operator.Formula) // program.Build reports the error
	return out
}

// look returns the view of a use, or nil if the formula cannot be computed, or if too much was computed
// before.
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

// views returns a view for each example that fits, with floating-point types where the operator allows them.
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

// others counts the element types of a choice that are not floating-point; one with outputs on request comes
// behind all.
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

// statements returns what a task computes; nothing if that is not known.
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

// operations returns how many operations a task takes; with search, also those that look for elements.
func (v *view) operations(k task.Kind, search bool) *term.Term {
	c := counted{k, search}
	if v.flops[c] == nil {
		v.flops[c] = derive.Flops(v.statements(k), search)
	}
	return v.flops[c]
}

// tensors returns the tensors of which the statements of a task are made.
func (v *view) tensors(k task.Kind) *program.Program {
	if k == task.KindBackward && v.gradient != nil {
		return v.gradient.Program
	}
	return v.program
}

// tensor returns the tensor of a slot, in backward that of its gradient; -1 if there is none, or if there are
// several.
func (v *view) tensor(k task.Kind, slot int) int {
	t := slices.IndexFunc(v.program.Tensors, func(l *program.Local) bool { return l.Slot == slot && l.Old < 0 })
	switch {
	case t < 0 || v.op.Slots[slot].Variadic:
		return -1
	case k != task.KindBackward:
		return t
	case v.gradient != nil:
		if g, ok := v.gradient.Of[t]; ok {
			return g
		}
	}
	return -1
}

// results reports whether a task's statements give a tensor to a slot: an output, or the gradient of an
// input.
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

// running lists the steps of a task that run in this use, with how many indices each has.
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

// Outputs lists the tensors of a program from whose gradients backward computes the others.
func Outputs(o *model.Operator, p *program.Program) []int {
	var out []int
	for i, l := range p.Tensors {
		if l.Slot >= 0 && l.Given && p.HasGradient(i) && l.Kind == term.Real && o.Slots[l.Slot].Role == task.RoleOutput {
			out = append(out, i)
		}
	}
	return out
}
