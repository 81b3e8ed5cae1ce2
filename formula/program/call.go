package program

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// call evaluates a call of a function of the formula, of the function that the value of an enum attribute
// selects, or of a builtin.
func (b *builder) call(n *expr.Call, sc *scope, isIndex bool) (value, error) {
	switch n.Func {
	case "has", "or":
		v, err := b.value(n.Args[0], sc, isIndex)
		if err != nil {
			return value{}, err
		}
		if n.Func == "has" {
			return value{node: term.Condition(!v.absent())}, nil
		}
		if !v.absent() {
			return v, nil
		}
		return b.value(n.Args[1], sc, isIndex)
	case "present", "count":
		id, ok := n.Args[0].(*expr.Ident)
		if ok {
			if count, passed := b.counts[id.Name]; passed && n.Func == "present" {
				return value{node: term.Condition(count > 0)}, nil
			} else if passed {
				return value{node: term.Number(count)}, nil
			}
		}
		if !ok || b.slots[id.Name] == nil {
			return value{}, fmt.Errorf("%s: want a slot", n.Func)
		}
		if n.Func == "present" {
			return value{node: term.Condition(len(b.slots[id.Name].Tensors) > 0)}, nil
		}
		return value{node: term.Number(len(b.slots[id.Name].Tensors))}, nil
	}
	within := sc
	if b.hasConditions(n) {
		within = sc.under()
	}
	args := make([]value, len(n.Args))
	for i, a := range n.Args {
		v, err := b.value(a, within, isIndex && n.Func != "convert") // what is converted is a value
		if err != nil {
			return value{}, err
		}
		args[i] = v
	}
	if f, ok := b.functions[n.Func]; ok {
		return b.apply(f, args, sc, isIndex)
	}
	if v, ok := b.attribute(n.Func); ok {
		if v.absent() && len(args) == 1 {
			return args[0], nil
		}
		f, ok := b.functions[n.Func+"."+v.text]
		if !ok {
			return value{}, fmt.Errorf("nothing says what %s %s means", n.Func, describe(v))
		}
		return b.apply(f, args, sc, isIndex)
	}
	return b.builtin(n.Func, args)
}

// hasConditions reports whether the callee may evaluate its arguments conditionally.
func (b *builder) hasConditions(n *expr.Call) bool {
	f, ok := b.functions[n.Func]
	if !ok {
		_, chosen := b.attribute(n.Func)
		return chosen
	}
	if found, known := b.conditional[f]; known {
		return found
	}
	b.conditional[f] = false // ends a recursion, which is an error elsewhere
	found := false
	expr.Walk(f.X, func(m expr.Node) {
		switch m := m.(type) {
		case *expr.Cond:
			found = true
		case *expr.Binary:
			found = found || m.Op == "&&" || m.Op == "||"
		case *expr.Reduce:
			found = found || m.If != nil
		case *expr.Read:
			found = found || m.Else != nil
		case *expr.Call:
			found = found || b.hasConditions(m)
		}
	})
	b.conditional[f] = found
	return found
}

// attribute returns the value of an attribute, or of a field of a record attribute: name.field. It returns
// false if there is no such attribute.
func (b *builder) attribute(name string) (value, bool) {
	first, rest, _ := strings.Cut(name, ".")
	if !b.env.attrs[first] {
		return value{}, false
	}
	v := b.env.values[first]
	for rest != "" {
		var field string
		field, rest, _ = strings.Cut(rest, ".")
		v = v.fields[field]
	}
	return v, true
}

func (b *builder) apply(f *expr.Function, args []value, sc *scope, isIndex bool) (value, error) {
	if len(args) != len(f.Params) {
		return value{}, fmt.Errorf("%s has %d parameters, and got %d arguments", f.Name, len(f.Params), len(args))
	}
	if len(b.applied) == maxDepth {
		if slices.Contains(b.applied, f.Name) {
			return value{}, fmt.Errorf("%s applies itself", f.Name)
		}
		return value{}, fmt.Errorf("%s: functions apply functions more than %d deep", f.Name, maxDepth)
	}
	b.applied = append(b.applied, f.Name)
	defer func() { b.applied = b.applied[:len(b.applied)-1] }()
	params := map[string]value{}
	for i, p := range f.Params {
		params[p.Name] = args[i]
	}
	return b.value(f.X, sc.with(params), isIndex)
}

