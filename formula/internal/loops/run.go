package loops

import (
	"sync"
	"sync/atomic"

	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/blas"
)

// stripLength is how many elements a strip has. The buffers of some strips fit the nearest cache.
const stripLength = 1024

// loopGroup is units whose loops share the values of some indices.
type loopGroup[T simd.Float] struct {
	shared []shared // the outermost first
	total  int      // how many values they have
	// byElement says that a part touches the elements of its values only.
	byElement bool
	block     int // how many values of the last one units take at a time
	units     []unit[T]
	kinds     []string // of the units' loops
	listed    []listed[T]
	work      int
	written   int  // how many bytes of elements the units give
	used      int  // and how many they use, these included
	past      bool // whether large parts write results past the caches

	transients []*transient // tensors of which parts keep blocks
	room       int          // the bytes of these blocks

	whole whole[T]      // the only unit, if it goes over all shared indices by itself; otherwise nil
	rows  *pointwise[T] // the only unit, if it runs several rows in one call; otherwise nil

	// flat is the compiled loop that the group consists of if it goes over flatLength consecutive elements,
	// in memory that stays where it is; otherwise nil.
	flat       *fusedLoop[T]
	flatLength int
}

// A part writes its results past the caches if its group gives and uses as many bytes as this at least, and
// if it gives leastPart itself. The caches do not hold so much until it is used, and memory that is written
// as a whole is then not read first. All parts of a group count, since they run at about the same time. Parts
// of chains of tasks, whose results are used while they are in a cache, are smaller. Tests change the bounds.
var leastWritten, leastUsed, leastPart = 8 << 20, 24 << 20, 1 << 20

// shared is an index that the units of a group share.
type shared struct {
	places []int // of the variable in each unit: units have variables of their own
	extent int
}

// unit is statements with loops of their own.
type unit[T simd.Float] interface {
	// run computes what the statements give where the last shared index is lo to hi-1. The other shared
	// indices are set.
	run(s *state[T], lo, hi int)
}

// whole is a unit that goes over all shared indices by itself.
type whole[T simd.Float] interface {
	// all computes what the statements give for the values lo to hi-1 of the shared indices, taken as one
	// number.
	all(s *state[T], lo, hi int)
}

// runner is code with memory.
type runner[T simd.Float] struct {
	code   *code[T]
	mem    []block[T]
	number uint64 // of all runners
	locals locals

	// spare is a state that no part uses. One part after the other takes it without a lock, which costs as
	// much as a small tensor.
	spare atomic.Pointer[state[T]]
	mu    sync.Mutex
	idle  []*state[T] // of further parts that ran at the same time
	own   *state[T]   // of runs that have one part
}

// runners is how many runners there are.
var runners atomic.Uint64

// take returns a state that no other part uses.
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

// newState returns a state with buffers for the registers. Units use the same ones, one after the other.
func (r *runner[T]) newState() *state[T] {
	c := r.code
	mem := r.mem
	if c.transient {
		mem = make([]block[T], len(mem))
	}
	s := &state[T]{vars: make([]int, len(c.places)), key: blas.Key{Task: r.number}, mem: mem, regs: make([][]T, c.registers), beside: make([]T, stripLength)}
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
	alone := lo == 0 && hi == total // so no other part runs meanwhile
	switch {
	case !alone:
		s = r.take()
	case s == nil:
		s = r.newState()
		r.own = s
	}
	s.step, s.key.Run = at.Step, at.Run
	if r.code.fails {
		return r.guarded(s, first, end, lo, hi, total)
	}
	r.groups(s, first, end, lo, hi, total)
	if !alone {
		r.give(s)
	}
	return nil
}

// guarded runs groups whose code may fail, and returns the error.
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

// groups runs a part of some groups.
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

// part runs units for a part of the values of the shared indices, with memory for transient tensors.
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

// part runs units for a part of the values of the shared indices.
func (g *loopGroup[T]) part(s *state[T], from, to int) {
	s.past = g.past && float64(to-from)/float64(g.total)*float64(g.written) >= float64(leastPart)
	g.run(s, from, to)
	if s.past {
		simd.Drain()
	}
}

// share returns where part i of equal parts of n begins.
func share(n, i, total int) int {
	if total == 0 {
		return 0
	}
	return (n*i + total - 1) / total
}

// run runs units for the values lo to hi-1 of the shared indices, taken as one number.
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

// noteUnit notes what the only unit of a group can do.
func (g *loopGroup[T]) noteUnit() {
	if len(g.units) > 1 || len(g.shared) == 0 {
		return
	}
	g.whole, _ = g.units[0].(whole[T])
	if u, ok := g.units[0].(*pointwise[T]); ok && len(g.shared) > 1 && u.rows != nil && len(u.outer.loops) == 0 &&
		g.shared[len(g.shared)-1].extent*u.inner.factor <= u.code.length {
		g.rows = u // with all values of the last shared index
	}
}

// noteFlat notes whether the group is one compiled loop that goes once over memory which stays where it is.
func (g *loopGroup[T]) noteFlat() {
	u, ok := g.units[0].(*pointwise[T])
	if !ok || len(g.units) > 1 || len(g.shared) != 1 || len(u.outer.loops) > 0 || !u.inner.lead || g.past {
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
		if len(x.offset.rest) > 0 { // the place may be another one in another step
			return
		}
	}
	g.flat, g.flatLength = l, n
}

// set sets the shared indices but the last one to their values: row is their number.
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

// nest is loops of which one may be that of the last shared index.
type nest[T simd.Float] struct{ loops []loop[T] }

type loop[T simd.Float] struct {
	place  int
	lo, hi func(*state[T]) int
	lead   bool // whether it goes over the values that the unit is run for
	factor int  // of these values, if other indices were joined to the shared one
}

// limits returns the range of a loop.
func (l *loop[T]) limits(s *state[T], lo, hi int) (int, int) {
	if l.lead {
		return lo * l.factor, hi * l.factor
	}
	return l.lo(s), l.hi(s)
}

// distance is how many rows ahead memory is asked for.
const distance = 8

// ahead asks for the memory of strips of n elements that a strip's code uses some values of the last loop
// later. At the first value it asks for that of all values between, too.
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

// each calls visit for all values of the loops from number k on.
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
