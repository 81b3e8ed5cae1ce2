package loops

import (
	"math"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
)

// foldOn sets z to the reductions of acc and the prefixes of x, and returns the last one.
func foldOn[T simd.Float](kind reduction.Kind, acc float64, x, z []T) float64 {
	switch kind {
	case reduction.Sum, reduction.Count:
		return simd.RunningSums(z[:len(x)], x, acc)
	case reduction.Prod:
		for i, v := range x {
			acc *= float64(v)
			z[i] = T(acc)
		}
	case reduction.Max, reduction.Any:
		for i, v := range x {
			acc = max(acc, float64(v))
			z[i] = T(acc)
		}
	default:
		for i, v := range x {
			acc = min(acc, float64(v))
			z[i] = T(acc)
		}
	}
	return acc
}

// foldBack sets z to the reductions of acc and the suffixes of x, and returns the longest one.
func foldBack[T simd.Float](kind reduction.Kind, acc float64, x, z []T) float64 {
	n := len(x)
	z = z[:n]
	switch kind {
	case reduction.Sum, reduction.Count:
		for ; n >= 4; n -= 4 {
			p, q := x[n-4:n:n], z[n-4:n:n]
			a := float64(p[3])
			b := a + float64(p[2])
			c := b + float64(p[1])
			d := b + (float64(p[1]) + float64(p[0]))
			q[3], q[2], q[1] = T(acc+a), T(acc+b), T(acc+c)
			acc += d
			q[0] = T(acc)
		}
		for i := n - 1; i >= 0; i-- {
			acc += float64(x[i])
			z[i] = T(acc)
		}
	case reduction.Prod:
		for i := n - 1; i >= 0; i-- {
			acc *= float64(x[i])
			z[i] = T(acc)
		}
	case reduction.Max, reduction.Any:
		for i := n - 1; i >= 0; i-- {
			acc = max(acc, float64(x[i]))
			z[i] = T(acc)
		}
	default:
		for i := n - 1; i >= 0; i-- {
			acc = min(acc, float64(x[i]))
			z[i] = T(acc)
		}
	}
	return acc
}

// foldBehind sets behind[i] to the reduction of x[i:].
func foldBehind(kind reduction.Kind, unit float64, x, behind []float64) {
	behind = behind[:len(x)+1]
	acc := unit
	behind[len(x)] = acc
	if kind == reduction.Prod {
		for i := len(x) - 1; i >= 0; i-- {
			acc *= x[i]
			behind[i] = acc
		}
		return
	}
	join := kind.Join()
	for i := len(x) - 1; i >= 0; i-- {
		acc = join(x[i], acc)
		behind[i] = acc
	}
}

// foldBeside sets z[i] to the reduction of acc, x[:i] and behind[i]. It returns the reduction of acc and x.
func foldBeside[T simd.Float](kind reduction.Kind, acc float64, x, behind []float64, z []T) float64 {
	behind, z = behind[:len(x)], z[:len(x)]
	if kind == reduction.Prod {
		for i, v := range x {
			z[i] = T(acc * behind[i])
			acc *= v
		}
		return acc
	}
	join := kind.Join()
	for i, v := range x {
		z[i] = T(join(acc, behind[i]))
		acc = join(acc, v)
	}
	return acc
}

// folder accumulates a reduction, one element at a time.
type folder struct {
	kind reduction.Kind
	join func(a, b float64) float64 // nil for logsumexp
	v    float64
	sum  float64 // of exp(x - v), for logsumexp
	n    int
}

func newFolder(kind reduction.Kind) folder {
	return folder{kind: kind, join: kind.Join(), v: kind.Identity()}
}

func (f *folder) add(x float64) {
	f.n++
	switch {
	case f.join != nil:
		f.v = f.join(f.v, x)
	case x <= f.v:
		if !math.IsInf(f.v, 0) {
			f.sum += math.Exp(x - f.v)
		}
	default:
		f.sum = float64(f.sum*math.Exp(f.v-x)) + 1
		f.v = max(f.v, x)
	}
}

// value returns the reduction of the elements so far.
func (f *folder) value() float64 {
	switch {
	case f.kind == reduction.Mean:
		return f.v / float64(f.n)
	case f.kind == reduction.LogSumExp && (math.IsInf(f.v, 0) || math.IsNaN(f.v)):
		return 0
	case f.kind == reduction.LogSumExp:
		return math.Log(f.sum)
	}
	return f.v
}

// integerScan is a scan of integers, one row at a time.
type integerScan[T simd.Float] struct {
	scan[T]
	guard func(*state[T]) bool
	value func(*state[T]) int
	give  func(*state[T], int)
	join  func(a, b int) int
	first int
}

// integerScanUnit compiles a scan of integers.
func (k *unitCompiler[T]) integerScanUnit(st *rewrite.Statement, t *term.Scan) unit[T] {
	r := k.bundle.folds[0]
	u := &integerScan[T]{scan: scan[T]{Scan: t, kind: r.Kind, present: k.place(t.Present), count: rewrite.Extent(t.Present), over: k.place(t.Over), lo: k.integer(t.Lo),
		hi: k.integer(t.Hi), outer: k.loops(k.free(), t.Present)}, join: r.Kind.IntegerJoin(), first: r.Kind.IntegerIdentity(), give: k.integerWriter(st)}
	u.value = func(*state[T]) int { return 1 }
	if r.Body != nil {
		u.value = k.integer(r.Body)
	}
	u.guard = func(*state[T]) bool { return true }
	if t.Guard != nil {
		u.guard = k.condition(t.Guard)
	}
	return u
}

// integerWriter returns code that stores an integer as the current element of a statement's target.
func (c *compiler[T]) integerWriter(st *rewrite.Statement) func(*state[T], int) {
	find, t := c.target(st), c.tensors[st.Target]
	put := c.bounding(st, putWhole[T](st, t))
	return func(s *state[T], v int) {
		if id, at, inside := find(s); inside {
			put(&s.mem[id], at, v)
		}
	}
}

func (u *integerScan[T]) run(s *state[T], lo, hi int) {
	u.outer.each(s, 0, lo, hi, u.row)
}

// row computes all results of one row.
func (u *integerScan[T]) row(s *state[T]) {
	lo, hi := u.bounds(s)
	m := hi - lo
	if cap(s.whole) < 2*m+2 {
		s.whole = make([]int, 2*m+2)
	}
	before, behind := s.whole[:m+1], s.whole[m+1:2*m+2] // prefix and suffix reductions
	before[0], behind[m] = u.first, u.first
	for i := range m {
		v := u.first
		if s.vars[u.over] = lo + i; u.guard(s) {
			v = u.value(s)
		}
		before[i+1], behind[i] = u.join(before[i], v), v
	}
	for i := m - 1; i >= 0; i-- {
		behind[i] = u.join(behind[i], behind[i+1])
	}
	for p := range u.count {
		s.vars[u.present] = p
		switch i := p - lo; {
		case u.Where == term.Before:
			u.give(s, before[min(max(u.hi(s)-lo, 0), m)])
		case u.Where == term.After:
			u.give(s, behind[min(max(u.lo(s)-lo, 0), m)])
		case i < 0 || i >= m:
			u.give(s, before[m])
		default:
			u.give(s, u.join(before[i], behind[i+1]))
		}
	}
}
