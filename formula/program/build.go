package program

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
)

// builder lowers the statements of a formula to those of a program: it resolves names, expands runs of
// dimensions to indices, and folds attributes.
type builder struct {
	program     *Program
	byName      map[string]int // the first tensor of a slot, a local or "old.name"
	env         *environment
	callees     map[string]*callee
	inlined     map[string]int // the output tensors of inlined operators, by application.key and output
	prefix      string         // of names of tensors; "" unless the formula is inlined
	functions   map[string]*expr.Function
	conditional map[*expr.Function]bool // memo of hasConditions
	slots       map[string]*Slot
	names       *names
	assigned    map[string]bool               // names that statements of the formula define, which no temporary may have
	counts      map[string]int                // variadic argument -> number of values that the caller passes
	listed      []string                      // dimensions that have a value for each tensor of a variadic slot
	ranges      map[string]extent             // ranges of indices that subscript no dimension, by name, from their first use on
	first       map[*term.Variable]*term.Term // of an index that counts from 0: the integer from which its range in the formula begins
	perTensor   map[string]bool               // indices that range over a listed dimension
	written     []*expr.Statement             // all statements of the formula
	seeking     bool                          // whether the range of an index is being searched in these
	pairs       map[int]pairOf                // tensors defined as max + log of a logsumexp, see relative
	seconds     map[int]bool                  // tensors that hold the log of such a pair
	hoisted     []hoisted                     // temporaries of the current statement
	depth       int                           // of nested inlining
	applied     []string                      // the call stack of formula functions
	spans       *term.Spans                   // intervals of integers of indices, extents and attributes
	far         map[*term.Term]error          // memo of near
	narrowed    map[*term.Term]narrowed       // integers that convert made narrower
	unsettled   bool                          // whether comparisons of symbols are not folded
	deciding    bool                          // whether real symbols have their values in comparisons
	size        int                           // number of expressions evaluated so far
	length      int                           // number of those in the current statement
}

// extent is the half-open range of an index, or the ranges of the indices of a run.
type extent struct {
	lo, hi []*term.Term
	run    bool
}

// scope is the lexical scope of a statement, a function or a reduction.
type scope struct {
	params map[string]value // arguments of a function, and the tensor number of a variadic slot
	vars   map[string]*term.Variable
	bound  []*term.Variable // indices of the enclosing loops, outermost first
	partly bool             // whether the expression is conditional, and may not be evaluated
}

// inner returns the scope inside a reduction.
func (s *scope) inner() *scope {
	return &scope{params: s.params, vars: maps.Clone(s.vars), bound: slices.Clip(s.bound), partly: s.partly}
}

// under returns the scope of an expression under a condition.
func (s *scope) under() *scope {
	out := *s
	out.partly = true
	return &out
}

func (s *scope) with(params map[string]value) *scope {
	all := map[string]value{}
	maps.Copy(all, s.params)
	maps.Copy(all, params)
	return &scope{params: all, vars: s.vars, bound: s.bound, partly: s.partly}
}

// statement lowers a statement; for a variadic target, once for each tensor. If no target is present in this
// use, it lowers the statement only if a following statement reads a target.
func (b *builder) statement(s *expr.Statement, following []*expr.Statement) error {
	b.length = 0
	if holds, err := b.when(s); err != nil || !holds {
		return err
	}
	if !b.wanted(s, following) {
		return nil
	}
	name, count := b.each(s)
	if name == "" {
		return b.targets(s, &scope{vars: map[string]*term.Variable{}})
	}
	for i := range count {
		params := map[string]value{name: {node: term.Number(i)}}
		if err := b.targets(s, &scope{params: params, vars: map[string]*term.Variable{}}); err != nil {
			return err
		}
	}
	return nil
}

// when reports whether the `when` condition of a statement holds in this use, or is missing.
func (b *builder) when(s *expr.Statement) (bool, error) {
	if s.When == nil {
		return true, nil
	}
	unsettled := b.unsettled
	b.unsettled, b.deciding = false, unsettled
	v, err := b.eval(s.When, &scope{vars: map[string]*term.Variable{}}, false)
	b.unsettled, b.deciding = unsettled, false
	if err != nil {
		return false, err
	}
	holds, known := v.Truth()
	if !known {
		return false, fmt.Errorf("the condition behind when depends on values of tensors")
	}
	return holds, nil
}

