package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/nearest"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/perm"
)

// taskNames lists, for each kind of spec, the tasks that it must and may have.
var taskNames = map[spec.Kind]struct{ must, may []string }{
	spec.Operator:    {must: []string{"forward"}, may: []string{"backward"}},
	spec.Initializer: {must: []string{"forward"}},
	spec.Optimizer:   {must: []string{"update"}},
}

func (o *operator) tasks() {
	names := taskNames[o.s.Kind]
	have := map[string]bool{}
	for _, t := range o.s.Tasks {
		have[t.Name] = true
		o.name(t.Name, "task", t.Key)
		switch {
		case slices.Contains(names.must, t.Name), slices.Contains(names.may, t.Name):
			o.task(t)
		case t.Name == "init" || t.Name == "cleanup" || t.Kind.Set():
			o.list.Add(diag.NotYet, t.Key, "task %s is not supported yet", t.Name)
		default:
			d := o.list.Add(diag.BadTask, t.Key, "a spec of kind %s has no task %s", o.s.Kind, t.Name)
			all := append(slices.Clone(names.must), names.may...)
			if n := nearest.Name(t.Name, all); n != "" {
				d.Hinted("did you mean %s?", n)
			} else {
				d.Hinted("its tasks are %s", strings.Join(all, ", "))
			}
		}
	}
	for _, n := range names.must {
		if !have[n] {
			o.list.Add(diag.BadTask, o.s.Name.Span(), "a spec of kind %s has a task %s, this one has none", o.s.Kind, n).Hinted("add [tasks.%s] with over = \"...\"", n)
		}
	}
	for _, s := range o.s.Slots {
		if s.Role.V == "scratch" && !slices.ContainsFunc(o.s.Tasks, func(t *spec.Task) bool { return accessOf(t, s.Name) != nil }) {
			o.list.Add(diag.Unused, s.Key, "no task uses the scratch slot %s", s.Name).Hinted("give it access in a task: access = { %s = \"scratch\" }", s.Name)
		}
	}
	for _, a := range o.s.Args {
		if !slices.ContainsFunc(o.s.Tasks, func(t *spec.Task) bool {
			return slices.ContainsFunc(t.Args, func(n spec.Str) bool { return n.V == a.Name })
		}) {
			o.list.Add(diag.Unused, a.Key, "no task takes the argument %s", a.Name).Hinted("list it in a task: args = [%q]", a.Name)
		}
	}
	if o.s.Kind == spec.Optimizer {
		for _, want := range []string{"weight", "grad"} {
			if !slices.ContainsFunc(o.s.Slots, func(s *spec.Slot) bool { return s.Name == want && s.Role.V == "input" && !s.Present.Set() }) {
				o.list.Add(diag.BadRole, o.s.Name.Span(), "an optimizer has an input %s, this one has none", want)
			}
		}
		for _, s := range o.s.Slots {
			if s.Role.V == "input" && s.Name != "weight" && s.Name != "grad" {
				o.list.Add(diag.BadRole, s.Key, "the inputs of an optimizer are weight and grad; what it keeps from step to step are slots of role weight")
			}
		}
	}
	if o.s.Kind == spec.Initializer {
		outputs := 0
		for _, s := range o.s.Slots {
			if s.Role.V == "output" {
				outputs++
			}
		}
		if outputs != 1 {
			o.list.Add(diag.BadRole, o.s.Name.Span(), "an initialiser has one output, this one has %d", outputs)
		}
	}
}

func accessOf(t *spec.Task, slot string) *spec.Access {
	for _, a := range t.Access {
		if a.Slot == slot {
			return a
		}
	}
	return nil
}

func (o *operator) task(t *spec.Task) {
	switch {
	case t.Over.Set() && len(t.Steps) > 0:
		o.list.Add(diag.BadStep, t.Over.Span(), "task %s has both over and steps; each step has its own", t.Name).See(t.Steps[0].Key, "the first step")
	case !t.Over.Set() && len(t.Steps) == 0:
		o.list.Add(diag.BadStep, t.Key, "task %s has neither over nor steps", t.Name).
			Hinted("say how many indices it runs over, which may be computed side by side: over = \"prod(N)\"")
	}
	if t.Grain.Set() && len(t.Steps) > 0 {
		o.list.Add(diag.BadStep, t.Grain.Span(), "grain belongs to the steps")
	}
	o.sc.Expr(t.Over, expr.Int)
	o.sc.Expr(t.Grain, expr.Int)
	for _, s := range t.Steps {
		o.name(s.Name, "step", s.Key)
		o.sc.Expr(s.Over, expr.Int)
		o.sc.Expr(s.Grain, expr.Int)
		o.sc.Expr(s.When, expr.Bool)
	}
	for _, a := range t.Access {
		o.access(t, a)
	}
	for _, n := range t.Args {
		if o.sc.What(n.V) != "argument" {
			d := o.list.Add(diag.Undefined, n.Span(), "there is no argument %s", n.V)
			if h := o.sc.Suggest(n.V, "argument"); h != "" {
				d.Hinted("%s", h)
			}
		}
	}
	if t.Name == "backward" {
		o.backward(t)
	} else if len(t.Grads) > 0 {
		o.list.Add(diag.BadGrad, t.Grads[0].Key, "only backward computes gradients")
	}
}

func (o *operator) findSlot(a *spec.Access) *spec.Slot {
	for _, s := range o.s.Slots {
		if s.Name == a.Slot {
			return s
		}
	}
	d := o.list.Add(diag.Undefined, a.Key, "there is no slot %s", a.Slot)
	if h := o.sc.Suggest(a.Slot, "slot"); h != "" {
		d.Hinted("%s", h)
	}
	return nil
}

