package program

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

// maxDepth bounds nested calls, so that recursion is an error.
const maxDepth = 50

// maxSize bounds the number of expressions evaluated for a formula, and maxStatement that for one statement.
// Calls of functions that call functions multiply them. maxStatement is small because the gradient of a
// product is larger than the product, and takes longer to simplify.
const (
	maxSize      = 1 << 16
	maxStatement = 1 << 9
)

// eval evaluates an expression to a term: a number or a condition. isIndex makes / a floor division.
func (b *builder) eval(n expr.Node, sc *scope, isIndex bool) (*term.Term, error) {
	v, err := b.value(n, sc, isIndex)
	if err != nil {
		return nil, err
	}
	if v.node == nil {
		return nil, fmt.Errorf("want a number or a condition, got %s", describe(v))
	}
	return v.node, nil
}

func describe(v value) string {
	switch {
	case v.node != nil:
		return "a " + v.node.Kind.String()
	case v.run != nil:
		return "a list"
	case v.fields != nil:
		return "a record"
	case v.known:
		return "'" + v.text + "'"
	}
	return "nothing"
}

// value evaluates an expression. isIndex says that it is part of a subscript, where / rounds down.
func (b *builder) value(n expr.Node, sc *scope, isIndex bool) (value, error) {
	b.size++
	b.length++
	switch {
	case b.length > maxStatement:
		return value{}, fmt.Errorf("a statement has more than %d operations once functions are applied", maxStatement)
	case b.size > maxSize:
		return value{}, fmt.Errorf("the formula has more than %d operations once functions are applied", maxSize)
	}
	switch n := n.(type) {
	case *expr.Lit:
		switch v := n.Value.(type) {
		case int64:
			return value{node: term.Number(int(v))}, nil
		case float64:
			return value{node: term.RealNumber(v)}, nil
		case bool:
			return value{node: term.Condition(v)}, nil
		}
		return text(n.Value.(string)), nil
	case *expr.Ident:
		return b.name(n.Name, sc)
	case *expr.Select:
		x, err := b.value(n.X, sc, isIndex)
		if err != nil {
			return value{}, err
		}
		return x.fields[n.Field], nil
	case *expr.Unary:
		x, err := b.eval(n.X, sc, isIndex)
		if err != nil {
			return value{}, err
		}
		if n.Op == "!" {
			return value{node: term.Negated(x)}, nil
		}
		if err := b.holds(term.Subtract, term.Number(0), x, math.MaxInt); err != nil {
			return value{}, err
		}
		if x.Op == term.Constant {
			return value{node: term.Arithmetic(term.Multiply, term.Number(-1), x)}, nil
		}
		k := x.Kind
		if k == term.Boolean { // a condition counts as 1 or 0
			k = term.Integer
		}
		return value{node: &term.Term{Op: term.Negate, Kind: k, Args: []*term.Term{x}}}, nil
	case *expr.Binary:
		return b.binary(n, sc, isIndex)
	case *expr.Cond:
		return b.cond(n, sc, isIndex)
	case *expr.In:
		return b.in(n, sc, isIndex)
	case *expr.List:
		items, err := b.items(n.Elems, sc)
		return value{run: &run{items: items}}, err
	case *expr.Number:
		x, err := b.number(n.Items, sc)
		return value{node: x}, err
	case *expr.Read:
		return b.read(n, sc)
	case *expr.Index: // in a shape
		return b.part(n.X, []expr.Node{n.I}, sc)
	case *expr.Slice:
		return b.part(n.X, []expr.Node{n}, sc)
	case *expr.Reduce:
		x, err := b.reduction(n, sc)
		return value{node: x}, err
	case *expr.Call:
		return b.call(n, sc, isIndex)
	case *expr.Inline:
		return b.inlineElement(n, sc)
	}
	return value{}, fmt.Errorf("unknown expression")
}

// name resolves a name: a parameter, an attribute, an index, a dimension, or a scalar tensor.
func (b *builder) name(name string, sc *scope) (value, error) {
	if v, ok := sc.params[name]; ok {
		return v, nil
	}
	if b.env.attrs[name] {
		return b.env.values[name], nil
	}
	if id, ok := b.byName[name]; ok && b.slots[name] == nil {
		return value{node: b.paired(b.elementOf(id, nil))}, nil
	}
	if b.hasRange(name, sc) {
		return b.index(name, sc)
	}
	if v := sc.vars[name]; v != nil { // of a reduction with a range that depends on other indices
		return value{node: b.standsFor(v)}, nil
	}
	if v, ok := b.env.values[name]; ok {
		return v, nil
	}
	if id, ok := b.byName[name]; ok {
		if t := b.program.Tensors[id]; len(t.Shape) == 0 {
			return value{node: b.paired(b.elementOf(id, nil))}, nil
		}
		return value{}, fmt.Errorf("want an index behind %s", name)
	}
	if t, err := dtype.Parse(name); err == nil {
		return text(t.String()), nil
	}
	if b.rangedElsewhere(name) {
		return b.index(name, sc)
	}
	return value{}, fmt.Errorf("%s is not defined", name)
}

