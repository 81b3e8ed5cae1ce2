package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
)

// taskNames lists, for each kind of spec, the tasks that it must and may have.
var taskNames = map[spec.Kind]struct{ must, may []string }{
	spec.Operator:    {must: []string{"forward"}, may: []string{"backward", "init", "cleanup"}},
	spec.Initializer: {must: []string{"forward"}},
	spec.Optimizer:   {must: []string{"update"}},
}

func (o *operator) tasks() {
	names := taskNames[o.s.Kind]
	have := map[string]bool{}
	unknown := false
	for _, t := range o.s.Tasks {
		have[t.Name] = true
		o.name(t.Name, "task", t.Key)
		switch {
		case slices.Contains(names.must, t.Name), slices.Contains(names.may, t.Name):
			if t.Kind.Set() {
				o.list.Add(diag.NotYet, t.Kind.Span(), "tasks whose kind does not follow from their name are not supported yet")
			}
			o.task(t)
		case t.Kind.Set():
			o.list.Add(diag.NotYet, t.Key, "task %s is not supported yet", t.Name)
		default:
			unknown = true
			d := o.list.Add(diag.BadTask, t.Key, "a spec of kind %s has no task %s", o.s.Kind, t.Name)
			all := append(slices.Clone(names.must), names.may...)
			if d.Nearest(t.Name, all) == "" {
				d.Hinted("its tasks are %s", strings.Join(all, ", "))
			}
		}
	}
	for _, n := range names.must {
		if !have[n] && !unknown && !o.s.Unread["tasks"] && !o.s.Formula.Set() { // with a formula, the task follows
			o.list.Add(diag.BadTask, o.s.Where(), "a spec of kind %s has a task %s, this one does not", o.s.Kind, n).
				Hinted("add [tasks.%s] with over = \"...\"", n)
		}
	}
	if !o.s.Unread["slots"] && !o.s.Unread["tasks"] && !slices.ContainsFunc(o.s.Tasks, func(t *spec.Task) bool { return t.Bad }) {
		o.unused()
	}
	if o.s.Unread["slots"] {
		return
	}
	switch o.s.Kind {
	case spec.Optimizer:
		o.optimizerSlots()
	case spec.Initializer:
		o.initializerSlots()
	}
}

// unused reports scratch slots and arguments that no task uses.
func (o *operator) unused() {
	for _, s := range o.s.Slots {
		if s.Role.V == "scratch" && s.GradOf == "" && !slices.ContainsFunc(o.s.Tasks, func(t *spec.Task) bool { return rules.Access(t, s.Name) != nil }) {
			o.list.Add(diag.Unused, s.Key, "no task uses the scratch slot %s", s.Name).Hinted("give it access in a task: access = { %s = \"scratch\" }", s.Name)
		}
	}
	for _, a := range o.s.Args {
		if !slices.ContainsFunc(o.s.Tasks, func(t *spec.Task) bool {
			return slices.ContainsFunc(t.Returns, func(n spec.Str) bool { return n.V == a.Name }) || slices.Contains(rules.TaskArgs(o.s, t), a)
		}) {
			o.list.Add(diag.Unused, a.Key, "no task takes the argument %s", a.Name).Hinted("list it in a task: args = [%q]", a.Name)
		}
	}
}

// optimizerSlots checks that the inputs of an optimizer are weight, grad, and others that the caller may
// give.
func (o *operator) optimizerSlots() {
	for _, want := range []string{"weight", "grad"} {
		i := slices.IndexFunc(o.s.Slots, func(s *spec.Slot) bool { return s.Name == want })
		if i < 0 {
			o.list.Add(diag.BadRole, o.s.Where(), "an optimizer has an input %s, this one does not", want)
			continue
		}
		switch s := o.s.Slots[i]; {
		case !slices.Contains(spec.Roles, s.Role.V): // already reported
		case s.Role.V != "input":
			o.list.Add(diag.BadRole, s.Role.Span(), "slot %s of an optimizer is an input", want)
		case s.Present.Set():
			o.list.Add(diag.BadRole, s.Present.Span(), "slot %s of an optimizer is never absent", want)
		}
	}
	for _, s := range o.s.Slots {
		if s.Role.V == "input" && s.Name != "weight" && s.Name != "grad" && s.Present.V != "caller" {
			o.list.Add(diag.BadRole, s.Role.Span(), "the inputs of an optimizer are weight and grad, and others that the caller may give; slots of role weight hold what it keeps between steps").
				Hinted("add present = \"caller\"")
		}
	}
}

// initializerSlots checks that an initializer has one output.
func (o *operator) initializerSlots() {
	var outputs []*spec.Slot
	for _, s := range o.s.Slots {
		if s.Role.V == "output" || !slices.Contains(spec.Roles, s.Role.V) {
			outputs = append(outputs, s)
		}
	}
	switch len(outputs) {
	case 0:
		o.list.Add(diag.BadRole, o.s.Where(), "an initializer has one output, this one has none")
	case 1:
	default:
		o.list.Add(diag.BadRole, outputs[1].Key, "an initializer has one output, this one has %d", len(outputs)).See(outputs[0].Key, "the first one")
	}
}