// wanted reports whether a target of s is present, or one of the following statements reads it.
func (b *builder) wanted(s *expr.Statement, following []*expr.Statement) bool {
	for _, t := range s.Targets {
		name := nameOf(t)
		sl := b.slots[name]
		if sl == nil || len(sl.Tensors) > 0 {
			return true
		}
		for _, f := range following {
			used := false
			expr.Walk(f.X, func(n expr.Node) {
				switch n := n.(type) {
				case *expr.Read:
					used = used || n.Name == name
				case *expr.Ident: // an argument of an operator
					used = used || n.Name == name
				}
			})
			if used {
				return true
			}
		}
	}
	return false
}

func nameOf(target expr.Node) string {
	if r, ok := target.(*expr.Read); ok {
		return r.Name
	}
	return target.(*expr.Ident).Name
}

// each returns the name of the tensor number over which a statement is repeated, and the number of tensors.
// The name is the first index of a variadic target, or i if the statement reads x[i; ...] of tensors with
// different shapes. It returns "" if the statement is not repeated.
func (b *builder) each(s *expr.Statement) (string, int) {
	if r, ok := s.Targets[0].(*expr.Read); ok && b.slots[r.Name] != nil {
		if name := tensorName(r); name != "" {
			return name, len(b.slots[r.Name].Tensors)
		}
	}
	count := -1
	expr.Walk(s.X, func(n expr.Node) {
		r, ok := n.(*expr.Read)
		if ok && tensorName(r) == "i" && b.slots[r.Name] != nil && b.slots[r.Name].listed {
			count = len(b.slots[r.Name].Tensors)
		}
	})
	if count < 0 {
		return "", 0
	}
	return "i", count
}

// tensorName returns i for x[i; ...], and "" if the tensor number is another expression or absent.
func tensorName(r *expr.Read) string {
	if len(r.Groups) != 2 || len(r.Groups[0]) == 0 {
		return ""
	}
	id, ok := r.Groups[0][0].(*expr.Ident)
	if !ok {
		return ""
	}
	return id.Name
}