// elementOf returns the element of tensor id at idx.
func (b *builder) elementOf(id int, idx []*term.Term) *term.Term {
	t := b.program.Tensors[id]
	return &term.Term{Op: term.Element, Kind: t.Kind, Read: &term.Read{Tensor: id, Count: 1, Idx: idx, Ext: t.Shape, Text: t.Name}}
}

// items evaluates a list of integers or subscripts, with runs expanded to their items.
func (b *builder) items(items []expr.Node, sc *scope) ([]*term.Term, error) {
	var out []*term.Term
	for _, it := range items {
		v, err := b.value(it, sc, true)
		switch {
		case err != nil:
			return nil, err
		case v.run != nil:
			out = append(out, v.run.items...)
		case v.node != nil && v.node.Kind == term.Integer:
			out = append(out, v.node)
		default:
			return nil, fmt.Errorf("want an index, got %s", describe(v))
		}
	}
	return out, nil
}

// number returns the row-major flat index #(i, j) of a list of plain indices.
func (b *builder) number(items []expr.Node, sc *scope) (*term.Term, error) {
	idx, err := b.items(items, sc)
	if err != nil {
		return nil, err
	}
	ext, err := extentsOf(idx)
	if err != nil {
		return nil, err
	}
	out := term.Number(0)
	for i, x := range idx {
		out = term.Arithmetic(term.Add, term.Arithmetic(term.Multiply, out, ext[i]), x)
	}
	return out, nil
}

// arithmetic and comparisons map operators of formulas to operations. / is missing, since it is a floor
// division in subscripts only.
var (
	arithmetic  = map[string]term.Op{"+": term.Add, "-": term.Subtract, "*": term.Multiply, "%": term.Modulo, "^": term.Power}
	comparisons = map[string]term.Op{"==": term.Equal, "!=": term.Unequal, "<": term.Less, "<=": term.AtMost}
)

func (b *builder) binary(n *expr.Binary, sc *scope, isIndex bool) (value, error) {
	x, err := b.value(n.X, sc, isIndex)
	if err != nil {
		return value{}, err
	}
	if v, known := x.truth(); known && (n.Op == "&&" && !v || n.Op == "||" && v) {
		return x, nil // short-circuit: the other side may read an absent tensor
	}
	if n.Op == "&&" || n.Op == "||" {
		sc = sc.under()
	}
	y, err := b.value(n.Y, sc, isIndex)
	if err != nil {
		return value{}, err
	}
	if n.Op == "==" || n.Op == "!=" {
		if x.node == nil || y.node == nil {
			return value{node: term.Condition(same(x, y) == (n.Op == "=="))}, nil
		}
	}
	if x.node == nil || y.node == nil {
		return value{}, fmt.Errorf("want numbers or conditions around %s, got %s and %s", n.Op, describe(x), describe(y))
	}
	op, ok := arithmetic[n.Op]
	switch {
	case ok:
	case n.Op == "&&":
		return value{node: term.Both(x.node, y.node)}, nil
	case n.Op == "||":
		return value{node: term.Either(x.node, y.node)}, nil
	case n.Op == "/" && isIndex:
		op = term.Quotient
	case n.Op == "/":
		op = term.Divide
	default:
		return b.compared(n.Op, x.node, y.node)
	}
	if x.node.Kind == term.Boolean || y.node.Kind == term.Boolean || (op == term.Quotient || op == term.Modulo) && (x.node.Kind == term.Real || y.node.Kind == term.Real) {
		return value{}, fmt.Errorf("want numbers around %s, got a %v and a %v", n.Op, x.node.Kind, y.node.Kind)
	}
	if e, known := y.node.IsConst(); op == term.Power && x.node.Kind == term.Integer && y.node.Kind == term.Integer && !(known && e >= 0) {
		return value{node: term.RealPower(x.node, y.node)}, nil
	}
	if d, known := y.node.Known(); known && d == 0 && (op == term.Quotient || op == term.Modulo) {
		if sc.partly || b.idle(sc) {
			return value{node: term.Number(0)}, nil // never evaluated: opgen check has proved it, for conditions, too
		}
		return value{}, fmt.Errorf("the divisor is 0")
	}
	if isIndex || op == term.Quotient || op == term.Modulo {
		err = b.fits(op, x.node, y.node)
	} else {
		err = b.holds(op, x.node, y.node, math.MaxInt)
	}
	if err != nil {
		return value{}, err
	}
	if op == term.Add || op == term.Subtract {
		if n := exponentialLessOne(op, x.node, y.node); n != nil {
			return value{node: n}, nil
		}
		if n := textbookSoftplus(op, x.node, y.node); n != nil {
			return value{node: n}, nil
		}
		return value{node: b.add(op, x.node, y.node)}, nil
	}
	return value{node: term.Arithmetic(op, x.node, y.node)}, nil
}

