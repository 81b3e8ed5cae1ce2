package loops

import (
	"sync"
	"sync/atomic"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/blas"
)

// loopGroup is the code of a group: units that share their outermost loops.
type loopGroup[T simd.Float] struct {
	shared []shared // the outermost first
	total  int      // number of iterations of the shared loops
	parts  int      // maximum number of shares; 0 for any number
	// byElement says that the group is elementwise.
	byElement bool
	block     int // iterations of the last shared loop that a unit runs before the next unit does
	units     []unit[T]
	kinds     []string // of the units' loops
	listed    []listed[T]
	work      int
	written   int  // bytes of tensors that the units write
	used      int  // bytes of tensors that the units read or write
	past      bool // whether large shares use non-temporal stores

	transients []*transient // temporaries of which each share keeps a block
	room       int          // size of the blocks of all transients, in bytes

	whole whole[T]      // the only unit, if it runs all shared loops itself; otherwise nil
	rows  *pointwise[T] // the only unit, if it runs several rows in one call; otherwise nil

	// flat is the only fused loop of the group, if it runs over flatLength contiguous elements at addresses
	// that never change; otherwise nil.
	flat       *fusedLoop[T]
	flatLength int
}

// shared is a loop that the units of a group share.
type shared struct {
	places []int // slots of the index, by unit
	extent int
}

// unit is a loop nest of fused statements.
type unit[T simd.Float] interface {
	// run runs iterations [lo, hi) of the last shared loop. The indices of the other shared loops are set.
	run(s *state[T], lo, hi int)
}

// whole is a unit that runs all shared loops itself.
type whole[T simd.Float] interface {
	// all runs iterations [lo, hi) of the shared loops, numbered as those of one loop.
	all(s *state[T], lo, hi int)
}

// runner is code bound to memory.
type runner[T simd.Float] struct {
	code   *code[T]
	mem    []block[T]
	number uint64 // unique in the process
	locals locals

	// spare is a state that no share uses. Taking it needs no lock, which would take as long as the elements
	// of a small tensor.
	spare atomic.Pointer[state[T]]
	mu    sync.Mutex
	idle  []*state[T] // states of further concurrent shares
	own   *state[T]   // state of runs with one share
}

// runners is how many runners the process has created.
var runners atomic.Uint64

// take returns a state that no other share uses, which give takes back.
func (r *runner[T]) take() *state[T] {
	if s := r.spare.Swap(nil); s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		s := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return s
	}
	return r.newState()
}

func (r *runner[T]) give(s *state[T]) {
	if r.spare.CompareAndSwap(nil, s) {
		return
	}
	r.mu.Lock()
	r.idle = append(r.idle, s)
	r.mu.Unlock()
}

// newState returns a state with indices and buffers of its own.
func (r *runner[T]) newState() *state[T] { return r.stateWith(make([]int, len(r.code.places))) }

// stateWith returns a state with buffers, and with the values of indices in vars. Registers whose values are
// not needed at the same time share a buffer.
func (r *runner[T]) stateWith(vars []int) *state[T] {
	c := r.code
	mem := r.mem
	if c.transient {
		mem = make([]block[T], len(mem))
	}
	s := &state[T]{vars: vars, key: blas.Key{Task: r.number}, mem: mem, regs: make([][]T, c.registers), beside: make([]T, stripLength)}
	buffers := make([][]T, c.buffers)
	all := make([]T, c.buffers*stripLength)
	for i := range buffers {
		buffers[i] = all[i*stripLength : (i+1)*stripLength]
	}
	for _, p := range c.compiled {
		for reg, b := range p.buffer {
			s.regs[reg] = buffers[b]
		}
	}
	for _, reg := range c.accumulators {
		s.regs[reg] = make([]T, stripLength)
	}
	for _, l := range c.loops {
		s.arguments = append(s.arguments, l.Arguments())
	}
	s.numbers = make([]float64, c.numbers)
	for range c.integers {
		s.integers = append(s.integers, make([]int, stripLength))
	}
	for range c.apart {
		s.apart = append(s.apart, make([]int, stripLength))
	}
	if c.words {
		s.drawing = newDrawing()
	}
	s.double = stateInDouble(c.compiler, s.vars)
	if c.wide > 0 {
		s.wide = make([][]float64, c.wide)
		for i := range s.wide {
			s.wide[i] = make([]float64, stripLength)
		}
		s.wider = make([]float64, stripLength)
	}
	return s
}

