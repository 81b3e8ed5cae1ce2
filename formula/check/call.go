package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/internal/base/english"
)

// forms are the functions with typing rules of their own: an argument may be a name, as in present(slot), or
// the number of arguments is not fixed, as in min(x, y, ...).
var forms = []string{"has", "or", "present", "count", "convert", "min", "max"}

// call infers the value of a call of a function that the formula defines, of a builtin, or of an enum
// attribute, such as activation(x). index says that the call is part of a subscript, where / rounds down.
func (f *formula) call(n *expr.Call, fr *frame, index bool) (value, *expr.Error) {
	if len(n.Named) > 0 && !f.isOperator(n.Func) {
		e := failf(n.Named[0], expr.BadFormula, "only an operator takes arguments with names")
		if reduction.Of(n.Func) != 0 {
			e.Hint = overIndex(n.Func, n.Named[0].Name)
		}
		return value{}, e
	}
	if f.isOperator(n.Func) {
		e := failf(n, expr.BadFormula, "want the index of an element behind the operator %s and its arguments", n.Func)
		e.Hint = "write " + n.Func + "(...)[...]"
		return value{}, e
	}
	if fn := f.functions[n.Func]; fn != nil {
		args, err := f.evalAll(n.Args, fr, index)
		if err != nil {
			return value{}, err
		}
		return f.apply(n, fn, f, args, fr, index)
	}
	if slices.Contains(forms, n.Func) {
		return f.special(n, fr, index)
	}
	if v, ok, err := f.applyEnum(n, fr, index); ok {
		return v, err
	}
	b, ok := builtins[n.Func]
	if !ok {
		return value{}, f.noFunction(n)
	}
	if (n.Func == "keep" || n.Func == "drop") && len(n.Args) == 2 {
		if id, ok := n.Args[0].(*expr.Ident); ok {
			if b := boundPart(fr, id.Name, part{fn: n.Func, axes: f.unique(n.Args[1], fr)}); b != nil {
				return value{kinds: kRun, run: b.run.asIndex(), index: true}, nil
			}
		}
	}
	if len(n.Args) != len(b.args) {
		e := failf(n, expr.BadType, "want %s, got %s", b.usage, english.Count(len(n.Args), "argument"))
		if id, ok := first(n.Args).(*expr.Ident); ok && len(n.Args) > 1 && reduction.Of(n.Func) != 0 {
			e.Hint = overIndex(n.Func, id.Name)
			if f.tensors[id.Name] != nil {
				e.Hint = overIndex(n.Func, "k")
			}
		}
		return value{}, e
	}
	args, err := f.evalAll(n.Args, fr, index)
	if err != nil {
		return value{}, err
	}
	for i, a := range args {
		if err := want(n.Args[i], a, b.args[i]); err != nil {
			if reduction.Of(n.Func) != 0 {
				err.Hint = overIndex(n.Func, "k")
			}
			return value{}, err
		}
	}
	if n.Func == "fit" && args[0].run != nil && !args[0].run.index {
		return value{}, failf(n.Args[0], expr.BadType, "want an index of dimensions, got the dimensions %s", plainName(args[0].run.text))
	}
	if b.eval == nil {
		return value{kinds: kFloat}, nil
	}
	return b.eval(f, n, args), nil
}

func first(nodes []expr.Node) expr.Node {
	if len(nodes) == 0 {
		return nil
	}
	return nodes[0]
}

// isOperator reports whether a call by this name applies an operator: the name denotes an operator, and
// neither a function nor an enum attribute of this formula.
func (f *formula) isOperator(name string) bool {
	s := f.c.module.Spec(name)
	_, own := f.functions[name]
	return s != nil && s.Kind == applicable && !own && builtins[name].usage == "" && f.enumAttr(name) == nil
}

