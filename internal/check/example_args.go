package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// exampleArgs checks the values that an example gives arguments which the caller passes.
func (o *operator) exampleArgs(x *spec.Example) {
	if o.s.Unread["args"] {
		return
	}
	have := map[string]bool{}
	var passed []string
	for _, a := range o.s.Args {
		if from, _ := rules.SourceOf(a); from == task.FromCall {
			passed = append(passed, a.Name)
		}
	}
	for _, e := range x.Args {
		have[e.Key] = true
		i := slices.IndexFunc(o.s.Args, func(a *spec.Arg) bool { return a.Name == e.Key })
		if i >= 0 && slices.Contains(passed, e.Key) {
			o.exampleValues(o.s.Args[i], e)
			continue
		}
		if i >= 0 {
			if !o.s.Args[i].Bad {
				o.list.Add(diag.BadExample, e.KeySpan, "the caller does not pass %s, which is from %s", e.Key, o.s.Args[i].From.V)
			}
			continue
		}
		d := o.list.Add(diag.BadExample, e.KeySpan, "there is no argument %s that the caller passes", e.Key)
		if n := d.Nearest(e.Key, passed); n != "" {
			have[n] = true
		}
	}
	for _, a := range o.s.Args {
		if !slices.Contains(passed, a.Name) || have[a.Name] || a.Bad || a.Default != nil {
			continue
		}
		if least, _ := limitsOf(o.s, a); least > 0 {
			o.list.Add(diag.BadExample, x.Span, "the example gives no value for %s, which the caller passes", a.Name).
				Hinted("write args = { %s = ... }", a.Name)
		}
	}
}

// limitsOf returns how many values an argument has at least and at most.
func limitsOf(s *spec.Spec, a *spec.Arg) (least, most int) {
	if a.Variadic == nil {
		return 1, 1
	}
	least, most = rules.Limits(s, a.Variadic)
	return max(least, 0), most
}

// exampleValues checks the value of an argument, or the list of values of a variadic one.
func (o *operator) exampleValues(a *spec.Arg, e *source.Entry) {
	if a.Variadic == nil {
		o.goValue(diag.BadExample, a, a.Type.V, e.Value)
		return
	}
	list, ok := e.Value.(*source.Array)
	if !ok {
		o.list.Add(diag.BadExample, source.SpanOf(e.Value), "%s: want a list of values, got %s", a.Name, english.Article(source.Kind(e.Value)))
		return
	}
	if least, most := limitsOf(o.s, a); len(list.Elems) < least || len(list.Elems) > most {
		want := fmt.Sprintf("at least %s", english.Count(least, "value"))
		if len(list.Elems) > most {
			want = fmt.Sprintf("at most %s", english.Count(most, "value"))
		}
		o.list.Add(diag.BadExample, list.Span, "%s: want %s, got %d", a.Name, want, len(list.Elems))
	}
	for _, n := range list.Elems {
		if !o.goValue(diag.BadExample, a, a.Type.V, n) {
			return
		}
	}
}

// goValue checks a value of a Go type. Tests find out whether one fits a type of a package.
func (o *operator) goValue(code diag.Code, a *spec.Arg, goType string, n source.Node) bool {
	bad := func(want string) bool {
		o.list.Add(code, source.SpanOf(n), "%s: want %s, got %s", a.Name, want, english.Article(source.Kind(n)))
		return false
	}
	if elem, ok := strings.CutPrefix(goType, "[]"); ok {
		list, ok := n.(*source.Array)
		if !ok {
			return bad("a list of type " + goType)
		}
		for _, x := range list.Elems {
			if !o.goValue(code, a, elem, x) {
				return false
			}
		}
		return true
	}
	var v any
	if s, ok := n.(*source.Scalar); ok {
		v = s.Value
	}
	switch rules.ValueKind(goType) {
	case rules.IntegerValue:
		i, ok := v.(int64)
		if !ok {
			return bad("an integer")
		}
		if limits := rules.Integers[goType]; i < limits[0] || i > limits[1] {
			o.list.Add(code, source.SpanOf(n), "%s: want an integer of type %s, from %d to %d, got %d", a.Name, goType, limits[0], limits[1], i)
			return false
		}
	case rules.RealValue:
		_, isFloat := v.(float64)
		if _, isInt := v.(int64); !isFloat && !isInt {
			return bad("a number")
		}
	case rules.TruthValue:
		if _, ok := v.(bool); !ok {
			return bad("true or false")
		}
	case rules.TextValue:
		if _, ok := v.(string); !ok {
			return bad("a string")
		}
	}
	return true
}
