package loops

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// sequence is code with recurrences: parts that run one after the other. Statements between recurrences are
// parts like other code. A recurrence is a group of its own.
type sequence[T simd.Float] struct {
	parts  []Code
	groups []groupOf     // of all parts
	shared map[int]int64 // bytes of the temporaries that several parts access, and those of recurrences
}

// groupOf is a group of a part.
type groupOf struct{ part, group int }

// compileParts compiles statements of which some are recurrences.
func compileParts[T simd.Float](p *program.Program, statements []*program.Statement, tensors []Tensor, o Options) (Code, error) {
	out := &sequence[T]{shared: map[int]int64{}}
	parts := partsOf(statements)
	tensors = slices.Clone(tensors)
	o.exacts, o.extremes = map[int]bool{}, map[int]program.Ends{}
	crossing, err := crossing(p, parts, tensors, dtype.Of[T](), o.exacts)
	if err != nil {
		return nil, err
	}
	for _, t := range crossing {
		out.shared[t] = int64(elements(p.Tensors[t]) * tensors[t].Type.Size())
	}
	for _, part := range parts {
		var code Code
		var err error
		if part[0].Recurrence == nil {
			own := *p
			own.Tensors = slices.Clone(p.Tensors)
			code, err = compile[T](&own, part, tensors, o)
		} else {
			code, err = compileRecurrence[T](p, part, tensors, o)
		}
		if err != nil {
			return nil, err
		}
		for g := range code.Groups() {
			out.groups = append(out.groups, groupOf{len(out.parts), g})
		}
		out.parts = append(out.parts, code)
		for range part { // those of a recurrence depend on each other
			for _, s := range part {
				o.extremes[s.Target] = o.extremes[s.Target].Or(program.EndsOf(s.Value, o.extremes, nil))
			}
		}
	}
	return out, nil
}

// partsOf divides statements into parts that run one after the other: each recurrence, and the statements
// between two of them.
func partsOf(statements []*program.Statement) (parts [][]*program.Statement) {
	for i := 0; i < len(statements); {
		block := program.Together(statements, i)
		if last := len(parts) - 1; block[0].Recurrence == nil && last >= 0 && parts[last][0].Recurrence == nil {
			parts[last] = append(parts[last], block...)
		} else {
			parts = append(parts, slices.Clone(block))
		}
		i += len(block)
	}
	return parts
}

// crossing lists the temporaries that several parts access, and those that a recurrence gives: one value of
// its index reads what another one gave. It gives them types and notes that they are not local to a part:
// they have memory of the whole code. exacts, if not nil, gets those of real numbers that are integers, which
// are then of type float64.
func crossing(p *program.Program, parts [][]*program.Statement, tensors []Tensor, own dtype.Type, exacts map[int]bool) (out []int, err error) {
	users := make([]int, len(tensors)) // the part that accesses a tensor, and 1; -1 for several
	note := func(t, part int) {
		if users[t] == 0 {
			users[t] = part + 1
		} else if users[t] != part+1 {
			users[t] = -1
		}
	}
	for i, part := range parts {
		for _, s := range part {
			if note(s.Target, i); s.Recurrence != nil {
				users[s.Target] = -1
			}
			s.Reads(func(r *term.Read) {
				for k := range r.Count {
					note(r.Tensor+k, i)
				}
			})
		}
	}
	for i, part := range parts {
		for _, s := range part {
			t := &tensors[s.Target]
			if !t.Local || users[s.Target] >= 0 {
				continue
			}
			if t.Planned { // it has memory of its own
				t.Local = false
				continue
			}
			if t.Memory != s.Target {
				return nil, fmt.Errorf("%s: there is no code for a recurrence in shared memory", parts[i][0])
			}
			switch l := p.Tensors[s.Target]; {
			case t.Type != dtype.Invalid:
			case l.Unsigned:
				t.Type = dtype.U64
			case l.Kind == term.Integer:
				t.Type = dtype.I64
			case l.Kind == term.Boolean:
				t.Type = dtype.Bool
			case exacts != nil && OfIntegers(s.Value, exacts):
				t.Type, exacts[s.Target] = dtype.F64, true
			default:
				t.Type = own
			}
			t.Local = false
			out = append(out, s.Target)
		}
	}
	return out, nil
}

