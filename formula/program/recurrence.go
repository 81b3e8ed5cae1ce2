package program

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/term"
)

// Recurrence is a block of mutually dependent statements that run sequentially along an index, such as h[t] =
// a * (h[t - 1] else 0) + x[t]. Elements at one value of the index depend on those at earlier values. The
// statements of a block are adjacent. For each value of the index, they run in their order.
type Recurrence struct {
	Targets []int // tensors that its statements define
	Down    bool  // whether the index runs from its last value to the first
}

// Needs reports whether set holds for a tensor that the statement defines, or that another statement of its
// recurrence defines.
func (s *Statement) Needs(set func(tensor int) bool) bool {
	if s.Recurrence == nil {
		return set(s.Target)
	}
	return slices.ContainsFunc(s.Recurrence.Targets, set)
}

// beside returns the statements in the recurrence of s, or s alone if it is in none. statements contains s.
func (s *Statement) beside(statements []*Statement) []*Statement {
	return Together(statements, slices.Index(statements, s))
}

// Together returns the statements in the recurrence of statement i, or that statement alone if it is in none.
func Together(statements []*Statement, i int) []*Statement {
	lo, hi := i, i+1
	if r := statements[i].Recurrence; r != nil {
		for ; lo > 0 && statements[lo-1].Recurrence == r; lo-- {
		}
		for ; hi < len(statements) && statements[hi].Recurrence == r; hi++ {
		}
	}
	return statements[lo:hi]
}

// Needed returns the statements on which the tensors in need depend, transitively, in their order. It adds
// the tensors that they read to need. Statements of tensors for which there returns true are left out, since
// these tensors are available. The remaining statements of a recurrence are ordered again, since they may no
// longer depend on each other.
func Needed(statements []*Statement, need []bool, there func(tensor int) bool) ([]*Statement, error) {
	var kept []*Statement
	keeps := func(s *Statement) bool { return need[s.Target] && !there(s.Target) }
	for i := len(statements) - 1; i >= 0; i-- {
		block := Together(statements, i)
		i -= len(block) - 1
		for range block { // a statement may need what one below it gives
			for _, s := range block {
				if !keeps(s) {
					continue
				}
				s.Reads(func(r *term.Read) {
					for k := range r.Count {
						need[r.Tensor+k] = true
					}
				})
			}
		}
		some := slices.DeleteFunc(slices.Clone(block), func(s *Statement) bool { return !keeps(s) })
		if len(some) < len(block) {
			for j, s := range some {
				alone := *s
				alone.Recurrence, alone.Over = nil, nil
				some[j] = &alone
			}
			var err error
			if some, err = Ordered(some); err != nil {
				return nil, err
			}
		}
		slices.Reverse(some)
		kept = append(kept, some...)
	}
	slices.Reverse(kept)
	return kept, nil
}

// Recurs reports whether any of the statements is in a recurrence.
func Recurs(statements []*Statement) bool {
	return slices.ContainsFunc(statements, func(s *Statement) bool { return s.Recurrence != nil })
}

// Ordered sorts statements topologically: each reads only results of statements above it. A strongly
// connected component becomes a recurrence. Statements that are in order already keep their order. It returns
// an error if a component cannot be evaluated along any index.
func Ordered(statements []*Statement) ([]*Statement, error) {
	o := &ordering{statements: statements, givers: map[int][]int{}}
	for i, s := range statements {
		o.givers[s.Target] = append(o.givers[s.Target], i)
	}
	behind := false // whether a statement reads what it or one below it gives
	for i, s := range statements {
		o.needs = append(o.needs, o.neededBy(i))
		behind = behind || slices.ContainsFunc(o.needs[i], func(j int) bool { return j >= i && !s.Add })
	}
	if !behind {
		return statements, nil
	}
	o.number, o.low, o.open = make([]int, len(statements)), make([]int, len(statements)), make([]bool, len(statements))
	for i := range statements {
		if o.number[i] == 0 {
			if err := o.visit(i); err != nil {
				return nil, err
			}
		}
	}
	return o.out, nil
}

// ordering finds the strongly connected components of the graph of statements, by Tarjan's algorithm.
type ordering struct {
	statements  []*Statement
	givers      map[int][]int // by tensor: the statements that define it
	needs       [][]int       // by statement: the statements on which it depends
	number, low []int
	open        []bool
	stack       []int
	last        int
	out         []*Statement
}

