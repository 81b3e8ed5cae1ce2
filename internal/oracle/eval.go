package oracle

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/runtime/dtype"
)

// evaluation is the evaluation of a formula.
type evaluation struct {
	use       *Use
	unit      float64
	functions map[string]*expr.Function
	slots     map[string]*Slot
	elements  map[string][]shapeElement // of the shapes of slots
	attrs     map[string]value
	values    map[string]value    // of dimensions, dtype variables and arguments
	lists     map[string][]value  // of dimensions of which each tensor of a slot has its own
	dims      map[string]string   // dimensions by the names of their indices
	ranges    map[string]interval // of indices that are no dimension's, from where they first stand
	arrays    map[string][]*array // the tensors of slots and of values that the formula gives
	old       map[string][]*array // what weights held before
	inlined   map[*expr.Call]*evaluation
	memo      map[string]value // of reductions in the present statement
	free      map[*expr.Reduce]map[string]bool
	callees   map[string]*callee
	line      string
	steps     int
	depth     int
	asked     []place                  // the elements that are worked out, each for the one before
	begun     map[*expr.Statement]bool // those whose elements are worked out when one asks for them
	perTensor map[string]bool          // indices that range over a dimension of which each tensor has its own
}

// step counts an operation.
func (e *evaluation) step() {
	if e.steps++; e.steps > e.use.MaxSteps {
		panic(ErrTooLong)
	}
}

// value returns what an expression stands for. Where an index stands, / rounds down.
func (e *evaluation) value(n expr.Node, s *scope, index bool) value {
	e.step()
	switch n := n.(type) {
	case *expr.Lit:
		switch v := n.Value.(type) {
		case int64:
			return whole(v)
		case float64:
			return realValue(constant(v))
		case bool:
			return condition(v)
		}
		return textValue(n.Value.(string))
	case *expr.Ident:
		return e.name(n.Name, s)
	case *expr.Select:
		return e.field(n, s)
	case *expr.Unary:
		return e.unary(n, s, index)
	case *expr.Binary:
		return e.binary(n, s, index)
	case *expr.Cond:
		return e.cond(n, s, index)
	case *expr.In:
		return e.in(n, s, index)
	case *expr.List:
		return listOf(e.indexItems(n.Elems, s), false)
	case *expr.Number:
		return whole(rowMajor(e.indexItems(n.Items, s)))
	case *expr.Read:
		return e.read(n, s)
	case *expr.Index:
		return e.part(e.value(n.X, s, true), []expr.Node{n.I}, s)
	case *expr.Slice:
		return e.part(e.value(n.X, s, true), []expr.Node{n}, s)
	case *expr.Reduce:
		return e.reduce(n, s)
	case *expr.Call:
		return e.call(n, s, index)
	case *expr.Inline:
		return e.inlineElement(n, s)
	}
	fail("unknown expression")
	return value{}
}

// rowMajor returns the row-major number of an index in the ranges of its indices. A part that is the number 0
// stands for a range of one.
func rowMajor(items []item) int64 {
	at := coordinates(items)
	out := int64(0)
	for i, it := range items {
		n := int64(1)
		if it.name != "" {
			n = it.hi - it.lo
		} else if at[i] != 0 {
			fail("want plain indices behind #")
		}
		out = out*n + at[i]
	}
	return out
}

func (e *evaluation) field(n *expr.Select, s *scope) value {
	v := e.value(n.X, s, false)
	if v.kind != record {
		return value{}
	}
	return v.x.fields[n.Field]
}

func (e *evaluation) unary(n *expr.Unary, s *scope, index bool) value {
	x := e.value(n.X, s, index)
	if n.Op == "!" {
		if x.kind != boolean && x.kind != integer {
			fail("want a condition behind !, got %v", x.kind)
		}
		return value{kind: boolean, i: 1 - sign(x.i)*sign(x.i), unsure: x.unsure}
	}
	switch x.kind {
	case integer, boolean:
		x = x.settled()
		return value{kind: integer, i: -x.i, made: x.made, unsure: x.unsure, unsigned: x.unsigned}
	}
	return realValue(neg(x.number()))
}