func (q *sequence[T]) Groups() int { return len(q.groups) }

func (q *sequence[T]) of(group int) (Code, int) {
	g := q.groups[group]
	return q.parts[g.part], g.group
}

func (q *sequence[T]) Work(group int) int {
	c, g := q.of(group)
	return c.Work(g)
}

func (q *sequence[T]) Total(group int) int {
	c, g := q.of(group)
	return c.Total(g)
}

func (q *sequence[T]) Before(int) bool { return false }

func (q *sequence[T]) ByElement(group int) bool {
	c, g := q.of(group)
	return c.ByElement(g)
}

func (q *sequence[T]) RowByRow() error { return errRows }

// errRows says why rows of recurrences are not computed by themselves.
var errRows = fmt.Errorf("the loops of a recurrence go over all rows")

func (q *sequence[T]) Kinds() []string {
	var out []string
	for _, c := range q.parts {
		for _, k := range c.Kinds() {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

func (q *sequence[T]) List(portable bool) (string, Counts) {
	var b strings.Builder
	var n Counts
	for _, c := range q.parts {
		text, more := c.List(portable)
		b.WriteString(text)
		n.Add(more)
	}
	return b.String(), n
}

func (q *sequence[T]) Bind(memory [][]byte) Runner {
	all := slices.Clone(memory)
	for t, bytes := range q.shared {
		for len(all) <= t {
			all = append(all, nil)
		}
		words := make([]uint64, (bytes+7)/8) // aligned for all types
		all[t] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), bytes)
	}
	out := &sequenceRunner{groups: q.groups}
	for _, c := range q.parts {
		out.parts = append(out.parts, c.Bind(all))
	}
	return out
}

// sequenceRunner is a sequence with memory.
type sequenceRunner struct {
	parts  []Runner
	groups []groupOf
}

func (r *sequenceRunner) Run(first, end int, at Time, lo, hi, total int) error {
	for first < end {
		g := r.groups[first]
		n := 1
		for first+n < end && r.groups[first+n].part == g.part {
			n++
		}
		if err := r.parts[g.part].Run(g.group, g.group+n, at, lo, hi, total); err != nil {
			return err
		}
		first += n
	}
	return nil
}

// recurrence is a block of statements that need each other. Its loops run for one value of an index after
// the other, which they see as the value of an outer loop. There is code for the values at which all reads
// are inside, and for those before and behind them.
type recurrence[T simd.Float] struct {
	name   string
	spans  []span[T]
	down   bool
	rows   int // iterations of the outermost loop of all groups that need nothing of each other; or 1
	rounds int // of how many rows one round goes over all values of the index
	work   int
}

// span is the code of some values of an index.
type span[T simd.Float] struct {
	lo, hi int
	place  int // the slot of the index
	code   *code[T]
}

// compileRecurrence compiles a block.
func compileRecurrence[T simd.Float](p *program.Program, block []*program.Statement, tensors []Tensor, o Options) (Code, error) {
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
		out.rows = extent(row)
		for _, x := range out.spans {
			for _, g := range x.code.groups {
				if !x.code.byRow || len(g.shared) == 0 || g.total%out.rows != 0 {
					out.rows = 1
				}
			}
		}
	}
	each := 1 // elements of a row at one value of the index
	for _, s := range block {
		each = max(each, box(slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return v == s.Over }))/max(out.rows, 1))
	}
	out.rounds = max(roundElements/each, 1)
	return out, nil
}