// compared returns a comparison of x and y by an operator of formulas, such as ">=".
func (b *builder) compared(operator string, x, y *term.Term) (value, error) {
	if err := b.fits(term.Subtract, x, y); err != nil {
		return value{}, err
	}
	switch operator {
	case ">":
		return value{node: b.comparison(term.Less, y, x)}, nil
	case ">=":
		return value{node: b.comparison(term.AtMost, y, x)}, nil
	}
	return value{node: b.comparison(comparisons[operator], x, y)}, nil
}

// comparison returns the comparison x op y. It is folded if both are known, but in an unsettled program not
// if one contains a symbol.
func (b *builder) comparison(op term.Op, x, y *term.Term) *term.Term {
	switch {
	case b.unsettled && (hasSymbol(x) || hasSymbol(y)):
		return &term.Term{Op: op, Kind: term.Boolean, Args: []*term.Term{x, y}}
	case b.deciding:
		x, y = valued(x), valued(y)
	}
	return term.Compare(op, x, y)
}

// hasSymbol reports whether x contains a symbol. It visits shared subterms once.
func hasSymbol(x *term.Term) bool {
	found := false
	seen := map[*term.Term]bool{}
	x.WalkInto(func(n *term.Term) bool {
		found = found || n.Op == term.Symbol
		more := !found && !seen[n]
		seen[n] = true
		return more
	})
	return found
}

// valued returns n with the values of symbols of real numbers in place of the symbols.
func valued(n *term.Term) *term.Term {
	if n.Op == term.Symbol && n.Kind == term.Real {
		return term.RealNumber(n.Float)
	}
	return n.Map(valued)
}

// idle reports whether an enclosing index has an empty range, so that the expression is never evaluated.
func (b *builder) idle(sc *scope) bool {
	return slices.ContainsFunc(sc.bound, func(v *term.Variable) bool {
		if n := b.env.values[b.env.dims[strings.TrimRight(v.Name, "'")]].node; n != nil {
			if extent, known := n.Known(); known && extent == 0 {
				return true
			}
		}
		lo, hi, err := bounds(v)
		return err == nil && lo == hi
	})
}

func (v value) truth() (holds, known bool) {
	if v.node == nil {
		return false, false
	}
	return v.node.Truth()
}

// same reports whether x and y are two lists or two texts that are known to be equal.
func same(x, y value) bool {
	if x.run != nil && y.run != nil {
		return slices.EqualFunc(x.run.items, y.run.items, func(a, b *term.Term) bool { x, a1 := a.Settled(); y, b1 := b.Settled(); return a1 && b1 && x == y })
	}
	return x.known && y.known && x.text == y.text
}

func (b *builder) cond(n *expr.Cond, sc *scope, isIndex bool) (value, error) {
	c, err := b.eval(n.If, sc, isIndex)
	if err != nil {
		return value{}, err
	}
	if holds, known := c.Truth(); known {
		if holds {
			return b.value(n.Then, sc, isIndex)
		}
		return b.value(n.Else, sc, isIndex)
	}
	x, err := b.eval(n.Then, sc.under(), isIndex)
	if err != nil {
		return value{}, err
	}
	y, err := b.eval(n.Else, sc.under(), isIndex)
	if err != nil {
		return value{}, err
	}
	return value{node: term.Conditional(c, x, y)}, nil
}

func (b *builder) in(n *expr.In, sc *scope, isIndex bool) (value, error) {
	x, err := b.value(n.X, sc, isIndex)
	if err != nil {
		return value{}, err
	}
	for _, e := range n.List {
		y, err := b.value(e, sc, isIndex)
		if err != nil {
			return value{}, err
		}
		if x.node != nil && y.node != nil {
			if holds, known := term.Compare(term.Equal, x.node, y.node).Truth(); known && holds {
				return value{node: term.Condition(true)}, nil
			}
		} else if same(x, y) {
			return value{node: term.Condition(true)}, nil
		}
	}
	return value{node: term.Condition(false)}, nil
}