func (e *evaluation) binary(n *expr.Binary, s *scope, index bool) value {
	x := e.value(n.X, s, index)
	if n.Op == "&&" || n.Op == "||" {
		if x.kind != boolean && x.kind != integer {
			fail("want a condition beside %s, got %v", n.Op, x.kind)
		}
		if !x.unsure && (x.i != 0) == (n.Op == "||") {
			return x
		}
		y := e.value(n.Y, s, index)
		if x.unsure && !y.unsure && (y.i != 0) == (n.Op == "||") {
			return y
		}
		if x.unsure {
			y.unsure = true
			if (x.i != 0) == (n.Op == "||") {
				y.i = x.i
			}
		}
		return y
	}
	y := e.value(n.Y, s, index)
	switch n.Op {
	case "==", "!=":
		if !numeric(x) || !numeric(y) {
			return condition(same(x, y) == (n.Op == "=="))
		}
		return e.compare(n.Op, x, y)
	case "<", "<=", ">", ">=":
		return e.compare(n.Op, x, y)
	}
	if !numeric(x) || !numeric(y) || x.kind == boolean || y.kind == boolean {
		fail("want numbers around %s, got %v and %v", n.Op, x.kind, y.kind)
	}
	if x.kind == integer && y.kind == integer {
		if n.Op != "/" && n.Op != "^" || n.Op == "/" && index || n.Op == "^" && wholeExponent(n.Y) {
			return wholes(n.Op, x, y)
		}
	}
	a, b := x.number(), y.number()
	var out value
	switch n.Op {
	case "+":
		out = e.rounded(add(a, b, 1))
	case "-":
		out = e.rounded(add(a, b, -1))
	case "*":
		out = e.rounded(mul(a, b, e.unit))
	case "/":
		if index {
			fail("want integers around / in an index")
		}
		out = e.rounded(div(a, b, e.unit))
	case "^":
		out = e.rounded(power(a, b))
	default:
		fail("want integers around %s", n.Op)
	}
	for _, z := range []value{x, y} {
		if z.kind == real && z.r.v == out.r.v { // as of x * 1, which may be simplified to x
			out.share = z.open().share
		}
	}
	return out
}

func numeric(v value) bool { return v.kind == integer || v.kind == real || v.kind == boolean }

// compare compares numbers or conditions.
func (e *evaluation) compare(op string, x, y value) value {
	if !numeric(x) || !numeric(y) {
		fail("want numbers around %s, got %v and %v", op, x.kind, y.kind)
	}
	var less, equal, unsure bool
	if x.kind != real && y.kind != real {
		c := compareWhole(x, y)
		less, equal, unsure = c < 0, c == 0, x.unsure || y.unsure
	} else {
		a, b := x.number(), y.number()
		less, equal, unsure = a.v < b.v, a.v == b.v, near(a, b, e.unit)
		if a.v != a.v || b.v != b.v {
			unsure = false
			if op == ">" || op == ">=" { // which hold for no NaN
				return condition(false)
			}
		}
	}
	var out value
	switch op {
	case "==":
		out = condition(equal)
	case "!=":
		out = condition(!equal)
	case "<":
		out = condition(less)
	case "<=":
		out = condition(less || equal)
	case ">":
		out = condition(!less && !equal)
	case ">=":
		out = condition(!less)
	}
	out.unsure = unsure
	return out
}

// same compares names and lists.
func same(x, y value) bool {
	switch {
	case x.kind == text && y.kind == text:
		return x.x.text == y.x.text
	case x.kind == list && y.kind == list:
		return slices.EqualFunc(x.x.items, y.x.items, func(a, b item) bool { return a.value.i == b.value.i && a.value.r.v == b.value.r.v })
	}
	return false
}

func (e *evaluation) cond(n *expr.Cond, s *scope, index bool) value {
	c := e.value(n.If, s, index)
	if c.kind != boolean && c.kind != integer {
		fail("want a condition in front of ?, got %v", c.kind)
	}
	there, other := n.Then, n.Else
	if c.i == 0 {
		there, other = other, there
	}
	if !c.unsure {
		v := e.value(there, s, index)
		_, settled := e.settledCondition(n.If, s)
		if v.kind == integer {
			switch kind := e.kindOf(other, s, index); {
			case kind == integer:
				v = v.as(e.signsOf(n, s))
			case kind == real && !settled: // a choice between an integer and a real number is a real number
				v = realValue(v.number())
			}
		}
		if !settled {
			v = v.open()
		}
		return v
	}
	x, y := e.value(there, s, index), e.value(other, s, index)
	if x.kind == real || y.kind == real {
		return realValue(hull(x.number(), y.number(), e.unit))
	}
	x.unsure = x.unsure || y.unsure || x.i != y.i
	return x
}

