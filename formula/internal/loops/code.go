package loops

import (
	"slices"

	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// strip is the code of a strip: straight-line instructions with forward branches.
type strip[T simd.Float] struct {
	over *term.Variable // the index that the strip runs over
	code []instruction[T]
	// listed is the code before fusion, if it will be listed.
	listed []instruction[T]
	views  map[int]bool // registers that point into the memory of tensors
	// ahead prefetches data-dependent addresses of strips of n elements, which the hardware prefetcher
	// cannot predict.
	ahead   []func(s *state[T], n int)
	lasting []int               // registers that live across executions of the code
	buffer  map[int]int         // buffer of each other register
	parts   map[int]*address[T] // the memory to which views point
	// replaced are registers that a longer chain of operations recomputes.
	replaced map[int]bool
	// numbers are the memories that scalar code reads.
	numbers map[int]bool
	// accumulate says that reductions use the accumulators of the state.
	accumulate bool
	// length is the maximum number of elements of an execution.
	length int
}

// sums returns the number of sums that the code computes in registers of its own.
func (p *strip[T]) sums() int {
	n := 0
	for _, in := range p.code {
		n += in.sums
	}
	return n
}

// limit sets the length of the code: stripLength if it uses buffers of a state.
func (p *strip[T]) limit() {
	p.length = loopLength
	for _, in := range p.code {
		if len(p.buffer) > 0 || in.op != opBranch && in.op != opView && in.op != opLoop {
			p.length = stripLength
		}
	}
}

// only returns the fused loop of code that consists of one fused loop and of views at affine offsets, or
// nil.
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

// writer returns the number of the instruction that overwrites the memory of which instruction i keeps a
// copy.
func (p *strip[T]) writer(i int) int {
	for i < len(p.code) && p.code[i].op == opKeep {
		i++
	}
	return i
}

// last returns the last use of each register.
func (p *strip[T]) last() map[int]int {
	last := map[int]int{}
	for i, in := range p.code {
		for _, r := range in.uses {
			last[r] = i
		}
	}
	return last
}

// dropKept removes copies of memory that nothing reads after it is overwritten.
func (p *strip[T]) dropKept() {
	last := p.last()
	p.remove(func(i int) bool { return p.code[i].op == opKeep && last[p.code[i].uses[0]] <= p.writer(i) })
}

// assign allocates buffers to registers by their live ranges, and returns the number of buffers.
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