// part evaluates of[items]: an item or a slice of a run.
func (b *builder) part(of expr.Node, items []expr.Node, sc *scope) (value, error) {
	v, err := b.value(of, sc, true)
	if err != nil {
		return value{}, err
	}
	return b.partOf(v, items, sc)
}

func (b *builder) partOf(v value, items []expr.Node, sc *scope) (value, error) {
	if v.run == nil || len(items) != 1 {
		return value{}, fmt.Errorf("want a list before the brackets, got %s", describe(v))
	}
	known := func(n expr.Node, otherwise int) (int, error) {
		if n == nil {
			return otherwise, nil
		}
		x, err := b.eval(n, sc, true)
		if err != nil {
			return 0, err
		}
		i, ok := x.Known()
		if !ok || i < 0 || i > len(v.run.items) {
			return 0, fmt.Errorf("want a place in a list of %d", len(v.run.items))
		}
		return i, nil
	}
	if s, ok := items[0].(*expr.Slice); ok {
		lo, err := known(s.Lo, 0)
		if err != nil {
			return value{}, err
		}
		hi, err := known(s.Hi, len(v.run.items))
		if err != nil {
			return value{}, err
		}
		return value{run: &run{v.run.items[lo:max(lo, hi)], v.run.indices}}, nil
	}
	at, err := b.eval(items[0], sc, true)
	if err != nil {
		return value{}, err
	}
	if _, known := at.Known(); !known && !v.run.indices {
		return value{node: chosenBy(at, v.run.items)}, nil
	}
	i, err := known(items[0], 0)
	if err == nil && i == len(v.run.items) {
		err = fmt.Errorf("want a place in a list of %d", len(v.run.items))
	}
	if err != nil {
		return value{}, err
	}
	return value{node: v.run.items[i]}, nil
}

// chosenBy returns items[at] for a subscript that depends on indices, as a chain of conditionals: at == 0 ? a
// : at == 1 ? b : c. The check proved at in bounds, so the last item needs no test. An empty list is never
// indexed; its result is an arbitrary 0.
func chosenBy(at *term.Term, items []*term.Term) *term.Term {
	if len(items) == 0 {
		return term.Number(0)
	}
	out := items[len(items)-1]
	for i := len(items) - 2; i >= 0; i-- {
		out = term.Conditional(term.Compare(term.Equal, at, term.Number(i)), items[i], out)
	}
	return out
}

// read lowers a subscript expression: an element of a tensor, or a part of a run.
func (b *builder) read(n *expr.Read, sc *scope) (value, error) {
	id, ok := b.byName[n.Name]
	sl := b.slots[n.Name]
	if !ok && sl == nil {
		v, isField := b.attribute(n.Name)
		if !isField {
			var err error
			if v, err = b.name(n.Name, sc); err != nil {
				return value{}, err
			}
		}
		return b.partOf(v, n.Groups[0], sc)
	}
	if !ok {
		if sl.Variadic && len(sl.Tensors) == 0 {
			return value{node: b.unread(sl)}, nil
		}
		return value{}, fmt.Errorf("%s is read, and is not there", n.Name)
	}
	r := &term.Read{Tensor: id, Count: 1, Text: b.nameOf(id, n.Name)}
	if sl != nil && sl.Variadic {
		if len(n.Groups) != 2 || len(n.Groups[0]) != 1 {
			return value{}, fmt.Errorf("%s is a list of tensors: want the number of one in brackets before the index", n.Name)
		}
		which, err := b.eval(n.Groups[0][0], sc, true)
		if err != nil {
			return value{}, err
		}
		if i, known := which.Known(); known {
			if i < 0 || i >= len(sl.Tensors) {
				return value{}, fmt.Errorf("%s has no tensor %d", n.Name, i)
			}
			r.Tensor += i
		} else if sl.listed && !n.Old {
			return b.oneOf(n, which, id, len(sl.Tensors), sc)
		} else {
			r.Which, r.Count = which, len(sl.Tensors)
		}
	} else if len(n.Groups) != 1 {
		return value{}, fmt.Errorf("%s is one tensor: want one index", n.Name)
	}
	if n.Old {
		if r.Count > 1 {
			return value{}, fmt.Errorf("old.%s: want the number of a tensor, got one that depends on indices", n.Name)
		}
		r.Tensor = b.before(r.Tensor)
	}
	x, err := b.element(n, r, sc)
	return value{node: x}, err
}

