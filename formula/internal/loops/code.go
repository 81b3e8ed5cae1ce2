package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// strip is code that is executed for a strip: straight-line instructions with forward branches.
type strip[T simd.Float] struct {
	over *term.Variable // the index that the strip runs over
	code []instruction[T]
	// listed is the code before fusion, for listings; nil if there will be none.
	listed []instruction[T]
	views  map[int]bool // registers that point into the memory of tensors
	// ahead holds functions that prefetch n elements at data-dependent addresses, which the hardware
	// prefetcher cannot predict.
	ahead   []func(s *state[T], n int)
	lasting []int               // registers whose buffers hold values from one execution of the code to the next
	buffer  map[int]int         // register that is no view -> number of its buffer
	parts   map[int]*address[T] // register that is a view -> the memory to which it points
	// replaced holds registers whose chain of operations a longer chain repeats, with its result in another
	// register.
	replaced map[int]bool
	// numbers holds the owners of memory that scalar code reads.
	numbers map[int]bool
	// accumulate says that reductions use the accumulators of the state.
	accumulate bool
	// length is the maximum number of elements of an execution.
	length int
	// reach is the most elements that an execution may have by the range of the index; 0 if it is unknown.
	reach int
}

// apart reports whether no execution accesses an element at both of two addresses of the same memory: their
// distance is a constant that no execution spans. So recurrences read what they gave at the step before.
func (p *strip[T]) apart(a, b *address[T]) bool {
	between := a.offset.Plus(b.offset, -1)
	return p.reach > 0 && a.typ == b.typ && a.step == b.step && between.Constant() && max(between.Base, -between.Base) >= p.reach*max(a.step, -a.step)
}

// sums returns the number of sums that the code's instructions accumulate in machine registers.
func (p *strip[T]) sums() int {
	n := 0
	for _, in := range p.code {
		n += in.sums
	}
	return n
}

// limit sets the maximum number of elements of an execution: stripLength if the code uses buffers of a state,
// and otherwise loopLength.
func (p *strip[T]) limit() {
	p.length = loopLength
	for _, in := range p.code {
		if len(p.buffer) > 0 || in.op != opBranch && in.op != opView && in.op != opLoop {
			p.length = stripLength
		}
	}
}

// only returns the fused loop of code that consists of one fused loop and of views at affine offsets. It
// returns nil for other code.
func (p *strip[T]) only() *fusedLoop[T] {
	var l *fusedLoop[T]
	for i := range p.code {
		switch in := &p.code[i]; {
		case in.op == opView && in.from.fixed:
		case in.op == opLoop && l == nil:
			l = in.loop
		default:
			return nil
		}
	}
	return l
}

// writer returns the number of the instruction that overwrites the memory from which instruction i, an
// opKeep, makes a copy.
func (p *strip[T]) writer(i int) int {
	for i < len(p.code) && p.code[i].op == opKeep {
		i++
	}
	return i
}

// last returns, by register, the number of the last instruction that uses it.
func (p *strip[T]) last() map[int]int {
	last := map[int]int{}
	for i, in := range p.code {
		for _, r := range in.uses {
			last[r] = i
		}
	}
	return last
}

// dropKept removes opKeep instructions whose copy nothing reads after the memory is overwritten.
func (p *strip[T]) dropKept() {
	last := p.last()
	p.remove(func(i int) bool { return p.code[i].op == opKeep && last[p.code[i].uses[0]] <= p.writer(i) })
}

// assign allocates buffers to registers by live ranges, and returns the number of buffers.
func (p *strip[T]) assign() int {
	last := p.last()
	p.buffer = map[int]int{}
	var free []int
	count := 0
	take := func(r int) {
		if _, taken := p.buffer[r]; taken || p.views[r] {
			return
		}
		if len(free) == 0 {
			free = append(free, count)
			count++
		}
		p.buffer[r] = free[len(free)-1]
		free = free[:len(free)-1]
	}
	lasting := slices.Clone(p.lasting)
	for _, in := range p.code {
		lasting = append(lasting, in.holds...)
	}
	for _, r := range lasting {
		take(r)
		last[r] = len(p.code)
	}
	for i, in := range p.code {
		if in.def >= 0 {
			take(in.def)
		}
		for _, r := range in.defs {
			take(r)
		}
		for _, r := range in.uses {
			if b, taken := p.buffer[r]; taken && last[r] == i {
				free = append(free, b)
				last[r] = -1 // free it once, also if it is used twice
			}
		}
	}
	return count
}
