package loops

import (
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// placedRows is a scatter-add of short rows, such as the gradient of an embedding. A strip covers several
// rows, whose offsets are computed at once.
type placedRows[T simd.Float] struct {
	x       int // register of the summands
	places  *finder[T]
	single  func(s *state[T], row int) // reports an error for a row out of bounds
	target  int
	wide    bool // whether the target is float64 although T is float32
	fetched bool // whether rows of the target are prefetched
}

// placedRows compiles a scatter-add of short rows. It returns nil for other statements, for long rows, and
// for summands that are neither contiguous, nor the same in all or in each of the rows, nor rows that other
// tensors name.
func (k *unitCompiler[T]) placedRows() unit[T] {
	s, w, v := k.shortIndices()
	if s == nil || s.Joined() || rewrite.Extent(v) < 1 {
		return nil
	}
	t, n, a := k.tensors[s.Target], rewrite.Extent(v), rewrite.AccessOf(s.Left)
	if !s.Add && !t.Add || t.Type != k.own && !(t.Type == dtype.F64 && s.Add) || !findsRows(a, w, v) {
		return nil
	}
	p := &rowParts[T]{unitCompiler: k, s: s, w: w, v: v, z: newVectorizer(k.compiler, v), placed: true}
	value := p.value(s.Value)
	follows := !p.refused
	forms(value, func(f rewrite.Form) {
		follows = follows && f.Factor(w) == n*f.Factor(v) && !f.Hidden(w) && !f.Hidden(v)
	})
	rewrite.Reads(s.Value, func(r *term.Read) { // a strip is read before a row is written
		for i := range r.Count {
			follows = follows && k.tensors[r.Tensor+i].Memory != t.Memory
		}
	})
	rows := newVectorizer(k.compiler, w)
	places, _ := rows.found(a)
	if !follows || len(rows.strip.code) > 0 {
		return nil
	}
	one := k.target(s)
	out := &placedRows[T]{places: places, target: s.Target, wide: t.Type != k.own,
		fetched: rewrite.Elements(k.p.Tensors[s.Target])*t.Type.Size() >= leastFetched}
	if out.wide {
		k.compiler.wide = max(k.compiler.wide, 1) // a float64 strip
	}
	out.single = func(s *state[T], row int) { locate(s, rows.at, row, one) }
	out.x = p.z.vector(p.z.real(value))
	u := p.unit()
	u.to = out
	return u
}

// add adds rows of n elements to the target, in order.
func (u *placedRows[T]) add(s *state[T], n, rows int) {
	x := s.regs[u.x][:rows*n]
	places, inside := u.places.places(s, rows)
	if !inside {
		for i, at := range places {
			if at < 0 {
				u.single(s, i)
			}
		}
	}
	if u.wide {
		addRows(s.mem[u.target].f64, x, places, n, u.fetched, func(z []float64, x []T) {
			simd.BinaryOf[float64](simd.Add)(z, z, widened(x, s.wider))
		})
		return
	}
	addRows(s.mem[u.target].same, x, places, n, u.fetched, func(z, x []T) { simd.BinaryOf[T](simd.Add)(z, z, x) })
}

// addRows adds rows of n elements to z at the offsets places, and skips rows whose offset is negative. long
// adds a row that is too long for a simple loop.
func addRows[U, T simd.Float](z []U, x []T, places []int, n int, fetched bool, long func(z []U, x []T)) {
	for i, at := range places {
		if fetched && i+distance < len(places) && places[i+distance] >= 0 {
			simd.Fetch(z[places[i+distance]:][:n])
		}
		if at < 0 {
			continue
		}
		to, row := z[at:][:n], x[i*n:][:n]
		if n > fewAdded {
			long(to, row)
			continue
		}
		for j, v := range row {
			to[j] += U(v)
		}
	}
}
