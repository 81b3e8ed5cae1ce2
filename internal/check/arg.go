package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

var (
	plainType = regexp.MustCompile(`^(\[\])*(bool|string|u?int(8|16|32|64)?|float(32|64)|complex(64|128))$`)
	// importedType matches import/path.Type, possibly after a star or brackets.
	importedType = regexp.MustCompile(`^(\*|\[\])*[a-z0-9][^\s"*]*\.[A-Z][A-Za-z0-9_]*$`)
)

func (o *operator) arg(a *spec.Arg) {
	o.name(a.Name, "argument", a.Key)
	if !a.From.Set() {
		return
	}
	from, slot := rules.SourceOf(a)
	if a.Variadic != nil {
		o.argArity(a, from)
	}
	if a.Default != nil {
		o.argDefault(a, from)
	}
	fixed := rules.SourceType(o.s, a)
	switch from {
	case task.FromExpression:
		o.exprArg(a)
		return
	case task.FromShape:
		if o.sc.What(slot) != "slot" {
			at := len("shape(")
			d := o.list.Add(diag.Undefined, a.From.Node.Within(at, at+len(slot)), "there is no slot %s", slot)
			o.sc.Suggest(d, slot, "slot")
		}
	case task.FromInit, task.FromCall:
		if !a.Type.Set() {
			if !a.Bad {
				o.list.Add(diag.MissingKey, a.Key, "type is missing: the argument's Go type")
			}
			return
		}
		if !plainType.MatchString(a.Type.V) && !importedType.MatchString(a.Type.V) {
			o.goType(a)
			return
		}
	}
	if fixed != "" && a.Type.Set() && a.Type.V != fixed {
		o.list.Add(diag.BadArg, a.Type.Span(), "an argument from %s is of type %s, not %s", a.From.V, fixed, a.Type.V)
		return
	}
	o.plain(a, from)
}

// argDefault checks the value of an argument of which the caller passes none.
func (o *operator) argDefault(a *spec.Arg, from task.Source) {
	at := source.SpanOf(a.Default)
	switch {
	case from != task.FromCall:
		o.list.Add(diag.BadArg, at, "%s is from %s, so the caller passes none, and it has no default", a.Name, a.From.V)
	case a.Variadic != nil:
		o.list.Add(diag.BadArg, at, "%s is variadic, so the caller may pass no values, and it has no default", a.Name)
	case a.Type.Set() && !plainType.MatchString(a.Type.V):
		o.list.Add(diag.BadArg, at, "%s is of type %s, and only numbers, strings, truth values and lists of them have a default", a.Name, a.Type.V)
	default:
		o.goValue(diag.BadDefault, a, a.Type.V, a.Default)
	}
}

// goType reports text that is not a Go type.
func (o *operator) goType(a *spec.Arg) {
	d := o.list.Add(diag.BadArg, a.Type.Span(), "want a Go type, got %q", a.Type.V)
	if i := strings.LastIndexByte(a.Type.V, '.'); i >= 0 {
		d.Hinted("a type of a package is written import/path.Type, and is exported")
	} else if t := exprTypeNear(a.Type.V); t != "" {
		d.Meant(a.Type.V, t)
	} else {
		d.Hinted("types are bool, int, float64, string and the like, lists []T of them, and import/path.Type")
	}
}