func (r *runner[T]) Run(first, end int, at Time, lo, hi, total int) error {
	s := r.own
	alone := lo == 0 && hi == total // no other share runs concurrently
	switch {
	case !alone:
		s = r.take()
	case s == nil:
		s = r.newState()
		r.own = s
	}
	s.step, s.key.Run, s.stop = at.Step, at.Run, at.Stop
	if r.code.fails || s.stop != nil {
		return r.guarded(s, first, end, lo, hi, total)
	}
	r.groups(s, first, end, lo, hi, total)
	if !alone {
		r.give(s)
	}
	return nil
}

// guarded runs groups whose code may fail or stop, and returns a failure as an error.
func (r *runner[T]) guarded(s *state[T], first, end, lo, hi, total int) (err error) {
	defer func() {
		if lo > 0 || hi < total {
			r.give(s)
		}
		switch v := recover().(type) {
		case nil:
		case failure:
			err = v.err
		default:
			panic(v)
		}
	}()
	r.groups(s, first, end, lo, hi, total)
	return nil
}

// groups runs share [lo/total, hi/total) of groups first to end-1.
func (r *runner[T]) groups(s *state[T], first, end, lo, hi, total int) {
	for i, g := range r.code.groups[first:end] {
		from, to := 0, g.total
		if lo > 0 || hi < total {
			from, to = share(g.total, lo, total), share(g.total, hi, total)
		} else if g.flat != nil && s.pointed&(1<<(first+i)) != 0 {
			g.flat.again(s, g.flatLength)
			continue
		}
		if from >= to {
			continue
		}
		s.key.Phase = first + i
		if r.locals.bytes == 0 {
			r.part(s, g, from, to)
		} else {
			r.enter(s.key.Run)
			r.part(s, g, from, to)
			r.leave(s.key.Run, to-from)
		}
		if g.flat != nil && to-from == g.total && s == r.own {
			s.pointed |= 1 << (first + i)
		}
	}
}

// part runs iterations [from, to) of a group's shared loops, with memory for the blocks of transient
// temporaries.
func (r *runner[T]) part(s *state[T], g *loopGroup[T], from, to int) {
	if !r.code.transient {
		g.part(s, from, to)
		return
	}
	copy(s.mem, r.mem)
	if len(g.transients) == 0 {
		g.part(s, from, to)
		return
	}
	room := r.code.enter(s, g)
	g.part(s, from, to)
	rooms.give(room)
}

// part runs iterations [from, to) of the group's shared loops.
func (g *loopGroup[T]) part(s *state[T], from, to int) {
	s.past = g.past && float64(to-from)/float64(g.total)*float64(g.written) >= float64(leastPart)
	g.run(s, from, to)
	if s.past {
		simd.Drain()
	}
}

// share returns the first of n iterations that belongs to share i of total.
func share(n, i, total int) int {
	if total == 0 {
		return 0
	}
	return (n*i + total - 1) / total
}

// run runs iterations [lo, hi) of the shared loops, numbered as those of one loop.
func (g *loopGroup[T]) run(s *state[T], lo, hi int) {
	n := len(g.shared)
	if n == 0 {
		for _, u := range g.units {
			u.run(s, 0, 1)
		}
		return
	}
	if g.whole != nil {
		g.whole.all(s, lo, hi)
		return
	}
	last := g.shared[n-1].extent
	from, row := lo%last, lo/last
	g.set(s, row)
	for lo < hi {
		if rows := (hi - lo) / last; g.rows != nil && from == 0 && rows > 1 {
			extent := g.shared[n-2].extent
			first := row % extent
			rows = min(rows, extent-first)
			g.rows.several(s, last*g.rows.inner.factor, first, rows)
			lo, row = lo+rows*last, row+rows
			g.set(s, row)
			continue
		}
		to := min(from+g.block, last, from+hi-lo)
		g.begin(s, row, from)
		for _, u := range g.units {
			u.run(s, from, to)
		}
		lo += to - from
		if from = to; from == last {
			from, row = 0, row+1
			g.set(s, row)
		}
	}
}