func (o *operator) task(t *spec.Task) {
	o.taskArgs(t)
	if len(t.Returns) > 0 && t.Name != "init" {
		o.list.Add(diag.BadTask, t.Returns[0].Span(), "only init returns something: per-device state")
	}
	if t.Name == "init" || t.Name == "cleanup" {
		o.stateTask(t)
		if t.Name == "cleanup" && o.taskNamed("init") == nil {
			o.list.Add(diag.BadTask, t.Key, "there is no init, so cleanup has nothing to free")
		}
		if len(t.Grads) > 0 {
			o.list.Add(diag.BadGrad, t.Grads[0].Key, "only backward computes gradients")
		}
		return
	}
	switch {
	case t.Over.Set() && len(t.Steps) > 0:
		o.list.Add(diag.BadStep, t.Over.Span(), "task %s has both over and steps; each step has its own", t.Name).See(t.Steps[0].Key, "the first step")
	case !t.Over.Set() && len(t.Steps) == 0 && !t.Bad && o.s.Formula.V == "": // a formula is computed at once
		o.list.Add(diag.BadStep, t.Key, "task %s has neither over nor steps", t.Name).
			Hinted("give the number of its indices, which may be computed in parallel: over = \"prod(N)\"")
	}
	if t.Grain.Set() && len(t.Steps) > 0 {
		o.list.Add(diag.BadStep, t.Grain.Span(), "grain belongs to the steps")
	}
	if t.Elementwise.Set() && len(t.Steps) > 0 {
		o.list.Add(diag.BadStep, t.Elementwise.Span, "elementwise belongs to the steps")
	}
	o.domain(t.Over, t.Inner)
	o.sc.Expr(t.Grain, expr.Int)
	for _, s := range t.Steps {
		o.name(s.Name, "step", s.Key)
		o.domain(s.Over, s.Inner)
		o.sc.Expr(s.Grain, expr.Int)
		o.sc.Expr(s.When, expr.Bool)
	}
	for _, a := range t.Access {
		o.access(t, a)
	}
	o.constraints(t)
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
	if o.s.Unread["slots"] {
		return nil
	}
	d := o.list.Add(diag.Undefined, a.Key, "there is no slot %s", a.Slot)
	o.sc.Suggest(d, a.Slot, "slot")
	return nil
}

// access checks that a task may have the permission that the spec gives it for a slot.
func (o *operator) access(t *spec.Task, a *spec.Access) {
	s := o.findSlot(a)
	if s == nil || !a.Value.Set() || !slices.Contains(spec.Roles, s.Role.V) {
		return
	}
	if op, reduce := rules.Reduction(a.Value.V); reduce {
		o.reduce(t, a, s, op)
		return
	}
	p, err := perm.Parse(a.Value.V)
	if err != nil || p == perm.Reduce {
		d := o.list.Add(diag.BadValue, a.Value.Span(), "there is no permission %q", a.Value.V)
		if d.Nearest(a.Value.V, perm.Names()) == "" {
			d.Hinted("permissions are none, read, write, readwrite, reduce(op), scratch")
		}
		return
	}
	why := forbidden(t.Name, s.Role.V, p)
	if why == "" {
		return
	}
	message := fmt.Sprintf("%s may not have %s access to %s: %s", t.Name, p, s.Name, why)
	if p == perm.None {
		message = fmt.Sprintf("%s must write %s: %s", t.Name, s.Name, why)
	}
	o.list.Add(diag.BadPerm, a.Value.Span(), "%s", message).See(s.Role.Span(), "the role of %s", s.Name)
}

// reduce checks that a task may fold values into a slot with an operator.
func (o *operator) reduce(t *spec.Task, a *spec.Access, s *spec.Slot, op string) {
	redop, err := perm.ParseRedop(op)
	if err != nil {
		at := len("reduce(")
		o.list.Add(diag.BadValue, a.Value.Node.Within(at, at+len(op)), "there is no reduction operator %q", op).Hinted("operators are %s; and functions in Go with their identities, such as example.com/nn/folds.Farthest, 0", strings.Join(perm.Redops(), ", "))
		return
	}
	switch {
	case s.Role.V != "output":
		o.list.Add(diag.BadPerm, a.Value.Span(), "%s may not reduce into %s: values are folded into outputs only", t.Name, s.Name).See(s.Role.Span(), "the role of %s", s.Name)
	case t.Name != "forward":
		o.list.Add(diag.BadPerm, a.Value.Span(), "%s may not reduce into %s: only forward makes outputs", t.Name, s.Name)
	default:
		_, _, identity, own := redop.Own()
		switch {
		case !own:
			o.reducible(a, s, redop)
		case o.s.Formula.Set():
			o.list.Add(diag.BadPerm, a.Value.Span(), "%s is folded with a function in Go, and a formula folds with no such function", s.Name).See(o.s.Formula.Span(), "the formula")
		default:
			o.holdsIdentity(a, s, identity)
		}
	}
	for _, g := range append([]spec.Str{t.Grain}, grains(t)...) {
		if g.Set() {
			o.list.Add(diag.BadStep, g.Span(), "a task that reduces runs in one range, so that its operations have one order").See(a.Value.Span(), "the reduction")
		}
	}
}