func (e *evaluation) in(n *expr.In, s *scope, index bool) value {
	x := e.value(n.X, s, index)
	unsure := false
	for _, m := range n.List {
		y := e.value(m, s, index)
		if !numeric(x) || !numeric(y) {
			if same(x, y) {
				return condition(true)
			}
			continue
		}
		c := e.compare("==", x, y)
		if c.i != 0 && !c.unsure {
			return c
		}
		unsure = unsure || c.unsure
	}
	return value{kind: boolean, unsure: unsure}
}

// part returns an item of a list, or a part of it.
func (e *evaluation) part(v value, group []expr.Node, s *scope) value {
	items := v.items()
	if len(group) != 1 {
		fail("want one place in a list, got %d", len(group))
	}
	place := func(n expr.Node, otherwise int, most int) int {
		if n == nil {
			return otherwise
		}
		i := e.value(n, s, true).integer()
		if i < 0 || i > int64(most) {
			fail("want a place in a list of %d, got %d", len(items), i)
		}
		return int(i)
	}
	if sl, ok := group[0].(*expr.Slice); ok {
		lo := place(sl.Lo, 0, len(items))
		hi := place(sl.Hi, len(items), len(items))
		return listOf(items[lo:max(lo, hi)], v.x.index)
	}
	it := items[place(group[0], 0, len(items)-1)]
	if it.name != "" {
		return listOf([]item{it}, true) // of one index, which items flattens
	}
	return it.value
}

// attribute returns the value of an attribute, or of a field of one. ok is false if there is none.
func (e *evaluation) attribute(name string) (v value, ok bool) {
	first, rest, _ := strings.Cut(name, ".")
	if v, ok = e.attrs[first]; !ok {
		return value{}, false
	}
	for rest != "" {
		var field string
		field, rest, _ = strings.Cut(rest, ".")
		if v.kind != record {
			return value{}, true
		}
		v = v.x.fields[field]
	}
	return v, true
}

// read returns an element of a tensor, or a part of a list.
func (e *evaluation) read(n *expr.Read, s *scope) value {
	tensors := e.arrays[n.Name]
	sl := e.slots[n.Name]
	if n.Old {
		tensors = e.old[n.Name]
	}
	if s.params[n.Name] != nil || tensors == nil && sl == nil {
		return single(e.partOf(n, s))
	}
	if len(tensors) == 0 {
		fail("%s is read, and is not there", n.Name)
	}
	a := tensors[0]
	if sl != nil && sl.Variadic {
		if len(n.Groups) != 2 || len(n.Groups[0]) != 1 {
			fail("%s is a list of tensors: want the number of one in brackets before the index", n.Name)
		}
		i := e.value(n.Groups[0][0], s, true).integer()
		if i < 0 || i >= int64(len(tensors)) {
			fail("%s has no tensor %d", n.Name, i)
		}
		a = tensors[i]
	} else if len(n.Groups) != 1 {
		fail("%s is one tensor: want one index", n.Name)
	}
	return e.at(a, n.Name, n.Groups[len(n.Groups)-1], n.Else, s)
}

// partOf returns a part of a list.
func (e *evaluation) partOf(n *expr.Read, s *scope) value {
	v, ok := value{}, false
	if s.params[n.Name] == nil {
		v, ok = e.attribute(n.Name)
	}
	if !ok {
		v = e.name(n.Name, s)
	}
	return e.part(v, n.Groups[0], s)
}

// single returns a list of one index as its value, where it has one.
func single(v value) value {
	if v.kind == list && len(v.x.items) == 1 && v.x.items[0].bound {
		return v.x.items[0].value
	}
	return v
}

// at returns the element of a tensor at an index, or what otherwise says where the index lies outside.
func (e *evaluation) at(a *array, name string, nodes []expr.Node, otherwise expr.Node, s *scope) value {
	var at int
	if num, ok := numberOf(nodes); ok {
		i := rowMajor(e.indexItems(num.Items, s))
		if at = int(i); i < 0 || i >= int64(a.size()) {
			at = -1
		}
	} else {
		idx := coordinates(e.indexItems(nodes, s))
		if len(idx) != len(a.shape) {
			fail("%s has %d dimensions, and got %d indices", name, len(a.shape), len(idx))
		}
		at = a.place(idx)
	}
	if at >= 0 {
		v := e.element(a, at, name)
		if v.kind == integer && otherwise != nil {
			switch kind := e.kindOf(otherwise, s, false); {
			case kind == integer && v.unsigned:
				v = v.as(joined(a.signs(), e.signsOf(otherwise, s)))
			case kind == real:
				v = realValue(v.number())
			}
		}
		return v
	}
	if otherwise == nil {
		fail("%s is read outside of its shape %v", name, a.shape)
	}
	v := e.value(otherwise, s, false).open()
	switch {
	case a.kind == real && v.kind == integer:
		v = realValue(v.number())
	case a.kind == integer && v.kind == integer:
		v = v.as(joined(a.signs(), e.signsOf(otherwise, s)))
	}
	return v
}