// noteUnit sets whole and rows if the group has only one unit.
func (g *loopGroup[T]) noteUnit() {
	if len(g.units) > 1 || len(g.shared) == 0 {
		return
	}
	g.whole, _ = g.units[0].(whole[T])
	if u, ok := g.units[0].(*pointwise[T]); ok && len(g.shared) > 1 && u.rows != nil && len(u.outer.loops) == 0 &&
		g.shared[len(g.shared)-1].extent*u.inner.factor <= u.code.length {
		g.rows = u // including all iterations of the last shared loop
	}
}

// noteFlat sets flat if the group is one fused loop at addresses that never change.
func (g *loopGroup[T]) noteFlat() {
	u, ok := g.units[0].(*pointwise[T])
	if !ok || len(g.units) > 1 || len(g.shared) != 1 || len(u.outer.loops) > 0 || !u.inner.lead || u.elements > 1 || u.to != nil || g.past {
		return
	}
	n := g.total * u.inner.factor
	if n > u.code.length {
		return
	}
	l := u.code.only()
	if l == nil || len(l.lanes) > 0 || len(l.outputs) > 0 || len(l.sums) > 0 {
		return
	}
	for _, x := range l.inputs {
		if u.code.parts[x.register] == nil {
			return
		}
	}
	for _, x := range l.stores {
		if len(x.offset.Rest) > 0 { // the address may differ in another step
			return
		}
	}
	g.flat, g.flatLength = l, n
}

// set sets the indices of all shared loops except the last: row is the row-major number of their iteration.
func (g *loopGroup[T]) set(s *state[T], row int) {
	for i := len(g.shared) - 2; i >= 0; i-- {
		d := &g.shared[i]
		v := row % d.extent
		row /= d.extent
		for _, p := range d.places {
			s.vars[p] = v
		}
	}
}

// nest is a loop nest. One of its loops may be the last shared one.
type nest[T simd.Float] struct{ loops []loop[T] }

type loop[T simd.Float] struct {
	place  int
	lo, hi func(*state[T]) int
	lead   bool // whether it is the last shared loop
	factor int  // iterations that were coalesced into one iteration of the shared loop
}

// limits returns the range of a loop's index. lo and hi are those of the last shared loop.
func (l *loop[T]) limits(s *state[T], lo, hi int) (int, int) {
	if l.lead {
		return lo * l.factor, hi * l.factor
	}
	return l.lo(s), l.hi(s)
}

// ahead calls the prefetches of code for a strip of n elements that runs distance iterations of the last loop
// later. At the first iteration it also calls them for the iterations until then.
func (p *nest[T]) ahead(s *state[T], code *strip[T], n, lo, hi int) {
	if len(code.ahead) == 0 || len(p.loops) == 0 {
		return
	}
	l := &p.loops[len(p.loops)-1]
	now := s.vars[l.place]
	first, end := l.limits(s, lo, hi)
	next := now + distance
	if now == first {
		next = now
	}
	for ; next <= now+distance && next < end; next++ {
		s.vars[l.place] = next
		for _, f := range code.ahead {
			f(s, n)
		}
	}
	s.vars[l.place] = now
}

// each calls visit for all iterations of the loops from number k on. lo and hi are those of the last shared
// loop.
func (p *nest[T]) each(s *state[T], k, lo, hi int, visit func(*state[T])) {
	if k == len(p.loops) {
		visit(s)
		return
	}
	l := &p.loops[k]
	a, b := l.limits(s, lo, hi)
	for i := a; i < b; i++ {
		s.vars[l.place] = i
		p.each(s, k+1, lo, hi, visit)
	}
}
