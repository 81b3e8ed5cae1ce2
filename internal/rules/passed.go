package rules

import (
	"math"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/task"
)

// Value is what a Go type of an argument holds, as far as specs and formulas know.
type Value uint8

const (
	OtherValue Value = iota // a list, a type of a package, or integers that are too large for formulas
	IntegerValue
	RealValue
	TruthValue
	TextValue
)

// Integers holds the least and the greatest value of the types of integers that formulas compute with.
var Integers = map[string][2]int64{
	"int": {math.MinInt64, math.MaxInt64}, "int8": {math.MinInt8, math.MaxInt8}, "int16": {math.MinInt16, math.MaxInt16},
	"int32": {math.MinInt32, math.MaxInt32}, "int64": {math.MinInt64, math.MaxInt64},
	"uint8": {0, math.MaxUint8}, "uint16": {0, math.MaxUint16}, "uint32": {0, math.MaxUint32},
}

// ValueKind returns what a Go type holds.
func ValueKind(goType string) Value {
	switch goType {
	case "float32", "float64":
		return RealValue
	case "bool":
		return TruthValue
	case "string":
		return TextValue
	}
	if _, ok := Integers[goType]; ok {
		return IntegerValue
	}
	return OtherValue
}

// TaskArgs lists the arguments of a task: those that it lists, and those that the caller passes and the
// formula uses. Each task that computes the formula takes these.
func TaskArgs(s *spec.Spec, t *spec.Task) []*spec.Arg {
	var out []*spec.Arg
	for _, n := range t.Args {
		if i := slices.IndexFunc(s.Args, func(a *spec.Arg) bool { return a.Name == n.V }); i >= 0 && !slices.Contains(out, s.Args[i]) {
			out = append(out, s.Args[i])
		}
	}
	if t.Name == "init" || t.Name == "cleanup" || !s.Formula.Set() {
		return out
	}
	var used map[string]bool
	for _, a := range s.Args {
		if from, _ := SourceOf(a); from != task.FromCall || slices.Contains(out, a) {
			continue
		}
		if used == nil {
			used = named(s.Formula.V)
		}
		if used[a.Name] {
			out = append(out, a)
		}
	}
	return out
}

// named returns the names of values and tensors that occur in a formula.
func named(text string) map[string]bool {
	used := map[string]bool{}
	see := func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Ident:
			used[n.Name] = true
		case *expr.Read:
			used[n.Name] = true
		}
	}
	f, _ := expr.ParseFormula(text)
	for _, fn := range f.Functions {
		expr.Walk(fn.X, see)
	}
	for _, s := range f.Statements {
		expr.Walk(s.X, see)
		expr.Walk(s.When, see)
		for _, b := range s.For {
			expr.Walk(b, see)
		}
		for _, t := range s.Targets {
			expr.Walk(t, see)
		}
	}
	return used
}
