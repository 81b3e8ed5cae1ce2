package loops

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// recurrence is code for a block of statements that read each other's results at other values of an index.
// All loops of the block run for one value of the index after the other; to them it is an outer index. Values
// at which all reads are in bounds have code of their own, and so have those before and those behind.
type recurrence[T simd.Float] struct {
	name   string
	spans  []span[T]
	down   bool
	rows   int // iterations of the outermost loop of all groups, if they are independent of each other; otherwise 1
	rounds int // rows that run for all values of the index before the next rows do
	parts  int // maximum number of shares
	work   int
}

// span is the code for a range of values of the index.
type span[T simd.Float] struct {
	lo, hi int
	place  int // the slot of the index
	code   *code[T]
}

// compileRecurrence compiles a block of statements that are a recurrence.
func compileRecurrence[T simd.Float](p *program.Program, block []*program.Statement, tensors []rewrite.Tensor, o Options) (Code, error) {
	over := block[0].Over
	n, err := stepsOf(block)
	if err != nil {
		return nil, err
	}
	o.Ordered, o.Rows, o.Before, o.Steps = true, 0, nil, 1
	out := &recurrence[T]{name: over.Name, down: block[0].Recurrence.Down, rows: 1}
	row := rowOf(block)
	before, behind := reachOf(block)
	before = min(before, n)
	behind = max(n-behind, before)
	for _, x := range [][2]int{{0, before}, {before, behind}, {behind, n}} {
		if x[0] >= x[1] {
			continue
		}
		c, err := compileSpan[T](p, block, tensors, o, x[0], x[1], row)
		if err != nil {
			return nil, err
		}
		out.spans = append(out.spans, c)
		for _, g := range c.code.groups {
			out.work += g.work * (x[1] - x[0])
		}
	}
	if row != nil {
		out.rows = rewrite.Extent(row)
		for _, x := range out.spans {
			for _, g := range x.code.groups {
				if !x.code.byRow || len(g.shared) == 0 || g.total%out.rows != 0 {
					out.rows = 1
				}
			}
		}
	}
	each, least := 1, math.MaxInt // elements of a row at one value of the index
	for _, s := range block {
		n := rewrite.Box(slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return v == s.Over }))
		each, least = max(each, n/max(out.rows, 1)), min(least, n)
	}
	out.parts = max(least/partAtOnce, 1)
	if out.rows > 1 && ownFactors(block) {
		out.parts = max(out.parts, min(out.work/partOfRows, out.rows))
	}
	out.rounds = max(roundElements/each, 1)
	for _, x := range out.spans {
		for _, g := range x.code.groups {
			for _, u := range g.units {
				if m, ok := u.(*matrices[T]); ok && m.rows.lead {
					out.rounds = max(out.rounds, blocks.rows) // each of which takes all of the other factor
				}
			}
		}
	}
	return out, nil
}

// ownFactors reports whether the reductions of a recurrence that has rows read only elements of their own
// row. No share then reads what another one does. Directions of a network, which have weights of their own,
// are such rows.
func ownFactors(block []*program.Statement) bool {
	some, own := false, true
	for _, s := range block {
		row := s.Vars[slices.IndexFunc(s.Vars, func(v *term.Variable) bool { return v != s.Over })]
		s.Value.Walk(func(n *term.Term) {
			if n.Op != term.Reduce {
				return
			}
			some = true
			n.Reduction.Body.Walk(func(m *term.Term) {
				own = own && (m.Op != term.Element || m.Uses(row))
			})
		})
	}
	return some && own
}

// compileSpan compiles the code of a block for values lo to hi-1 of its index. row is an index that becomes
// the outermost one of all statements, which read each other only at the same value of it; or nil.
func compileSpan[T simd.Float](p *program.Program, block []*program.Statement, tensors []rewrite.Tensor, o Options, lo, hi int, row *term.Variable) (span[T], error) {
	over := &term.Variable{Name: block[0].Over.Name, Lo: term.Number(lo), Hi: term.Number(hi)}
	statements, err := step(block, over, func(s *program.Statement, to map[*term.Variable]*term.Term) {
		if row != nil {
			own := &term.Variable{Name: row.Name, Lo: row.Lo, Hi: row.Hi}
			to[s.Vars[0]], s.Vars[0] = own.Term(), own
		}
	})
	if err != nil {
		return span[T]{}, err
	}
	own := *p
	own.Tensors = slices.Clone(p.Tensors)
	o.over = over
	if row != nil {
		o.row = row.Name
	}
	c, err := compile[T](&own, statements, tensors, o)
	if err != nil {
		return span[T]{}, err
	}
	x := c.(*code[T])
	return span[T]{lo, hi, x.place(over), x}, nil
}

func (r *recurrence[T]) Groups() int { return 1 }

func (r *recurrence[T]) Work(int) int { return r.work }

func (r *recurrence[T]) Total(int) int { return r.rows }

