package check

import (
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
)

// builtin is a function that all formulas have, such as exp or ceildiv, with its type rule.
type builtin struct {
	usage string
	args  []kinds // kinds of the arguments
	// eval infers the kinds and, for integers, the symbolic value of a call. Its arguments have the kinds in
	// args. A nil eval means that the result is a float.
	eval func(f *formula, n *expr.Call, args []value) value
}

var builtins map[string]builtin

func init() {
	builtins = map[string]builtin{}
	for name, f := range term.Functions {
		if f.Params != "" && !f.Has(term.Extreme) { // whose calls are special
			builtins[name] = ofNumbers(f)
		}
	}
	builtins["quotient"] = builtin{builtins["quotient"].usage, []kinds{kNumber, kNumber}, func(f *formula, n *expr.Call, args []value) value {
		v := value{kinds: both(args[0].kinds, args[1].kinds)}
		if f.obvious(args[0].int, nil) && f.obvious(args[1].int, nil) { // otherwise it does not round down
			v.int = f.div(args[0].int, args[1].int)
		}
		return v
	}}
	builtins["ceildiv"] = builtin{"ceildiv(a, b)", []kinds{kInt, kInt}, func(f *formula, n *expr.Call, args []value) value {
		return integer(f.div(args[0].int.Add(args[1].int).Sub(constant(1)), args[1].int))
	}}
	builtins["prod"] = builtin{"prod(dims)", []kinds{kRun}, func(f *formula, n *expr.Call, args []value) value {
		if r := runOf(args[0]); r != nil {
			return integer(r.size)
		}
		return integer(nil)
	}}
	builtins["sum"] = builtin{"sum(dims)", []kinds{kRun}, func(f *formula, n *expr.Call, args []value) value {
		return integer(f.sum(runOf(args[0])))
	}}
	builtins["len"] = builtin{"len(list)", []kinds{kRun | kOther}, func(f *formula, n *expr.Call, args []value) value {
		if r := args[0].run; r != nil {
			return integer(r.rank)
		}
		return integer(nil)
	}}
	for _, fn := range []string{"keep", "drop", "ones", "insert", "permute"} {
		builtins[fn] = builtin{fn + "(dims, axes)", []kinds{kRun, kRun}, func(f *formula, n *expr.Call, args []value) value {
			return value{kinds: kRun, run: runOf(args[0]).pick(n.Func, runOf(args[1])), index: args[0].index}
		}}
	}
	builtins["broadcast"] = builtin{"broadcast(dims, dims)", []kinds{kRun, kRun}, func(f *formula, n *expr.Call, args []value) value {
		a, b := runOf(args[0]), runOf(args[1])
		if a == nil || b == nil {
			return value{kinds: kRun}
		}
		return value{kinds: kRun, run: named("broadcast(" + a.text + ", " + b.text + ")")}
	}}
	builtins["fit"] = builtin{"fit(index, dims)", []kinds{kRun, kRun}, func(f *formula, n *expr.Call, args []value) value {
		return value{kinds: kRun, run: runOf(args[1]).asIndex(), index: true}
	}}
}

// Builtins maps the name of each function and each reduction of formulas to its usage, such as "ceildiv(a,
// b)" or "mean(i: x)".
func Builtins() map[string]string {
	out := map[string]string{}
	for name, b := range builtins {
		out[name] = b.usage
	}
	for _, name := range forms {
		if out[name] = name + "(...)"; expr.Builtins()[name] != "" {
			out[name] = expr.Builtins()[name]
		}
	}
	for k := reduction.Sum; k <= reduction.Rank; k++ {
		name := k.String()
		switch {
		case k.Is(reduction.Order):
			out[name] = name + "(i: x)[j]"
		case out[name] != "":
			out[name] = name + "(i: x) or " + out[name]
		default:
			out[name] = name + "(i: x)"
		}
	}
	return out
}

// ofNumbers returns the builtin for an elementary function, such as exp. The properties of the function
// determine the kind of the result.
func ofNumbers(f *term.Function) builtin {
	out := builtin{usage: f.Usage(), args: slices.Repeat([]kinds{kNumber}, f.Args)}
	switch {
	case f.Has(term.Random):
		out.args = slices.Repeat([]kinds{kInt}, f.Args)
	case f.Keep != nil:
		out.eval = func(_ *formula, _ *expr.Call, args []value) value { return value{kinds: args[0].kinds & kNumber} }
	case f.Has(term.GivesIntegers):
		out.eval = func(*formula, *expr.Call, []value) value { return value{kinds: kInt} }
	case f.Result == term.Boolean:
		out.eval = func(*formula, *expr.Call, []value) value { return value{kinds: kBool} }
	}
	return out
}
