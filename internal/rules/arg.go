package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// sources lists the sources of arguments that are words, and the Go type of each; "" is any.
var sources = map[string]struct {
	source task.Source
	goType string
}{
	"attrs": {task.FromAttrs, "Attrs"}, "iteration": {task.FromIteration, "int"}, "seed": {task.FromSeed, "int"}, "profiling": {task.FromProfiling, "task.Profiling"},
	"handle": {task.FromHandle, "task.Handle"}, "memory": {task.FromMemory, "*task.Memory"}, "init": {task.FromInit, ""}, "call": {task.FromCall, ""},
}

// SourceWords lists the sources of arguments that are words, sorted.
func SourceWords() []string { return slices.Sorted(maps.Keys(sources)) }

// SourceOf returns where an argument's value comes from. slot is that of a shape.
func SourceOf(a *spec.Arg) (from task.Source, slot string) {
	if s, ok := sources[a.From.V]; ok {
		return s.source, ""
	}
	if inner, ok := strings.CutPrefix(a.From.V, "shape("); ok && strings.HasSuffix(inner, ")") {
		return task.FromShape, strings.TrimSpace(strings.TrimSuffix(inner, ")"))
	}
	return task.FromExpression, ""
}

// TypeOf returns the Go type of an argument: the one that the spec gives or, without one, that of the
// source.
func TypeOf(s *spec.Spec, a *spec.Arg) string {
	if a.Type.Set() {
		return a.Type.V
	}
	return SourceType(s, a)
}

// SourceType returns the Go type that the source of an argument determines; "" if it determines none.
func SourceType(s *spec.Spec, a *spec.Arg) string {
	if from, slot := SourceOf(a); from == task.FromShape {
		several := func(x *spec.Slot) bool { return x.Name == slot && (x.Variadic != nil || x.Present.Set()) }
		if slices.ContainsFunc(s.Slots, several) {
			return "[]partition.Partition"
		}
		return "partition.Partition"
	}
	return sources[a.From.V].goType
}

// ExprKinds holds the Go types that arguments from expressions may have, and the types of the expressions.
var ExprKinds = map[string]expr.Kind{
	"int": expr.Int, "float64": expr.Float, "bool": expr.Bool, "string": expr.String, "[]int": expr.Dims,
}

// Block reports whether an argument is state in memory of the device, which device code by hand gets:
// a *task.Block that init makes.
func Block(a *spec.Arg) bool {
	return a.From.V == task.FromInit.String() && strings.HasPrefix(a.Type.V, "*") && strings.HasSuffix(a.Type.V, "/task.Block")
}