// unread returns what stands for an element of a list without tensors, which is never computed: the check
// proved that the number of the tensor lies below that of the tensors. It is an arbitrary 0.
func (b *builder) unread(sl *Slot) *term.Term {
	name := sl.Type
	if v := b.env.values[name]; v.known {
		name = v.text
	}
	t, err := dtype.Parse(name)
	if err != nil {
		return term.Number(0)
	}
	switch kindOf(t) {
	case term.Real:
		return term.RealNumber(0)
	case term.Boolean:
		return term.Condition(false)
	}
	return term.Number(0)
}

// oneOf lowers a read of one of several tensors, whose number depends on indices, where each has extents of
// its own: the choice between reads of each.
func (b *builder) oneOf(n *expr.Read, which *term.Term, id, count int, sc *scope) (value, error) {
	var out *term.Term
	for k := count - 1; k >= 0; k-- {
		x, err := b.element(n, &term.Read{Tensor: id + k, Count: 1, Text: b.nameOf(id, n.Name)}, sc)
		if err != nil {
			return value{}, err
		}
		if out == nil {
			out = x
			continue
		}
		out = term.Chosen(term.Compare(term.Equal, which, term.Number(k)), x, out)
	}
	return value{node: out}, nil
}

// element lowers the subscripts of a read of tensor r, and what takes the place of elements outside of it.
func (b *builder) element(n *expr.Read, r *term.Read, sc *scope) (*term.Term, error) {
	if err := b.indexOf(r, n.Groups[len(n.Groups)-1], sc); err != nil {
		return nil, err
	}
	kind := b.program.Tensors[r.Tensor].Kind
	if n.Else != nil {
		var err error
		if r.Else, err = b.eval(n.Else, sc.under(), false); err != nil {
			return nil, err
		}
		if r.Else.Kind != kind { // integers and real numbers meet as real numbers
			kind = term.Real
		}
	}
	return b.paired(&term.Term{Op: term.Element, Kind: kind, Read: r}), nil
}

// indexOf lowers the subscripts of an element: one for each dimension, or a flat index behind #.
func (b *builder) indexOf(r *term.Read, items []expr.Node, sc *scope) error {
	t := b.program.Tensors[r.Tensor]
	var err error
	if num, ok := numberOf(items); ok {
		r.ByNumber = true
		if r.Idx, err = b.items(num.Items, sc); err == nil {
			r.Ext, err = extentsOf(r.Idx)
		}
	} else {
		r.Idx, err = b.items(items, sc)
		r.Ext = t.Shape
		if err == nil && len(r.Idx) != len(r.Ext) {
			err = fmt.Errorf("%s has %d dimensions, and got %d indices", r.Text, len(r.Ext), len(r.Idx))
		}
	}
	for i, x := range r.Idx {
		if err == nil {
			err = b.fits(term.Subtract, x, r.Ext[i])
		}
	}
	return err
}

func numberOf(items []expr.Node) (*expr.Number, bool) {
	if len(items) != 1 {
		return nil, false
	}
	n, ok := items[0].(*expr.Number)
	return n, ok
}

// before returns the tensor old.NAME, which holds the value of tensor id before the task. It declares the
// tensor at the first use.
func (b *builder) before(id int) int {
	t := b.program.Tensors[id]
	name := "old." + t.Name
	if old, ok := b.byName[name]; ok {
		return old
	}
	old := b.program.Add(&Local{Name: name, Shape: t.Shape, Kind: t.Kind, Type: t.Type, Unsigned: t.Unsigned, Old: id})
	b.byName[name] = old
	return old
}

// rangeOf evaluates the range of a binder, clipped to the dimension that the index names.
func (b *builder) rangeOf(n *expr.Binder, sc *scope) (lo, hi *term.Term, err error) {
	lo = term.Number(0)
	if n.Lo != nil {
		if lo, err = b.eval(n.Lo, sc, true); err != nil {
			return nil, nil, err
		}
	}
	if hi, err = b.eval(n.Hi, sc, true); err != nil {
		return nil, nil, err
	}
	if lo.Kind != term.Integer || hi.Kind != term.Integer {
		return nil, nil, fmt.Errorf("want integers as the ends of a range")
	}
	if err := b.fits(term.Subtract, hi, lo); err != nil {
		return nil, nil, err
	}
	dim := b.env.dims[strings.TrimRight(nameOf(n.X), "'")]
	if v := b.env.values[dim]; v.node != nil {
		lo, hi = term.Greatest(lo, term.Number(0)), term.Least(hi, v.node)
	}
	return lo, hi, nil
}