// compileSpan compiles the code of a block for values of its index from lo to below hi. row is the outermost
// index of all statements, if each reads the others at its own value of it.
func compileSpan[T simd.Float](p *program.Program, block []*program.Statement, tensors []Tensor, o Options, lo, hi int, row *term.Variable) (span[T], error) {
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

// stepsOf returns how many values the index of a block has.
func stepsOf(block []*program.Statement) (int, error) {
	n, known := block[0].Over.Hi.Known()
	for _, s := range block {
		if hi, same := s.Over.Hi.Known(); !known || !same || hi != n || !s.Over.Lo.Is(0) {
			return 0, fmt.Errorf("%s: there is no code for a recurrence over several ranges", s)
		}
	}
	return max(n, 0), nil
}

// step returns the statements of a block at one value of its index, over. more may change the indices of a
// statement, and adds what takes their place.
func step(block []*program.Statement, over *term.Variable, more func(s *program.Statement, to map[*term.Variable]*term.Term)) (out []*program.Statement, err error) {
	for _, s := range block {
		to := map[*term.Variable]*term.Term{s.Over: over.Term()}
		m, left := *s, *s.Left
		m.Recurrence, m.Over, m.Left = nil, nil, &left
		m.Vars = slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return v == s.Over })
		for _, v := range m.Vars {
			if v.Lo.Uses(s.Over) || v.Hi.Uses(s.Over) {
				return nil, fmt.Errorf("%s: there is no code for a range that depends on the index of a recurrence", s)
			}
		}
		more(&m, to)
		m.Value, m.Guard, left.Idx = s.Value.Substitute(to), s.Guard.Substitute(to), nil
		for _, x := range s.Left.Idx {
			left.Idx = append(left.Idx, x.Substitute(to))
		}
		out = append(out, &m)
	}
	return out, nil
}

// rowOf returns an index of all statements of a block, the outermost one but for that of the block, at whose
// own value each of them reads what the block gives: values of it can be divided among workers. It returns
// nil if there is none. The name of the index is one that no other has.
func rowOf(block []*program.Statement) *term.Variable {
	vars := func(s *program.Statement) []*term.Variable {
		return slices.DeleteFunc(slices.Clone(s.Vars), func(v *term.Variable) bool { return v == s.Over })
	}
	place := map[int]int{} // by tensor: where the index stands
	for _, s := range block {
		own := vars(s)
		if len(own) == 0 || s.Left.ByNumber {
			return nil
		}
		at := slices.IndexFunc(s.Left.Idx, func(x *term.Term) bool { return x.Op == term.Index && x.Var == own[0] })
		if at < 0 || !own[0].Lo.Is(0) || extent(own[0]) != extent(vars(block[0])[0]) || extent(own[0]) < 2 || IsOpen(own[0]) ||
			slices.ContainsFunc(s.Left.Idx[at+1:], func(x *term.Term) bool { return x.Uses(own[0]) }) {
			return nil
		}
		place[s.Target] = at
	}
	fine := true
	for _, s := range block {
		own := vars(s)[0]
		s.Reads(func(r *term.Read) {
			for k := range r.Count {
				if at, is := place[r.Tensor+k]; is {
					fine = fine && !r.ByNumber && at < len(r.Idx) && r.Idx[at].Op == term.Index && r.Idx[at].Var == own
				}
			}
		})
	}
	if !fine {
		return nil
	}
	v := vars(block[0])[0]
	return &term.Variable{Name: v.Name + "*", Lo: v.Lo, Hi: v.Hi}
}