// builtin evaluates a builtin function of the language.
func (b *builder) builtin(name string, args []value) (value, error) {
	if v, ok, err := b.runFunction(name, args); ok || err != nil {
		return v, err
	}
	if name == "convert" && len(args) == 2 && args[0].node != nil && args[1].known {
		t, err := dtype.Parse(args[1].text)
		if err != nil {
			return value{}, err
		}
		return value{node: b.converted(args[0].node, t)}, nil
	}
	x := make([]*term.Term, len(args))
	for i, a := range args {
		if a.node == nil {
			return value{}, fmt.Errorf("%s: want a number, got %s", name, describe(a))
		}
		x[i] = a.node
	}
	if name == "ceildiv" && len(x) == 2 {
		if err := b.fits(term.Add, x[0], x[1]); err != nil {
			return value{}, err
		}
		if slices.ContainsFunc(x, func(n *term.Term) bool { return n.Reads() || n.Reduces() }) { // of any size: the sum below could wrap
			up := term.Compare(term.Unequal, term.Arithmetic(term.Modulo, x[0], x[1]), term.Number(0))
			return value{node: term.Arithmetic(term.Add, term.Arithmetic(term.Quotient, x[0], x[1]), term.Chosen(up, term.Number(1), term.Number(0)))}, nil
		}
		return value{node: term.Arithmetic(term.Quotient, term.Arithmetic(term.Subtract, term.Arithmetic(term.Add, x[0], x[1]), term.Number(1)), x[1])}, nil
	}
	f, ok := term.Functions[name]
	if ok && f.Result == term.Integer && slices.ContainsFunc(x, func(n *term.Term) bool { return n.Kind != term.Integer }) {
		return value{}, fmt.Errorf("%s: want integers", name)
	}
	if !ok {
		return value{}, fmt.Errorf("there is no function %s", name)
	}
	if f.Integers != term.Constant && len(x) == 2 {
		if err := b.fits(f.Integers, x[0], x[1]); err != nil {
			return value{}, err
		}
	}
	for f.Has(term.Extreme) && len(x) > 2 {
		x = append([]*term.Term{applied(f, x[:2])}, x[2:]...)
	}
	if len(x) != f.Args {
		return value{}, fmt.Errorf("%s has %d parameters, and got %d arguments", name, f.Args, len(x))
	}
	return value{node: applied(f, x)}, nil
}

// applied returns the term that applies function f to numbers x. It folds constants, and rewrites log(1 + y)
// as log1p(y).
func applied(f *term.Function, x []*term.Term) *term.Term {
	k := f.Result
	ints := !slices.ContainsFunc(x, func(n *term.Term) bool { return n.Kind != term.Integer })
	if ints && f.Keep != nil {
		k = term.Integer
	}
	if ints && f.Integers != term.Constant {
		return term.Arithmetic(f.Integers, x[0], x[1])
	}
	if !slices.ContainsFunc(x, func(n *term.Term) bool { return n.Op != term.Constant }) {
		v, whole := make([]float64, len(x)), make([]int, len(x))
		for i, n := range x {
			v[i], whole[i] = n.Value(), n.Int
		}
		switch {
		case f.Draw != nil:
			return term.RealNumber(f.Draw(whole[0], whole[1], whole[2]))
		case k == term.Integer && f.Keep != nil:
			return term.Number(f.Keep(whole...))
		case k == term.Integer:
			return term.Number(int(f.Real(v...)))
		case k == term.Boolean:
			return term.Condition(f.Real(v...) != 0)
		}
		return term.RealNumber(f.Real(v...))
	}
	if n := logarithmOfOneAnd(f, x[0]); n != nil {
		f, x = n.Func, n.Args
	}
	if n := textbookLogarithm(f, x[0]); n != nil {
		return n
	}
	return &term.Term{Op: term.Apply, Kind: k, Func: f, Args: x}
}