// access checks that a task may do with a slot what it says.
func (o *operator) access(t *spec.Task, a *spec.Access) {
	s := o.findSlot(a)
	if s == nil || !a.Value.Set() {
		return
	}
	if strings.HasPrefix(a.Value.V, "reduce(") && strings.HasSuffix(a.Value.V, ")") {
		op := strings.TrimSuffix(strings.TrimPrefix(a.Value.V, "reduce("), ")")
		if _, err := perm.ParseRedop(op); err != nil {
			o.list.Add(diag.BadValue, a.Value.Span(), "there is no reduction operator %q", op).Hinted("operators are sum, prod, min, max")
			return
		}
		o.list.Add(diag.NotYet, a.Value.Span(), "reductions are not supported yet")
		return
	}
	p, err := perm.Parse(a.Value.V)
	if err != nil || p == perm.Reduce {
		d := o.list.Add(diag.BadValue, a.Value.Span(), "there is no permission %q", a.Value.V)
		if n := nearest.Name(a.Value.V, perm.Names()); n != "" {
			d.Hinted("did you mean %s?", n)
		} else {
			d.Hinted("permissions are none, read, write, readwrite, reduce(op), scratch")
		}
		return
	}
	if why := forbidden(t.Name, s.Role.V, p); why != "" {
		o.list.Add(diag.BadPerm, a.Value.Span(), "%s may not have %s access to %s: %s", t.Name, p, s.Name, why).See(s.Role.Span(), "%s is declared %s here", s.Name, articled(s.Role.V))
	}
}

// forbidden says why a task may not access a slot of a role with permission p, or returns "".
func forbidden(task, role string, p perm.Perm) string {
	if p == perm.None {
		return ""
	}
	if (role == "scratch") != (p == perm.Scratch) {
		if role == "scratch" {
			return "scratch memory holds nothing before or after, so its access is scratch"
		}
		return fmt.Sprintf("scratch access would destroy %s", articled(role))
	}
	switch {
	case role == "scratch":
		return ""
	case task == "backward":
		if p != perm.Read {
			return "backward reads values; what it computes are gradients, which grads lists"
		}
	case task == "update" && role != "output" && role != "saved":
		return ""
	case role == "input":
		if p != perm.Read {
			return "others may use an input too, so only update, of an optimizer, changes one"
		}
	case role == "output" || role == "saved":
		if p == perm.Read {
			return "nothing has been written to it before"
		}
	}
	return ""
}

func (o *operator) backward(t *spec.Task) {
	any := false
	for _, s := range o.s.Slots {
		any = any || o.trainable(s)
	}
	if !any {
		o.list.Add(diag.BadGrad, t.Key, "no slot is trainable, so backward has nothing to compute")
	}
	for _, g := range t.Grads {
		s := o.findSlot(g)
		if s == nil {
			continue
		}
		if g.Value.Set() && !slices.Contains(GradModes, g.Value.V) {
			d := o.list.Add(diag.BadValue, g.Value.Span(), "want one of %s, got %q", strings.Join(GradModes, ", "), g.Value.V)
			if n := nearest.Name(g.Value.V, GradModes); n != "" {
				d.Hinted("did you mean %s?", n)
			}
		}
		if !o.trainable(s) {
			o.list.Add(diag.BadGrad, g.Key, "%s gets no gradient: %s", s.Name, o.whyNot(s))
		}
	}
}

// GradModes lists how a task contributes to a gradient: by putting each element once, or by adding
// to any element any number of times.
var GradModes = []string{"once", "scatter"}

// Trainable reports whether a slot gets a gradient: a floating-point input or weight, unless the spec
// says otherwise.
func (o *operator) trainable(s *spec.Slot) bool {
	if s.Role.V != "input" && s.Role.V != "weight" {
		return false
	}
	if s.Trainable.Set() {
		return s.Trainable.V
	}
	return o.floatType(s.Type)
}

func (o *operator) whyNot(s *spec.Slot) string {
	switch {
	case s.Role.V != "input" && s.Role.V != "weight":
		return fmt.Sprintf("it is %s", articled(s.Role.V))
	case s.Trainable.Set():
		return "it is declared not trainable"
	}
	return s.Type.V + " is not floating-point"
}

func (o *operator) example(x *spec.Example) {
	o.given(o.s, x.Attrs, x.Span, diag.BadExample)
	have := map[string]bool{}
	for _, e := range x.Inputs {
		have[e.Key] = true
		p := slices.IndexFunc(o.s.Slots, func(s *spec.Slot) bool { return s.Name == e.Key })
		if p < 0 || o.s.Slots[p].Role.V != "input" && o.s.Kind != spec.Initializer {
			d := o.list.Add(diag.BadExample, e.KeySpan, "there is no input %s", e.Key)
			if h := o.sc.Suggest(e.Key, "slot"); h != "" {
				d.Hinted("%s", h)
			}
			continue
		}
		arr, ok := e.Value.(*source.Array)
		if !ok {
			o.list.Add(diag.BadExample, source.SpanOf(e.Value), "%s: want the extents of a shape, got %s", e.Key, articled(source.Kind(e.Value)))
			continue
		}
		for _, n := range arr.Elems {
			s, ok := n.(*source.Scalar)
			v, isInt := int64(0), false
			if ok {
				v, isInt = s.Value.(int64)
			}
			if !isInt || v < 0 {
				o.list.Add(diag.BadExample, source.SpanOf(n), "%s: want extents of 0 or more", e.Key)
				break
			}
		}
	}
	for _, p := range o.sc.Inputs {
		if !p.Slot.Present.Set() && !have[p.Slot.Name] {
			o.list.Add(diag.BadExample, x.Span, "the example gives no shape for %s", p.Slot.Name)
		}
	}
}