// rowsAt returns the indices of the statements of a block that stand for one index of all of its tensors, at
// whose own value each of them reads what the block gives. The index is that in place at of the first
// statement's left side. It returns nil if there is no such index.
func rowsAt(block []*program.Statement, at int) map[*program.Statement]*term.Variable {
	place := map[int]int{block[0].Target: at} // by tensor: where the index stands
	own := map[*program.Statement]*term.Variable{}
	inside := map[int]bool{}
	for _, s := range block {
		inside[s.Target] = true
	}
	plain := func(r *term.Read, at int) *term.Variable {
		if r.ByNumber || r.Which != nil || at >= len(r.Idx) || r.Idx[at].Op != term.Index {
			return nil
		}
		return r.Idx[at].Var
	}
	for range block { // what a statement knows says where the index stands in what it reads
		for _, s := range block {
			at, known := place[s.Target]
			if !known {
				continue
			}
			v := plain(s.Left, at)
			if v == nil || v == s.Over || !slices.Contains(s.Vars, v) || !v.Lo.Is(0) || IsOpen(v) {
				return nil
			}
			for i, x := range s.Left.Idx {
				if i != at && x.Uses(v) {
					return nil
				}
			}
			own[s] = v
			s.Reads(func(r *term.Read) {
				if _, known := place[r.Tensor]; !known && inside[r.Tensor] {
					if i := slices.IndexFunc(r.Idx, func(x *term.Term) bool { return x.Op == term.Index && x.Var == v }); i >= 0 {
						place[r.Tensor] = i
					}
				}
			})
		}
	}
	for _, s := range block {
		v := own[s]
		if v == nil || extent(v) != extent(own[block[0]]) {
			return nil
		}
		for _, w := range s.Vars {
			if w != v && (w.Lo.Uses(v) || w.Hi.Uses(v)) {
				return nil
			}
		}
		fine := true
		s.Reads(func(r *term.Read) {
			for k := range r.Count {
				if inside[r.Tensor+k] {
					fine = fine && r.Count == 1 && plain(r, place[r.Tensor]) == v
				}
			}
		})
		if !fine {
			return nil
		}
	}
	return own
}

// reachOf returns how far before and behind the value of a block's index its statements read, where the
// distance is a number: at the beginning and at the end of the index, such reads may be outside.
func reachOf(block []*program.Statement) (before, behind int) {
	for _, s := range block {
		visit := func(x *term.Term) {
			if d, known := term.Norm(term.Difference(x, s.Over.Term())).Known(); known && max(d, -d) <= mostReach {
				before, behind = max(before, -d), max(behind, d)
			}
		}
		s.Reads(func(r *term.Read) {
			for _, x := range r.Idx {
				visit(x)
			}
		})
		s.Value.Walk(func(n *term.Term) {
			if (n.Op == term.Less || n.Op == term.AtMost || n.Op == term.Equal) && n.Args[0].Kind == term.Integer && n.Args[1].Kind == term.Integer {
				visit(n.Args[0])
				visit(n.Args[1])
			}
		})
	}
	return before, behind
}

func (r *recurrence[T]) Groups() int { return 1 }

func (r *recurrence[T]) Work(int) int { return r.work }

func (r *recurrence[T]) Total(int) int { return r.rows }

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

// List lists the code of each span: behind one another, as they are compiled.
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

// recurrenceRunner is a recurrence with memory.
type recurrenceRunner[T simd.Float] struct {
	of    *recurrence[T]
	spans []*runner[T]
	mu    sync.Mutex
	idle  [][]*state[T] // states of shares that do not run, by span
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

// Run runs a share of the rows: all values of the index for some of them, and then for others.
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
		s.step, s.key.Run = at.Step, at.Run
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

// span runs rows for each value of the index in a span.
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

// noteSteps finds, for each memory, by how much an access moves with the index of a recurrence. Accesses to
// memory that all move alike are compared at one value of the index.
func (c *compiler[T]) noteSteps(statements []*statement) {
	c.steps = map[int]int{}
	uneven := map[int]bool{}
	over := c.options.over
	for _, s := range statements {
		note := func(r *term.Read) {
			f := accessOf(r).offset
			for k := range r.Count {
				m := c.tensors[r.Tensor+k].Memory
				was, known := c.steps[m]
				c.steps[m] = f.factor(over)
				uneven[m] = uneven[m] || f.hidden(over) || known && was != c.steps[m]
			}
		}
		for _, n := range append([]*term.Term{s.value, s.guard, s.left.Which}, s.left.Idx...) {
			if n != nil {
				reads(n, note)
			}
		}
		left := *s.left
		left.Tensor, left.Count = s.target, 1
		note(&left)
	}
	maps.DeleteFunc(c.steps, func(m int, _ int) bool { return uneven[m] })
}

// byRow reports whether the outermost index of all statements is that of rows.
func byRow(statements []*statement, row string) bool {
	return row != "" && !slices.ContainsFunc(statements, func(s *statement) bool {
		return len(s.vars) == 0 || s.vars[0].Name != row || extent(s.vars[0]) != extent(statements[0].vars[0])
	})
}