// holdsIdentity checks that the slot's types hold the identity of a reduction: another number would stand in
// front of the first value. An infinity stands for the bound of an integer type.
func (o *operator) holdsIdentity(a *spec.Access, s *spec.Slot, identity float64) {
	if math.IsInf(identity, 0) {
		return
	}
	for _, t := range o.typesOf(s) {
		d, err := dtype.Parse(t.V)
		if err != nil || !slices.Contains(dtype.Stored(), d) {
			continue
		}
		var element [8]byte
		d.PutFloat64(element[:], identity)
		if held := d.Float64(element[:]); held != identity && (!d.IsFloat() || math.IsInf(held, 0)) {
			o.list.Add(diag.BadPerm, a.Value.Span(), "%s holds %s, in which the identity %v is %v", s.Name, t.V, identity, held).See(s.Type.Span(), "its type")
			return
		}
	}
}

// typesOf returns the types that a slot may hold.
func (o *operator) typesOf(s *spec.Slot) []spec.Str {
	for _, v := range o.s.Types {
		if v.Name == s.Type.V {
			return v.Types
		}
	}
	return []spec.Str{s.Type}
}

// reducible checks that a reduction folds elements of the slot's types: bits those of integers and bool,
// others numbers.
func (o *operator) reducible(a *spec.Access, s *spec.Slot, redop perm.Redop) {
	for _, t := range o.typesOf(s) {
		d, err := dtype.Parse(t.V)
		switch {
		case err != nil:
		case redop.Bitwise() && !d.IsInteger() && d != dtype.Bool:
			o.list.Add(diag.BadPerm, a.Value.Span(), "%s holds %s, and %v folds the bits of integers and of bool", s.Name, t.V, redop).See(s.Type.Span(), "its type")
			return
		case !redop.Bitwise() && !d.IsInteger() && !d.IsFloat():
			o.list.Add(diag.BadPerm, a.Value.Span(), "%s holds %s, and %v folds numbers", s.Name, t.V, redop).See(s.Type.Span(), "its type")
			return
		}
	}
}

func grains(t *spec.Task) []spec.Str {
	var out []spec.Str
	for _, s := range t.Steps {
		out = append(out, s.Grain)
	}
	return out
}

// forbidden says why a task may not access a slot of a role with permission p, or returns "".
func forbidden(task, role string, p perm.Perm) string {
	if p == perm.None {
		if task != "backward" && (role == "output" || role == "saved") {
			return "nothing else does"
		}
		return ""
	}
	if (role == "scratch") != (p == perm.Scratch) {
		if role == "scratch" {
			return "scratch memory holds nothing before or after, so its access is scratch"
		}
		return fmt.Sprintf("scratch access would destroy %s", english.Article(role))
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
	any := o.s.Unread["slots"]
	for _, s := range o.s.Slots {
		any = any || o.s.Trainable(s) || !o.certain(s)
	}
	if !any {
		o.list.Add(diag.BadGrad, t.Key, "no slot is trainable, so backward has nothing to compute")
	}
	for _, g := range t.Grads {
		s := o.findSlot(g)
		if s == nil {
			continue
		}
		if g.Value.Set() && !slices.Contains(spec.GradModes, g.Value.V) {
			d := o.list.Add(diag.BadValue, g.Value.Span(), "want one of %s, got %q", strings.Join(spec.GradModes, ", "), g.Value.V)
			d.Nearest(g.Value.V, spec.GradModes)
		}
		if !o.s.Trainable(s) && o.certain(s) {
			o.list.Add(diag.BadGrad, g.Key, "%s gets no gradient: %s", s.Name, o.whyNot(s))
		}
	}
}

// certain reports whether the role and the type of a slot are valid. If not, another check reports them.
func (o *operator) certain(s *spec.Slot) bool {
	if s.Bad || !slices.Contains(spec.Roles, s.Role.V) {
		return false
	}
	return !slices.ContainsFunc(typeNames(s.Type.V), func(t string) bool {
		_, err := dtype.Parse(t)
		return err != nil && o.sc.What(t) != "dtype variable"
	})
}

func (o *operator) whyNot(s *spec.Slot) string {
	switch {
	case s.Role.V != "input" && s.Role.V != "weight":
		return fmt.Sprintf("it is %s", english.Article(s.Role.V))
	case s.Trainable.Set():
		return "it is declared not trainable"
	}
	return s.Type.V + " is not floating-point"
}

// cost checks the cost of a task.
func (o *operator) cost(c *spec.Cost) {
	o.sc.Expr(c.Flops, expr.Float)
	o.sc.Expr(c.Bytes, expr.Float)
	var tasks []string
	for _, t := range o.s.Tasks {
		if t.Name == c.Task {
			return
		}
		tasks = append(tasks, t.Name)
	}
	if !o.s.Unread["tasks"] {
		d := o.list.Add(diag.Undefined, c.Key, "there is no task %s that could have this cost", c.Task)
		d.Suggest(c.Task, "its tasks", tasks)
	}
}