func (f *formula) evalAll(nodes []expr.Node, fr *frame, index bool) ([]value, *expr.Error) {
	var out []value
	for _, n := range nodes {
		v, err := f.eval(n, fr, index)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// ambiguous returns the error for a call of an operator by a plain name that specs of several modules have.
func (f *formula) ambiguous(n *expr.Call) *expr.Error {
	return &expr.Error{Pos: n.Pos(), End: n.Pos() + len(n.Func), Code: expr.Ambiguous, Message: "specs of several modules are named " + n.Func, Hint: "write " + strings.Join(f.c.module.Qualified(n.Func), " or ")}
}

// noFunction returns the error for a call by a name that denotes no function, with a hint.
func (f *formula) noFunction(n *expr.Call) *expr.Error {
	e := &expr.Error{Pos: n.Pos(), End: n.Pos() + len(n.Func), Code: expr.UnknownName, Message: "there is no function " + n.Func}
	if reduction.Of(n.Func) != 0 {
		e.Message = n.Func + " goes over an index"
		e.Hint = "write " + n.Func + "(k: ...)"
		return e
	}
	if q := f.c.module.Qualified(n.Func); len(q) > 1 {
		return f.ambiguous(n)
	}
	if n.Func == "places" {
		e.Message = "formulas do not tell the places of tensors in a list in which others are absent"
		e.Hint = "a formula has the tensors that are there, numbered from 0; to compute with their places, write a kernel by hand, and pass them: [args.at] with type = \"[]int\", from = \"places(slot)\""
		return e
	}
	if way := otherwise[n.Func]; way != "" {
		e.Hint = "write " + way
		return e
	}
	if _, method, ok := cutLast(n.Func); ok && (reduction.Of(method) != 0 || builtins[method].usage != "") {
		e.Hint = "functions stand before what they apply to: " + method + "(...)"
		return e
	}
	names := append(slices.Sorted(maps.Keys(builtins)), forms...)
	names = append(names, slices.Sorted(maps.Keys(f.functions))...)
	names = append(names, reduction.Names...)
	if f.s != nil {
		names = append(names, f.c.module.Names(true)...)
		for _, a := range f.s.Attrs {
			if a.Type == "enum" {
				names = append(names, a.Name)
			}
		}
	}
	suggest(e, n.Func, names)
	return e
}

// otherwise maps functions of other languages to the expressions that replace them in formulas.
var otherwise = map[string]string{
	"relu": "max(x, 0)", "where": "c ? x : y", "select": "c ? x : y", "ifelse": "c ? x : y",
	"logsigmoid": "-softplus(-x)", "gelu": "x * Phi(x)",
	"silu": "x * sigmoid(x)", "swish": "x * sigmoid(x)", "clip": "min(max(x, low), high)", "clamp": "min(max(x, low), high)",
	"log2": "log(x) / log(2)", "log10": "log(x) / log(10)", "exp2": "2 ^ x", "log1p": "log(1 + x)", "square": "x ^ 2", "cube": "x ^ 3",
	"reciprocal": "1 / x", "power": "x ^ y", "arctan": "atan(x)", "arctan2": "atan2(y, x)", "arcsin": "asin(x)", "arccos": "acos(x)", "gammaln": "lgamma(x)",
	"mod": "a % b, or fmod(a, b) of real numbers", "div": "quotient(a, b)", "floordiv": "quotient(a, b), or / in an index",
	"trunc": "x < 0 ? ceil(x) : floor(x)", "int": "floor(x)", "float": "convert(x, T)", "cast": "convert(x, T)", "isinf": "abs(x) == inf",
	"avg": "mean(k: ...)", "average": "mean(k: ...)", "var": "variance(k: ...)", "std": "sqrt(variance(k: ...))",
	"dot": "sum(k: a[k] * b[k])", "matmul": "sum(k: a[i, k] * b[k, j])", "product": "prod(k: ...)", "amax": "max(k: ...)", "amin": "min(k: ...)",
	"maximum": "max(x, y)", "minimum": "min(x, y)", "fmax": "max(x, y)", "fmin": "min(x, y)", "fabs": "abs(x)", "cumsum": "sum(k' in 0 .. k + 1: x[k'])",
	"cumprod": "prod(k' in 0 .. k + 1: x[k'])", "size": "the dimension, such as K", "shape": "the dimension, such as K", "range": "k in a .. b",
	"sort": "x[argsort(k: x[k])[i]]", "rand": "uniform(seed, stream, number)", "random": "uniform(seed, stream, number)", "randn": "normal(seed, stream, number)",
}

// otherFunctions reports all further calls of undefined functions in expression x, after first was reported.
// It does nothing unless first is an error about an undefined name.
func (f *formula) otherFunctions(x expr.Node, first *expr.Error) {
	if first.Code != expr.UnknownName {
		return
	}
	expr.Walk(x, func(n expr.Node) {
		c, ok := n.(*expr.Call)
		if !ok || c.Pos() == first.Pos || f.functions[c.Func] != nil || builtins[c.Func].usage != "" || slices.Contains(forms, c.Func) ||
			f.isOperator(c.Func) || f.enumAttr(c.Func) != nil || reduction.Of(c.Func) != 0 {
			return
		}
		f.report(f.noFunction(c))
	})
}

// apply infers the value of a call by evaluation of the body of function fn, with args as its parameters.
// owner is the formula that defines fn: this one, or that of an enum. A recursive call is an error.
func (f *formula) apply(n *expr.Call, fn *expr.Function, owner *formula, args []value, fr *frame, index bool) (value, *expr.Error) {
	if len(args) != len(fn.Params) {
		return value{}, failf(n, expr.BadType, "%s takes %s, got %d", fn.Name, english.Count(len(fn.Params), "argument"), len(args))
	}
	switch {
	case slices.Contains(owner.active, fn.Name):
		return value{}, failf(n, expr.BadFormula, "%s is defined by itself", fn.Name)
	case owner.broken[fn.Name]:
		return value{kinds: kAny}, nil
	}
	owner.active = append(owner.active, fn.Name)
	defer func() { owner.active = owner.active[:len(owner.active)-1] }()
	in := f.body(fn, n.Args, args, fr, index)
	if owner != f {
		owner.steps = f.steps
		defer func() { f.steps = owner.steps }()
	}
	v, err := owner.eval(fn.X, in, index)
	if err == nil {
		return v, nil
	}
	if owner == f && f.defining {
		return value{}, err
	}
	text := owner.text[err.Pos:min(max(err.End, err.Pos), len(owner.text))]
	e := failf(n, err.Code, "in %s(%s), of %s: %s", fn.Name, params(fn), strings.Join(strings.Fields(text), " "), err.Message)
	e.Hint = err.Hint
	return value{}, e
}

// body returns the scope of the body of function fn in a call at fr: the parameters have the values args of
// the arguments nodes.
func (f *formula) body(fn *expr.Function, nodes []expr.Node, args []value, fr *frame, index bool) *frame {
	in := &frame{outer: fr, closed: true, params: map[string]value{}, args: map[string]*argument{}}
	for i, p := range fn.Params {
		in.params[p.Name], in.args[p.Name] = args[i], &argument{nodes[i], fr, f.unique(nodes[i], fr), index}
	}
	return in
}

func params(fn *expr.Function) string {
	var names []string
	for _, p := range fn.Params {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