func (e *evaluation) element(a *array, i int, name string) value {
	if !a.given {
		fail("%s is read before it is given", name)
	}
	return a.at(i)
}

func (a *array) size() int { return max(len(a.reals), len(a.ints)) }

func numberOf(nodes []expr.Node) (*expr.Number, bool) {
	if len(nodes) != 1 {
		return nil, false
	}
	n, ok := nodes[0].(*expr.Number)
	return n, ok
}

// call returns what a function gives: one of the formula, the value of an attribute, or one that every
// formula has.
func (e *evaluation) call(n *expr.Call, s *scope, index bool) value {
	switch n.Func {
	case "has", "or":
		v := e.value(n.Args[0], s, index)
		if n.Func == "has" {
			return condition(v.kind != absent)
		}
		if v.kind != absent {
			return v
		}
		return e.value(n.Args[1], s, index)
	case "present", "count":
		id, ok := n.Args[0].(*expr.Ident)
		if !ok {
			fail("%s: want a slot", n.Func)
		}
		count := int64(0)
		if sl := e.slots[id.Name]; sl != nil {
			count = int64(len(sl.Tensors))
		} else if v, ok := e.use.Args[id.Name]; ok {
			count = 1
			if l, ok := v.([]any); ok {
				count = int64(len(l))
			}
		}
		if n.Func == "present" {
			return condition(count > 0)
		}
		return whole(count)
	}
	if f := e.functions[n.Func]; f != nil {
		return e.applied(f, n.Args, s, index)
	}
	if v, ok := e.attribute(n.Func); ok {
		if v.kind == absent && len(n.Args) == 1 {
			return e.value(n.Args[0], s, index)
		}
		if v.kind != text {
			fail("nothing says what %s means", n.Func)
		}
		if f := e.functions[n.Func+"."+v.x.text]; f != nil {
			return e.applied(f, n.Args, s, index)
		}
		// A value without a line of its own means the function of its name.
		return e.value(&expr.Call{Func: strings.ToLower(v.x.text), Args: n.Args}, s, index)
	}
	args := make([]value, len(n.Args))
	for i, a := range n.Args {
		args[i] = e.value(a, s, index && n.Func != "convert") // what is converted is a value
	}
	return e.builtin(n, args, s)
}

// maxDepth bounds functions that apply functions.
const maxDepth = 64

// applied returns what a function of the formula gives.
func (e *evaluation) applied(f *expr.Function, args []expr.Node, s *scope, index bool) value {
	if e.depth++; e.depth > maxDepth {
		fail("%s applies itself", f.Name)
	}
	defer func() { e.depth-- }()
	if len(args) != len(f.Params) {
		fail("%s has %d parameters, and got %d arguments", f.Name, len(f.Params), len(args))
	}
	params := map[string]*argument{}
	for i, p := range f.Params {
		params[p.Name] = &argument{node: args[i], scope: s, index: index}
	}
	return e.value(f.X, &scope{s.frames, params}, index)
}

// convert returns a number as an element of a type.
func convert(v value, t dtype.Type) value {
	switch k := kindOf(t); {
	case k == real && v.kind == real:
		out := v.r
		if t != dtype.F64 && !short(out.v) {
			out.err += abs(out.v)
		}
		return realValue(out)
	case k == real:
		return realValue(v.number())
	case k == boolean:
		n := v.number()
		return condition(n.v != 0)
	case v.kind == real:
		return truncated(v.r, t)
	}
	if t.Size() == 8 { // has the same bits, and as much of a sign
		return v
	}
	v.made = v.made || v.edge != 0 // an extreme of nothing may be the bound of the type, or its last bits
	return wrapped(value{kind: integer, i: v.i, unsigned: v.unsigned, made: v.made, unsure: v.unsure}, t)
}