func (r *recurrence[T]) Parts(int) int { return r.parts }

func (r *recurrence[T]) Before(int) bool { return false }

func (r *recurrence[T]) ByElement(int) bool { return false }

func (r *recurrence[T]) RowByRow() error { return errRows }

func (r *recurrence[T]) Kinds() []string {
	out := []string{"recurrences"}
	for _, x := range r.spans {
		for _, k := range x.code.Kinds() {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

// List lists the code of the spans one after the other, the first values first.
func (r *recurrence[T]) List(portable bool) (string, Counts) {
	var b strings.Builder
	var n Counts
	for _, x := range r.spans {
		fmt.Fprintf(&b, "for each %s in %d .. %d", r.name, x.lo, x.hi)
		if r.down {
			b.WriteString(", from the last one")
		}
		text, more := x.code.List(portable)
		b.WriteString(":\n" + text)
		n.Add(more)
	}
	return b.String(), n
}

func (r *recurrence[T]) Bind(memory [][]byte) Runner {
	out := &recurrenceRunner[T]{of: r}
	for _, x := range r.spans {
		out.spans = append(out.spans, x.code.Bind(memory).(*runner[T]))
	}
	return out
}

// recurrenceRunner is a recurrence bound to memory.
type recurrenceRunner[T simd.Float] struct {
	of    *recurrence[T]
	spans []*runner[T]
	mu    sync.Mutex
	idle  [][]*state[T] // states that no share uses, each a list by span
}

func (r *recurrenceRunner[T]) take() []*state[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		s := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return s
	}
	var out []*state[T]
	for _, x := range r.spans {
		out = append(out, x.newState())
	}
	return out
}

func (r *recurrenceRunner[T]) give(s []*state[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, s)
}

// Run runs a share of the rows: some rows for all values of the index, and then the next rows.
func (r *recurrenceRunner[T]) Run(first, end int, at Time, lo, hi, total int) (err error) {
	if first >= end || r.of.rows == 0 {
		return nil
	}
	from, to := share(r.of.rows, lo, total), share(r.of.rows, hi, total)
	if from >= to {
		return nil
	}
	states := r.take()
	defer func() {
		r.give(states)
		switch v := recover().(type) {
		case nil:
		case failure:
			err = v.err
		default:
			panic(v)
		}
	}()
	for _, s := range states {
		s.step, s.key.Run, s.stop = at.Step, at.Run, at.Stop
	}
	for from < to {
		until := min(from+r.of.rounds, to)
		for i := range r.of.spans {
			if r.of.down {
				i = len(r.of.spans) - 1 - i
			}
			r.span(i, states[i], from, until)
		}
		from = until
	}
	return nil
}

// span runs rows [from, to) for each value of the index in span i.
func (r *recurrenceRunner[T]) span(i int, s *state[T], from, to int) {
	x := &r.of.spans[i]
	first, step := x.lo, 1
	if r.of.down {
		first, step = x.hi-1, -1
	}
	for n := x.lo; n < x.hi; n++ {
		s.vars[x.place] = first
		for g, group := range x.code.groups {
			s.key.Phase = first*len(x.code.groups) + g // a copy of a factor is that of one value
			if lo, hi := share(group.total, from, r.of.rows), share(group.total, to, r.of.rows); lo < hi {
				group.part(s, lo, hi)
			}
		}
		first += step
	}
}

// noteSteps computes, by memory, how many elements accesses move from one value of a recurrence's index to
// the next. If all accesses to memory move alike, they are compared at one value of the index.
func (c *compiler[T]) noteSteps(statements []*rewrite.Statement) {
	c.steps = map[int]int{}
	uneven := map[int]bool{}
	over := c.options.over
	for _, s := range statements {
		note := func(r *term.Read) {
			f := rewrite.AccessOf(r).Offset
			for k := range r.Count {
				m := c.tensors[r.Tensor+k].Memory
				was, known := c.steps[m]
				c.steps[m] = f.Factor(over)
				uneven[m] = uneven[m] || f.Hidden(over) || known && was != c.steps[m]
			}
		}
		for _, n := range append([]*term.Term{s.Value, s.Guard, s.Left.Which}, s.Left.Idx...) {
			if n != nil {
				rewrite.Reads(n, note)
			}
		}
		left := *s.Left
		left.Tensor, left.Count = s.Target, 1
		note(&left)
	}
	maps.DeleteFunc(c.steps, func(m int, _ int) bool { return uneven[m] })
}

// byRow reports whether the outermost index of all statements enumerates rows, which row names.
func byRow(statements []*rewrite.Statement, row string) bool {
	return row != "" && !slices.ContainsFunc(statements, func(s *rewrite.Statement) bool {
		return len(s.Vars) == 0 || s.Vars[0].Name != row || rewrite.Extent(s.Vars[0]) != rewrite.Extent(statements[0].Vars[0])
	})
}