// runFunction evaluates a builtin on runs of indices or extents, such as keep(X, axes). It returns false if
// name denotes no such builtin. A dimension that the builtin inserts or replaces has index 0 and extent 1.
func (b *builder) runFunction(name string, args []value) (value, bool, error) {
	fail := func(want string) (value, bool, error) { return value{}, true, fmt.Errorf("%s: want %s", name, want) }
	if k := reduction.Of(name); k.Is(reduction.Same) {
		if len(args) == 1 && args[0].run != nil {
			x, err := b.folded(k, args[0].run.items)
			return value{node: x}, true, err
		}
		if k.Is(reduction.Extreme) { // max and min of several numbers
			return value{}, false, nil
		}
		return fail("a list")
	}
	switch name {
	case "len":
		if len(args) != 1 || args[0].run == nil {
			return fail("a list")
		}
		return value{node: term.Number(len(args[0].run.items))}, true, nil
	case "keep", "drop", "ones", "insert", "permute", "fit", "broadcast":
	default:
		return value{}, false, nil
	}
	if len(args) != 2 || args[0].run == nil || args[1].run == nil {
		return fail("two lists")
	}
	r, second := args[0].run, args[1].run.items
	if name == "broadcast" {
		return value{run: &run{items: broadcast(r.items, second)}}, true, nil
	}
	if name == "fit" {
		if len(second) > len(r.items) {
			return fail(fmt.Sprintf("at least %d indices", len(second)))
		}
		out := &run{indices: true}
		for i, x := range r.items[len(r.items)-len(second):] {
			if n, known := second[i].Known(); known && n == 1 {
				x = term.Number(0)
			}
			out.items = append(out.items, x)
		}
		return value{run: out}, true, nil
	}
	axes := make([]int, len(second))
	limit := len(r.items)
	if name == "insert" {
		limit += len(axes)
	}
	for i, x := range second {
		a, known := x.Known()
		if known && a < 0 {
			a += limit
		}
		if !known || a < 0 || a >= limit {
			return fail(fmt.Sprintf("axes below %d", limit))
		}
		axes[i] = a
	}
	unit := term.Number(1)
	if r.indices {
		unit = term.Number(0)
	}
	return value{run: &run{chosen(name, r.items, axes, unit), r.indices}}, true, nil
}

// broadcast returns the NumPy broadcast of two shapes, which are compatible.
func broadcast(x, y []*term.Term) []*term.Term {
	if len(x) < len(y) {
		x, y = y, x
	}
	out := slices.Clone(x)
	for i, n := range y {
		at := len(x) - len(y) + i
		if v, known := out[at].Known(); known && v == 1 {
			out[at] = n
		}
	}
	return out
}

// chosen returns the items of a run after permute, insert, ones, keep or drop with axes. unit is the item of
// an inserted or replaced dimension.
func chosen(name string, items []*term.Term, axes []int, unit *term.Term) []*term.Term {
	out := []*term.Term{}
	if name == "permute" {
		for _, a := range axes {
			out = append(out, items[a])
		}
		return out
	}
	n := len(items)
	if name == "insert" {
		n += len(axes)
	}
	next := 0
	for i := range n {
		in := slices.Contains(axes, i)
		switch {
		case name == "insert" && in:
			out = append(out, unit)
			continue
		case name == "ones" && in:
			out = append(out, unit)
		case name == "keep" && !in, name == "drop" && in:
		default:
			out = append(out, items[next])
		}
		next++
	}
	return out
}

// whole converts v to an integer type: it truncates, saturates, and maps NaN to 0.
func whole(v float64, t dtype.Type) int {
	switch {
	case t == dtype.U64 && v >= 1<<64:
		return -1 // the bits of math.MaxUint64
	case t == dtype.U64 && v >= 1<<63:
		return int(uint64(v))
	case t != dtype.I64 || v != v:
		return int(rounded(v, t))
	case v >= 1<<63:
		return math.MaxInt
	case v < -1<<63:
		return math.MinInt
	}
	return int(v)
}

// rounded returns v rounded to an element type.
func rounded(v float64, t dtype.Type) float64 {
	switch t {
	case dtype.F32:
		return float64(float32(v))
	case dtype.F64:
		return v
	}
	var b [8]byte
	t.PutFloat64(b[:t.Size()], v)
	return t.Float64(b[:t.Size()])
}