// exprTypeNear returns the Go type that a name of the spec language means, or "".
func exprTypeNear(name string) string {
	return map[string]string{"float": "float64", "f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "integer": "int", "dims": "[]int", "boolean": "bool"}[name]
}

// plain checks that an argument is plain data, unless the spec declares it unchecked.
func (o *operator) plain(a *spec.Arg, from task.Source) {
	holds := ""
	switch {
	case from == task.FromHandle:
		holds = "a device's handles"
	case from == task.FromMemory:
		holds = "a source of memory"
	case from == task.FromInit:
		holds = "per-device state"
	case strings.Contains(a.Type.V, "*"):
		holds = "a pointer"
	}
	switch {
	case holds != "" && !a.Unchecked.V && from != task.FromCall:
		o.list.Add(diag.BadArg, a.Key, "%s holds %s, which is not plain data", a.Name, holds).Hinted("declare it: unchecked = true")
	case holds != "" && from == task.FromCall:
		o.list.Add(diag.BadArg, a.Type.Span(), "%s holds %s, but what a caller passes is plain data, since plans carry it", a.Name, holds)
	case from == task.FromCall && strings.Contains(a.Type.V, "complex") && !strings.Contains(a.Type.V, "."):
		o.list.Add(diag.BadArg, a.Type.Span(), "%s holds complex numbers, but plans carry what a caller passes as JSON, which has none", a.Name).
			Hinted("pass the real and the imaginary part as two arguments of type float64")
	case a.Unchecked.V && holds == "":
		o.list.Add(diag.BadArg, a.Unchecked.Span, "an argument from %s is plain data, so it is checked", a.From.V)
	}
}

// exprArg checks an argument from an expression.
func (o *operator) exprArg(a *spec.Arg) {
	switch want, ok := rules.ExprKinds[a.Type.V]; {
	case !a.Type.Set():
		if !a.Bad {
			o.list.Add(diag.MissingKey, a.Key, "type is missing: the type of the expression, one of %s", strings.Join(exprTypeNames, ", "))
		}
	case !ok:
		d := o.list.Add(diag.BadArg, a.Type.Span(), "an argument from an expression is of type %s, not %s", strings.Join(exprTypeNames, ", "), a.Type.V)
		if t := exprTypeNear(a.Type.V); t != "" {
			d.Meant(a.Type.V, t)
		} else {
			d.Hinted("the attributes as a whole are from = \"attrs\"")
		}
	case a.Unchecked.V:
		o.list.Add(diag.BadArg, a.Unchecked.Span, "an argument from an expression is plain data, so it is checked")
	default:
		before := o.list.Len()
		o.sc.Expr(a.From, want)
		if words := rules.SourceWords(); o.list.Len() > before && rules.Snake.MatchString(a.From.V) {
			o.list.Last().Nearest(a.From.V, words)
		}
	}
}

var exprTypeNames = []string{"int", "float64", "bool", "string", "[]int"}

// argArity checks how many values an argument has.
func (o *operator) argArity(a *spec.Arg, from task.Source) {
	if from != task.FromCall {
		o.list.Add(diag.BadArity, a.Variadic.Span, "only the caller passes several values, with from = \"call\"")
		return
	}
	o.limits(a.Variadic, "value")
}

// taskArgs checks the arguments that a task takes.
func (o *operator) taskArgs(t *spec.Task) {
	seen := map[string]bool{}
	for _, n := range t.Args {
		i := slices.IndexFunc(o.s.Args, func(a *spec.Arg) bool { return a.Name == n.V })
		if i < 0 {
			if !o.s.Unread["args"] {
				d := o.list.Add(diag.Undefined, n.Span(), "there is no argument %s", n.V)
				o.sc.Suggest(d, n.V, "argument")
			}
			continue
		}
		if seen[n.V] {
			o.list.Add(diag.Duplicate, n.Span(), "argument %s is listed twice", n.V)
		}
		seen[n.V] = true
		from, _ := rules.SourceOf(o.s.Args[i])
		stateless := t.Name == "init" || t.Name == "cleanup"
		switch {
		case from == task.FromCall && o.s.Kind == spec.Initializer && t.Listed: // otherwise the formula is wrong
			o.list.Add(diag.BadArg, n.Span(), "the task of an %s has no caller that could pass %s", o.s.Kind, n.V)
		case stateless && (from == task.FromIteration || from == task.FromCall):
			o.list.Add(diag.BadArg, n.Span(), "%s runs when plans are loaded or closed, so it has no argument from %s", t.Name, from)
		case !stateless && from == task.FromMemory:
			o.list.Add(diag.BadArg, n.Span(), "%s allocates nothing while it runs, so it has no argument from memory", t.Name).Hinted("a slot of role scratch is memory of one task")
		case t.Name == "init" && from == task.FromInit:
			o.list.Add(diag.BadArg, n.Span(), "init makes %s, so %[1]s is not an argument of it", n.V)
		case from == task.FromInit && !o.s.Unread["tasks"] && o.taskNamed("init") == nil:
			o.list.Add(diag.BadTask, n.Span(), "nothing makes the per-device state %s", n.V).Hinted("add [tasks.init] with returns = %q, and [tasks.cleanup]", n.V)
		}
	}
}

func (o *operator) taskNamed(name string) *spec.Task {
	for _, t := range o.s.Tasks {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// trial checks the access of init to a slot: it may try algorithms on scratch memory of the slot's shape.
func (o *operator) trial(t *spec.Task, a *spec.Access) {
	s := o.findSlot(a)
	switch {
	case t.Name != "init":
		o.list.Add(diag.BadPerm, a.Key, "%s gets no tensors", t.Name)
	case a.Value.V != "scratch":
		o.list.Add(diag.BadPerm, a.Value.Span(), "%s gets no tensors: they hold nothing when it runs", t.Name).Hinted("scratch is memory of the slot's shape, to try algorithms on")
	case s != nil && s.Per.V == "worker":
		o.list.Add(diag.BadPerm, a.Key, "%s runs on no worker, so it gets no scratch memory of one", t.Name)
	}
}

// stateTask checks a task that makes or frees per-device state.
func (o *operator) stateTask(t *spec.Task) {
	for _, s := range []spec.Str{t.Over, t.Grain} {
		if s.Set() {
			o.list.Add(diag.BadStep, s.Span(), "%s runs once for each device and has no indices", t.Name)
		}
	}
	if len(t.Steps) > 0 {
		o.list.Add(diag.BadStep, t.Steps[0].Key, "%s runs once for each device, in one step", t.Name)
	}
	for _, a := range t.Access {
		o.trial(t, a)
	}
	if t.Declared {
		o.list.Add(diag.BadTask, t.Key, "%s gets no tensors, so it has no constraints", t.Name)
	}
	if t.Name == "cleanup" {
		return
	}
	isState := func(name string) bool {
		return slices.ContainsFunc(o.s.Args, func(a *spec.Arg) bool { return a.Name == name && a.From.V == "init" })
	}
	if t.Returns == nil && !t.Bad {
		o.list.Add(diag.BadTask, t.Key, "init returns nothing").Hinted("name the argument that it makes: returns = \"state\"")
	}
	known := t.Returns != nil // whether init makes something, and all of it is declared
	var made, quoted []string
	for _, n := range t.Returns {
		switch {
		case slices.Contains(made, n.V):
			o.list.Add(diag.BadTask, n.Span(), "init makes %s twice", n.V)
			continue
		case !isState(n.V):
			known = false
			if !o.s.Unread["args"] {
				o.list.Add(diag.Undefined, n.Span(), "there is no per-device state %s", n.V).
					Hinted("declare it: [args.%s] with from = \"init\", its type and unchecked = true", n.V)
			}
		}
		made, quoted = append(made, n.V), append(quoted, strconv.Quote(n.V))
	}
	for _, a := range o.s.Args {
		if a.From.V == "init" && known && !slices.Contains(made, a.Name) {
			o.list.Add(diag.BadArg, a.Key, "init makes %s, so nothing makes %s", strings.Join(made, ", "), a.Name).
				Hinted("returns = [%s, %q]", strings.Join(quoted, ", "), a.Name)
		}
	}
	c := o.taskNamed("cleanup")
	switch {
	case o.s.Unread["tasks"]:
	case c == nil:
		o.list.Add(diag.BadTask, t.Key, "nothing frees the per-device state that init makes").Hinted("add [tasks.cleanup] with args = [%s]", strings.Join(quoted, ", "))
	case known:
		for _, name := range made {
			if !slices.ContainsFunc(c.Args, func(a spec.Str) bool { return a.V == name }) {
				o.list.Add(diag.BadTask, c.Key, "cleanup does not get the state %s, which it frees", name).Hinted("args = [%s]", strings.Join(quoted, ", "))
				break
			}
		}
	}
}
