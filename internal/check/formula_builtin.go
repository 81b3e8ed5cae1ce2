package check

import (
	"github.com/opgen/opgen/formula/expr"
)

// builtin is a function that every formula has.
type builtin struct {
	usage string
	args  []kinds // of the arguments
	// eval finds what a call is, given its arguments, which have the kinds of args. nil stands for a float.
	eval func(f *formula, n *expr.Call, args []value) value
}

var builtins map[string]builtin

func init() {
	float := func(name string) builtin { return builtin{usage: name + "(x)", args: []kinds{kNumber}} }
	builtins = map[string]builtin{}
	for _, n := range []string{"exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "Phi", "erfinv", "expm1", "log1p"} {
		builtins[n] = float(n)
	}
	same := func(f *formula, n *expr.Call, args []value) value { return value{kinds: args[0].kinds & kNumber} }
	rounded := func(f *formula, n *expr.Call, args []value) value { return value{kinds: kInt} }
	for _, n := range []string{"ceil", "floor", "round"} {
		builtins[n] = builtin{n + "(x)", []kinds{kNumber}, rounded}
	}
	builtins["abs"] = builtin{"abs(x)", []kinds{kNumber}, same}
	builtins["isnan"] = builtin{"isnan(x)", []kinds{kNumber}, func(*formula, *expr.Call, []value) value { return value{kinds: kBool} }}
	builtins["pow"] = builtin{usage: "pow(x, y)", args: []kinds{kNumber, kNumber}}
	builtins["quotient"] = builtin{"quotient(x, y)", []kinds{kNumber, kNumber}, func(f *formula, n *expr.Call, args []value) value {
		v := value{kinds: both(args[0].kinds, args[1].kinds)}
		if f.obvious(args[0].int, nil) && f.obvious(args[1].int, nil) { // otherwise it does not round down
			v.int = f.div(args[0].int, args[1].int)
		}
		return v
	}}
	builtins["ceildiv"] = builtin{"ceildiv(a, b)", []kinds{kInt, kInt}, func(f *formula, n *expr.Call, args []value) value {
		return integer(f.div(args[0].int.add(args[1].int).sub(constant(1)), args[1].int))
	}}
	builtins["uniform"] = builtin{usage: "uniform(seed, stream, number)", args: []kinds{kInt, kInt, kInt}}
	builtins["normal"] = builtin{usage: "normal(seed, stream, number)", args: []kinds{kInt, kInt, kInt}}
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
