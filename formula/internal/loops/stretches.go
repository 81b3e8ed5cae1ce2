package loops

import "github.com/opgen/opgen/internal/base/simd"

// stretches is a form of places that a table gives, plus what is the same for a whole strip, where the table
// is a few stretches of integers that follow each other: a remainder of the index, or the index mirrored
// twice. Each stretch is a piece of memory.
type stretches[T simd.Float] struct {
	base  func(*state[T]) int
	table []int // by the vectorized index
	ends  []int // for each place of the table, where its stretch ends
}

// stretchesOf matches places, or returns nil.
func stretchesOf[T simd.Float](f *finder[T]) *stretches[T] {
	code := f.offset.code
	if len(f.tests) > 0 || len(code) != 2 || code[0].op != integerCount || code[0].from.step != 0 || code[1].op != integerAddTable {
		return nil
	}
	out := &stretches[T]{base: code[0].from.at, table: code[1].table, ends: make([]int, len(code[1].table))}
	count := 0
	for i := len(out.table) - 1; i >= 0; i-- {
		if i+1 < len(out.table) && out.table[i+1] == out.table[i]+1 {
			out.ends[i] = out.ends[i+1]
			continue
		}
		out.ends[i] = i + 1
		count++
	}
	if count*leastPiece > len(out.table) {
		return nil
	}
	return out
}

// each calls visit for the pieces of n places from the index first on: elements lo to below hi of the strip
// are those at the offset at.
func (p *stretches[T]) each(s *state[T], first, n int, visit func(lo, hi, at int)) {
	base := p.base(s)
	for i := first; i < first+n; {
		end := min(p.ends[i], first+n)
		visit(i-first, end-first, base+p.table[i])
		i = end
	}
}

// gather loads elements into z.
func (p *stretches[T]) gather(s *state[T], z, from []T, first int) {
	p.each(s, first, len(z), func(lo, hi, at int) { copy(z[lo:hi], from[at:at+hi-lo]) })
}

// add adds x to the elements, in order.
func (p *stretches[T]) add(s *state[T], z, x []T, first int) {
	add := simd.BinaryOf[T](simd.Add)
	p.each(s, first, len(x), func(lo, hi, at int) {
		to := z[at : at+hi-lo]
		add(to, to, x[lo:hi])
	})
}