// targets lowers a statement once for each target. Several targets are the results of one argmax over as many
// indices, as in i[n], j[n] = argmax(a, b: x[n, a, b]), or the two parts of a logsumexp.
func (b *builder) targets(s *expr.Statement, sc *scope) error {
	for i, t := range s.Targets {
		part := -1
		if len(s.Targets) > 1 {
			part = i
		}
		inner := &scope{params: sc.params, vars: map[string]*term.Variable{}}
		if err := b.target(s, t, part, inner); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) target(s *expr.Statement, t expr.Node, part int, sc *scope) error {
	b.hoisted = nil
	if err := b.forRanges(s, sc); err != nil {
		return err
	}
	name := nameOf(t)
	id := -1
	if i, ok := b.byName[name]; ok {
		id = i
	}
	left := &term.Read{}
	if r, ok := t.(*expr.Read); ok {
		if sl := b.slots[name]; sl != nil && sl.Variadic {
			if len(r.Groups) != 2 || len(r.Groups[0]) != 1 {
				return fmt.Errorf("%s is a list of tensors: want the number of one in brackets before the index", name)
			}
			v, err := b.eval(r.Groups[0][0], sc, true)
			if err != nil {
				return err
			}
			n, known := v.Known()
			if !known || n < 0 || n >= len(sl.Tensors) {
				return fmt.Errorf("%s has no such tensor", name)
			}
			id += n
		}
		if err := b.left(r, id, left, sc); err != nil {
			return err
		}
	}
	vars := loops(left.Idx)
	sc.bound = vars
	x, err := b.eval(s.X, sc, false)
	if err != nil {
		return err
	}
	if id >= 0 {
		x = b.storedIn(x, b.program.Tensors[id].Type)
	}
	if x, err = b.split(x, vars); err != nil {
		return err
	}
	x = b.unfolded(x)
	for _, v := range x.Free() {
		if !slices.Contains(vars, v) {
			return fmt.Errorf("nothing goes over %s", v.Name)
		}
	}
	if s.Pair() != nil {
		if x, err = b.partOfPair(s, x, part, sc); err != nil {
			return err
		}
	} else if part >= 0 && x.Op == term.Reduce {
		r := *x.Reduction
		if r.Part = part; r.Number != nil {
			r.Number = r.Vars[part].Term()
		}
		x = &term.Term{Op: term.Reduce, Kind: term.Integer, Reduction: &r}
	}
	if id < 0 {
		l, err := b.local(name, left, sc)
		if err != nil {
			return err
		}
		l.Kind, l.Unsigned = x.Kind, b.program.Unsigned(x)
		id = b.program.Add(l)
		b.byName[name] = id
	}
	left.Tensor, left.Count, left.Text = id, 1, b.nameOf(id, name)
	if left.Ext == nil {
		left.Ext = b.program.Tensors[id].Shape
	}
	if s.Pair() != nil && part == 1 && b.isLogarithm(x) {
		b.seconds[id] = true
	}
	x = b.hoist(b.halve(id, left, vars, x), vars, false)
	b.program.Statements = append(b.program.Statements, &Statement{Target: id, Left: left, Vars: vars, Value: x})
	return nil
}

// forRanges declares the ranges of the indices in a for clause, as in y[i] = ... for i < 3.
func (b *builder) forRanges(s *expr.Statement, sc *scope) error {
	for _, f := range s.For {
		lo, hi, err := b.rangeOf(f, sc)
		if err != nil {
			return err
		}
		b.ranges[nameOf(f.X)] = extent{[]*term.Term{lo}, []*term.Term{hi}, false}
	}
	return nil
}

// local returns a new intermediate tensor with the shape that follows from left, its left side. The caller
// sets its kind.
func (b *builder) local(name string, left *term.Read, sc *scope) (*Local, error) {
	l := &Local{Name: name, Old: -1}
	if b.prefix != "" {
		l.Name = b.fresh(b.prefix + name)
	}
	var err error
	l.Shape, err = b.shapeOfLocal(name, left, sc)
	return l, err
}

// shapeOfLocal returns the shape of a tensor at its first definition: the shape of its slot if it has one
// (in an inlined formula), else the extents of the left side.
func (b *builder) shapeOfLocal(name string, left *term.Read, sc *scope) ([]*term.Term, error) {
	dims := []*term.Term{}
	sl := b.slots[name]
	if sl == nil {
		return append(dims, left.Ext...), nil
	}
	for _, e := range sl.elements {
		x, err := b.shapeOf(e, sc)
		if err != nil {
			return nil, err
		}
		dims = append(dims, x...)
	}
	return dims, nil
}

// loops returns the distinct variables of indices, in order of appearance.
func loops(idx []*term.Term) []*term.Variable {
	var vars []*term.Variable
	for _, i := range idx {
		for _, v := range i.Free() {
			if !slices.Contains(vars, v) {
				vars = append(vars, v)
			}
		}
	}
	return vars
}

// left lowers the subscripts of a target. A plain name without a range takes its range from the slot's
// shape.
func (b *builder) left(r *expr.Read, id int, left *term.Read, sc *scope) error {
	items := r.Groups[len(r.Groups)-1]
	sl := b.slots[r.Name]
	var tensor *Local
	if id >= 0 {
		tensor = b.program.Tensors[id]
	}
	if len(items) == 1 {
		if n, ok := items[0].(*expr.Number); ok {
			return b.leftByNumber(n, tensor, sl, left, sc)
		}
	}
	for j, it := range items {
		name, ok := it.(*expr.Ident)
		if !ok || sl == nil || b.hasRange(name.Name, sc) && !b.perTensor[name.Name] {
			continue
		}
		if len(items) != len(sl.elements) {
			return fmt.Errorf("what %s ranges over cannot be told: the index has not the form of the shape %s", name.Name, sl.Shape)
		}
		x, err := b.extentOfElement(sl.elements[j], sc)
		if err != nil {
			return err
		}
		b.ranges[name.Name], b.perTensor[name.Name] = x, sl.listed
	}
	var idx []*term.Term
	var plain []bool // by subscript: it is a plain name, not an expression
	for _, it := range items {
		part, err := b.items([]expr.Node{it}, sc)
		if err != nil {
			return err
		}
		_, ok := it.(*expr.Ident)
		for range part {
			plain = append(plain, ok)
		}
		idx = append(idx, part...)
	}
	left.Idx = idx
	var dims []*term.Term
	if tensor != nil {
		dims = tensor.Shape
	} else if sl != nil {
		for _, e := range sl.elements {
			x, err := b.shapeOf(e, sc)
			if err != nil {
				return err
			}
			dims = append(dims, x...)
		}
	} else {
		for _, i := range idx {
			n, err := extentOf(i)
			if err != nil {
				return fmt.Errorf("%s is no slot: %w", r.Name, err)
			}
			dims = append(dims, n)
		}
	}
	if len(idx) != len(dims) {
		return fmt.Errorf("%s has %d dimensions, and got %d indices", r.Name, len(dims), len(idx))
	}
	for d, i := range idx {
		if i.Op != term.Index || !plain[d] {
			continue
		}
		if _, n, err := bounds(i.Var); err != nil {
			return err
		} else if want, _ := dims[d].Known(); n != want {
			return fmt.Errorf("%s ranges over %d, and dimension %d of %s has %d", i.Var.Name, n, d, r.Name, want)
		}
	}
	left.Ext = dims
	if left.Ext == nil {
		left.Ext = []*term.Term{}
	}
	return nil
}

// extentOfElement returns the range of an index over a dimension of a shape, or the ranges of a run of
// indices over X....
func (b *builder) extentOfElement(e shapeElement, sc *scope) (extent, error) {
	extents, err := b.shapeOf(e, sc)
	x := extent{run: e.run}
	for _, n := range extents {
		x.lo, x.hi = append(x.lo, term.Number(0)), append(x.hi, n)
	}
	return x, err
}

// extentOf returns the extent of the dimension that subscript i on the left side of an intermediate tensor
// defines: the extent of a plain index, or the product of the extents in a mixed radix number such as h * D +
// d.
func extentOf(i *term.Term) (*term.Term, error) {
	var extents []*term.Term
	for _, v := range i.Free() {
		if _, _, err := bounds(v); err != nil {
			return nil, err
		}
		extents = append(extents, v.Hi)
	}
	if len(extents) == 0 {
		return nil, fmt.Errorf("want indices on the left")
	}
	return term.Total(extents), nil
}

// leftByNumber lowers a target with a flat index: x[#(i, j)].
func (b *builder) leftByNumber(n *expr.Number, tensor *Local, sl *Slot, left *term.Read, sc *scope) error {
	if id, ok := n.Items[0].(*expr.Ident); ok && len(n.Items) == 1 && !b.hasRange(id.Name, sc) {
		if tensor == nil {
			return fmt.Errorf("what %s ranges over cannot be told", id.Name)
		}
		b.ranges[id.Name] = extent{[]*term.Term{term.Number(0)}, []*term.Term{term.Total(tensor.Shape)}, false}
	}
	idx, err := b.items(n.Items, sc)
	if err != nil {
		return err
	}
	left.Idx, left.ByNumber = idx, true
	if left.Ext, err = extentsOf(idx); err != nil {
		return err
	}
	if tensor == nil {
		return nil
	}
	want, _ := term.Total(tensor.Shape).Known()
	if got, _ := term.Total(left.Ext).Known(); got != want {
		return fmt.Errorf("%s has %d elements, and the left side %d", tensor.Name, want, got)
	}
	return nil
}

// extentsOf returns the extents of the indices of a flat index #(i, j), which are its mixed radix. An error
// says that one is no plain index.
func extentsOf(idx []*term.Term) ([]*term.Term, error) {
	ext := []*term.Term{}
	for _, i := range idx {
		switch {
		case i.Op == term.Index:
			if _, _, err := bounds(i.Var); err != nil {
				return nil, err
			}
			ext = append(ext, term.Arithmetic(term.Subtract, i.Var.Hi, i.Var.Lo))
		case i.Is(0):
			ext = append(ext, term.Number(1))
		default:
			return nil, fmt.Errorf("want plain indices behind #")
		}
	}
	return ext, nil
}

// bounds returns the range [lo, hi) of v, or an error if it is not constant.
func bounds(v *term.Variable) (lo, hi int, err error) {
	lo, a := v.Lo.Known()
	hi, c := v.Hi.Known()
	if !a || !c {
		return 0, 0, fmt.Errorf("the range of %s depends on others", v.Name)
	}
	return lo, max(hi, lo), nil
}

// shapeOf returns the extents of a shape element: one for a dimension, several for a run X.... An extent that
// a sum over a list defines is -1, since the tensor determines it.
func (b *builder) shapeOf(e shapeElement, sc *scope) ([]*term.Term, error) {
	if folds(e.x) { // the tensor determines the extent
		return []*term.Term{term.Number(-1)}, nil
	}
	v, err := b.value(e.x, &scope{params: sc.params, vars: map[string]*term.Variable{}}, true)
	if err != nil {
		return nil, err
	}
	items := []*term.Term{v.node}
	if v.run != nil {
		items = v.run.items
	}
	for _, i := range items {
		if i == nil {
			return nil, fmt.Errorf("an extent is not known")
		}
		if _, ok := i.Known(); !ok {
			return nil, fmt.Errorf("an extent is not known")
		}
	}
	return items, nil
}

// hasRange reports whether a name is an index with a known range, or a parameter.
func (b *builder) hasRange(name string, sc *scope) bool {
	if _, ok := sc.params[name]; ok {
		return true
	}
	base := strings.TrimRight(name, "'")
	if _, ok := b.ranges[base]; ok {
		return true
	}
	_, ok := b.env.dims[base]
	return ok
}

// index returns the index, or the run of indices, that a name denotes.
func (b *builder) index(name string, sc *scope) (value, error) {
	base := strings.TrimRight(name, "'")
	x, ok := b.ranges[base]
	if !ok {
		dim := b.env.dims[base]
		v := b.env.values[dim]
		if slices.Contains(b.listed, dim) {
			n, ok := sc.params["i"]
			if !ok {
				return value{}, fmt.Errorf("each tensor has a %s of its own: want i beside %s", dim, name)
			}
			i, _ := n.node.Known()
			if l := b.env.lists[dim]; i < len(l) {
				v = l[i]
			} else if v.run != nil && i < len(v.run.items) {
				v = value{node: v.run.items[i]}
			}
		}
		switch {
		case v.run != nil:
			x.run = true
			for _, n := range v.run.items {
				x.lo, x.hi = append(x.lo, term.Number(0)), append(x.hi, n)
			}
		case v.node != nil:
			x.lo, x.hi = []*term.Term{term.Number(0)}, []*term.Term{v.node}
		}
	}
	if !x.run {
		return value{node: b.variableOf(name, name, x.lo[0], x.hi[0], sc)}, nil
	}
	r := &run{indices: true}
	for j := range x.lo {
		own := name
		if len(x.lo) > 1 {
			own = fmt.Sprintf("%s%d%s", base, j, name[len(base):])
		}
		r.items = append(r.items, b.variableOf(fmt.Sprintf("%s.%d", name, j), own, x.lo[j], x.hi[j], sc))
	}
	return value{run: r}, nil
}

// standsFor returns the integer that variable v stands for: its value, or that beyond the beginning of its
// range.
func (b *builder) standsFor(v *term.Variable) *term.Term {
	if first := b.first[v]; first != nil {
		return term.Sum(first, v.Term())
	}
	return v.Term()
}

// variableOf returns the integer that the variable stands for which sc.vars has for key. At the first use, it
// declares the variable with range [lo, hi).
func (b *builder) variableOf(key, name string, lo, hi *term.Term, sc *scope) *term.Term {
	v := sc.vars[key]
	if v == nil {
		v = &term.Variable{Name: name, Lo: lo, Hi: hi}
		sc.vars[key] = v
	}
	return b.standsFor(v)
}