// neededBy returns the statements on which statement i depends: those that define a tensor that it reads, and
// those above it with the same target.
func (o *ordering) neededBy(i int) []int {
	var out []int
	o.statements[i].Reads(func(r *term.Read) {
		for k := range r.Count {
			out = append(out, o.givers[r.Tensor+k]...)
		}
	})
	for _, j := range o.givers[o.statements[i].Target] {
		if j < i {
			out = append(out, j)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (o *ordering) visit(i int) error {
	o.last++
	o.number[i], o.low[i], o.open[i] = o.last, o.last, true
	o.stack = append(o.stack, i)
	for _, j := range o.needs[i] {
		if o.number[j] == 0 {
			if err := o.visit(j); err != nil {
				return err
			}
			o.low[i] = min(o.low[i], o.low[j])
		} else if o.open[j] {
			o.low[i] = min(o.low[i], o.number[j])
		}
	}
	if o.low[i] < o.number[i] {
		return nil
	}
	at := slices.Index(o.stack, i)
	members := slices.Sorted(slices.Values(o.stack[at:]))
	o.stack = o.stack[:at]
	for _, j := range members {
		o.open[j] = false
	}
	if len(members) == 1 && !slices.Contains(o.needs[i], i) {
		o.out = append(o.out, o.statements[i])
		return nil
	}
	block, err := o.block(members)
	o.out = append(o.out, block...)
	return err
}

// block makes a recurrence of mutually dependent statements. It tries each index of the first statement,
// upward and downward.
func (o *ordering) block(members []int) ([]*Statement, error) {
	b := &blocks{place: map[int]int{}, inside: map[int]bool{}}
	for _, j := range members {
		b.statements = append(b.statements, o.statements[j])
		b.inside[o.statements[j].Target] = true
	}
	for _, down := range []bool{false, true} {
		b.down = down
		for at := range b.statements[0].Left.Idx {
			clear(b.place)
			b.place[b.statements[0].Target] = at
			if order := b.ordered(); order != nil {
				r := &Recurrence{Down: down}
				for _, s := range order {
					s.Recurrence, s.Over = r, b.over(s)
					r.Targets = append(r.Targets, s.Target)
				}
				return order, nil
			}
		}
	}
	return nil, fmt.Errorf("%s is needed before it is given, whichever index goes first", b.statements[0].Left.Text)
}

// blocks tests whether mutually dependent statements can be evaluated along an index, which has a position in
// the subscripts of each tensor.
type blocks struct {
	statements []*Statement
	inside     map[int]bool
	place      map[int]int // by tensor: the position of the index in its subscripts
	down       bool
}

// over returns the variable of statement s at the position of the index. It returns nil if that subscript is
// not a plain variable, or if the range of the variable depends on others.
func (b *blocks) over(s *Statement) *term.Variable {
	at, known := b.place[s.Target]
	if !known || s.Left.ByNumber || s.Left.Which != nil || at >= len(s.Left.Idx) || s.Left.Idx[at].Op != term.Index {
		return nil
	}
	v := s.Left.Idx[at].Var
	if len(v.Lo.Free())+len(v.Hi.Free()) > 0 || v.Lo.Reads() || v.Hi.Reads() {
		return nil
	}
	for i, x := range s.Left.Idx {
		if i != at && x.Uses(v) {
			return nil
		}
	}
	return v
}

// ordered returns the order of the statements at one value of the index, by a topological sort of their
// dependencies at that value. It returns nil if an element would be read before it is defined.
func (b *blocks) ordered() []*Statement {
	if !b.places() {
		return nil
	}
	same := make([][]int, len(b.statements)) // by statement: those whose results at the same value it reads
	for i, s := range b.statements {
		if s.Add || b.over(s) == nil || slices.ContainsFunc(b.statements[:i], func(o *Statement) bool { return o.Target == s.Target }) {
			return nil
		}
		fine := true
		b.reads(s, func(r *term.Read, holds []*term.Term) {
			switch b.when(r, b.over(s), holds) {
			case now:
				same[i] = append(same[i], slices.IndexFunc(b.statements, func(o *Statement) bool { return o.Target == r.Tensor }))
			case later:
				fine = false
			}
		})
		if !fine {
			return nil
		}
	}
	var out []*Statement
	done := make([]bool, len(b.statements))
	for len(out) < len(b.statements) {
		i := slices.IndexFunc(b.statements, func(s *Statement) bool {
			i := slices.Index(b.statements, s)
			return !done[i] && !slices.ContainsFunc(same[i], func(j int) bool { return !done[j] })
		})
		if i < 0 {
			return nil
		}
		done[i] = true
		out = append(out, b.statements[i])
	}
	return out
}

// places infers the position of the index in the subscripts of all tensors from its position in one tensor,
// by propagation through the reads. It returns false if a position is unknown.
func (b *blocks) places() bool {
	for range b.statements {
		for _, s := range b.statements {
			v := b.over(s)
			if v == nil {
				continue
			}
			b.reads(s, func(r *term.Read, holds []*term.Term) {
				if _, known := b.place[r.Tensor]; known {
					return
				}
				for _, moves := range []bool{true, false} { // what does not move with v may be before it, too
					for at, x := range r.Idx {
						b.place[r.Tensor] = at
						if x.Uses(v) == moves && b.when(r, v, holds) != later {
							return
						}
					}
				}
				delete(b.place, r.Tensor)
			})
		}
		if len(b.place) == len(b.inside) {
			return true
		}
	}
	return false
}

// reads calls visit for each element of a tensor of the block that s reads. holds lists the conditions under
// which s reads the element.
func (b *blocks) reads(s *Statement, visit func(r *term.Read, holds []*term.Term)) {
	var walk func(n *term.Term, holds []*term.Term)
	walk = func(n *term.Term, holds []*term.Term) {
		if n == nil {
			return
		}
		switch n.Op {
		case term.Choose:
			walk(n.Args[0], holds)
			walk(n.Args[1], append(slices.Clip(holds), term.Conjuncts(n.Args[0])...))
			walk(n.Args[2], holds)
			return
		case term.Element:
			r := n.Read
			for k := range r.Count {
				if !b.inside[r.Tensor+k] {
					continue
				}
				one := *r
				if one.Tensor += k; r.Count > 1 {
					one.ByNumber = true // of which nothing is known
				}
				visit(&one, holds)
			}
			walk(r.Which, holds)
			walk(r.Else, holds)
			for _, x := range r.Idx {
				walk(x, holds)
			}
			return
		case term.Reduce:
			r := n.Reduction
			for _, v := range r.Vars {
				walk(v.Lo, holds)
				walk(v.Hi, holds)
			}
			walk(r.Guard, holds)
			inside := append(slices.Clip(holds), term.Conjuncts(r.Guard)...)
			walk(r.Body, inside)
			walk(r.Number, inside)
			for _, x := range r.At {
				walk(x, holds)
			}
			return
		}
		for _, x := range n.Args {
			walk(x, holds)
		}
	}
	walk(s.Value, nil)
	walk(s.Guard, nil)
	for _, x := range s.Left.Idx {
		walk(x, nil)
	}
}

// moment is the time at which an element that a statement reads is defined, relative to the statement.
type moment uint8

const (
	before moment = iota // at an earlier value of the index
	now                  // at the same value
	later                // at a later value, or at one that may be later
)

// when returns the time at which the element that r reads is defined, for a statement that runs at value v of
// the index. Unknown times count as later.
func (b *blocks) when(r *term.Read, v *term.Variable, holds []*term.Term) moment {
	at, known := b.place[r.Tensor]
	if !known || r.ByNumber || at >= len(r.Idx) {
		return later
	}
	distance := term.Difference(v.Term(), r.Idx[at]) // of a read at a value before, at least 1
	if b.down {
		distance = term.Difference(r.Idx[at], v.Term())
	}
	switch distance = term.Norm(distance); {
	case distance.Is(0):
		return now
	case positive(distance, holds, deepest):
		return before
	}
	return later
}

// deepest bounds the depth of the search in positive.
const deepest = 4

// positive reports whether n >= 1 is provable where all conditions in holds hold. It compares n with the
// differences that the conditions bound, and substitutes bounds for variables, up to depth of them.
func positive(n *term.Term, holds []*term.Term, depth int) bool {
	if v, known := n.InUse(); known {
		return v >= 1
	}
	for _, c := range holds {
		if c.Op != term.Less && c.Op != term.AtMost || c.Args[0].Kind != term.Integer || c.Args[1].Kind != term.Integer {
			continue
		}
		least := 1 // of the greater number less the other one
		if c.Op == term.AtMost {
			least = 0
		}
		rest := term.Norm(term.Difference(n, term.Difference(c.Args[1], c.Args[0])))
		if more, known := rest.InUse(); known && more+least >= 1 {
			return true
		}
	}
	if depth == 0 {
		return false
	}
	for _, v := range n.Free() {
		step, _, linear := term.Linear(n, v)
		if !linear {
			continue
		}
		bounds := term.Operands(v.Lo, term.Max)
		switch by, known := step.InUse(); {
		case !known:
			continue
		case by < 0:
			bounds = nil
			for _, hi := range term.Operands(v.Hi, term.Min) {
				bounds = append(bounds, term.Difference(hi, term.Number(1)))
			}
		}
		for _, x := range bounds {
			if positive(term.Norm(n.Substitute(map[*term.Variable]*term.Term{v: x})), holds, depth-1) {
				return true
			}
		}
	}
	return false
}
