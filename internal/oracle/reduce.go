package oracle

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/reduction"
)

// over calls visit with a scope for each value of the indices of binders, the last index fastest. idx holds
// the values of the indices.
func (e *evaluation) over(binders []*expr.Binder, s *scope, idx []item, visit func(*scope, []item)) {
	if len(binders) == 0 {
		visit(s, idx)
		return
	}
	b := binders[0]
	if b.Hi != nil {
		name := b.X.(*expr.Ident).Name
		lo, hi := e.rangeIn(b, s)
		e.loop([]item{{name: name, pos: -1, lo: lo, hi: hi}}, s, idx, func(s *scope, idx []item) { e.over(binders[1:], s, idx, visit) })
		return
	}
	items := e.itemsOf(b.X, s)
	for _, it := range items {
		if it.name == "" {
			fail("a reduction goes over indices")
		}
		if it.bound {
			fail("%s is in use", it.name)
		}
	}
	e.loop(items, s, idx, func(s *scope, idx []item) { e.over(binders[1:], s, idx, visit) })
}

// loop calls visit for each value of indices.
func (e *evaluation) loop(items []item, s *scope, idx []item, visit func(*scope, []item)) {
	if len(items) == 0 {
		visit(s, idx)
		return
	}
	it := items[0]
	if s.bound(it.name, it.pos) != nil {
		fail("%s is in use", it.name)
	}
	for i := range it.hi - it.lo {
		v := it.lo + i
		e.step()
		it.value, it.bound = whole(v), true
		e.loop(items[1:], s.with(it, v), append(slices.Clip(idx), it), visit)
	}
}

// rangeIn returns the range of a binder. That of a dimension's index is cut to the dimension. Another range
// is as long as its ends are apart, also where one of them has wrapped around and the other has not, unless
// an end is a max or a min.
func (e *evaluation) rangeIn(b *expr.Binder, s *scope) (lo, hi int64) {
	if b.Lo != nil {
		lo = e.value(b.Lo, s, true).integer()
	}
	hi = e.value(b.Hi, s, true).integer()
	if dim := e.dims[base(b.X.(*expr.Ident).Name)]; dim != "" {
		if v := e.values[dim]; v.kind == integer {
			lo = max(lo, 0)
			return lo, max(lo, min(hi, v.i))
		}
	}
	if lo > hi && (extremal(b.Lo) || extremal(b.Hi)) {
		return lo, lo
	}
	return lo, hi
}

// extremal reports whether n is a max or a min.
func extremal(n expr.Node) bool {
	c, ok := n.(*expr.Call)
	return ok && (c.Func == "max" || c.Func == "min")
}

// term is a term of a reduction with its index.
type term struct {
	value
	idx []item
}

// reduce returns a reduction. What does not depend on all indices around is worked out once for those on
// which it depends.
func (e *evaluation) reduce(n *expr.Reduce, s *scope) value {
	key, ok := e.key(n, s)
	if ok {
		if v, known := e.memo[key]; known {
			return v
		}
	}
	v := e.reduction(n, s)
	if ok {
		e.memo[key] = v
	}
	return v
}

// key names a reduction with the values of the indices around that occur in it. ok is false if all do.
func (e *evaluation) key(n *expr.Reduce, s *scope) (key string, ok bool) {
	free := e.free[n]
	if free == nil {
		free = map[string]bool{}
		expr.Walk(n, func(m expr.Node) {
			switch m := m.(type) {
			case *expr.Ident:
				free[m.Name] = true
			case *expr.Read:
				free[m.Name] = true
			}
		})
		e.free[n] = free
	}
	for name := range s.params {
		if free[name] {
			return "", false
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%p", n)
	for f := s.frames; f != nil; f = f.up {
		if free[f.name] || f.name == "i" && len(e.lists) > 0 {
			fmt.Fprintf(&b, ",%s%d=%d:%d:%d", f.name, f.pos, f.v, f.lo, f.hi)
		} else {
			ok = true
		}
	}
	return b.String(), ok
}

func (e *evaluation) reduction(n *expr.Reduce, s *scope) value {
	var terms []term
	unsure := false
	e.over(n.Binders, s, nil, func(s *scope, idx []item) {
		if n.If != nil {
			c := e.value(n.If, s, false)
			if c.unsure && n.Kind == reduction.Count {
				panic(ErrAmbiguous)
			}
			if unsure = unsure || c.unsure; c.unsure {
				panic(ErrAmbiguous)
			}
			if c.i == 0 {
				return
			}
		}
		t := term{idx: idx}
		if n.X != nil {
			t.value = e.value(n.X, s, false)
		}
		terms = append(terms, t)
	})
	switch n.Kind {
	case reduction.Count:
		return whole(int64(len(terms)))
	case reduction.Any, reduction.All:
		out := condition(n.Kind == reduction.All)
		for _, t := range terms {
			switch {
			case t.unsure:
				unsure = true
			case (t.i != 0) == (n.Kind == reduction.Any):
				return condition(n.Kind == reduction.Any)
			}
		}
		out.unsure = unsure
		return out
	case reduction.ArgMax, reduction.ArgMin:
		return e.position(n, terms)
	case reduction.ArgSort, reduction.Rank:
		return e.order(n, terms, s)
	case reduction.Max, reduction.Min:
		return e.most(n, terms, s)
	}
	wholeTerms := true
	for _, t := range terms {
		wholeTerms = wholeTerms && t.kind != real
	}
	switch n.Kind {
	case reduction.Sum, reduction.Prod:
		if wholeTerms && (len(terms) > 0 || e.kindOf(n.X, s, false) != real) {
			op, out := "+", whole(0)
			if n.Kind == reduction.Prod {
				op, out = "*", whole(1)
			}
			for _, t := range terms {
				out = wholes(op, out, t.value)
			}
			return out
		}
		if n.Kind == reduction.Sum {
			return e.rounded(total(terms))
		}
		out, reach := exactly(1), 1.0
		for _, t := range terms {
			x := t.number()
			if out = e.rounded(mul(out, x, e.unit)).r; !math.IsInf(x.v, 0) {
				reach *= max(math.Abs(x.v), 1)
			}
		}
		if reach > e.greatest()/4 { // in another order, a part of it may overflow before a factor below 1 comes
			out.err = math.Inf(1)
			for i := range out.de {
				if out.on(i) {
					out.de[i] = math.Inf(1)
				}
			}
		}
		return realValue(out)
	case reduction.Mean:
		return e.averaged(mean(terms, e.unit), len(terms))
	case reduction.Variance:
		return e.averaged(variance(terms, e.unit), len(terms))
	case reduction.Norm:
		return e.rounded(e.norm(terms))
	case reduction.LogSumExp:
		return pair(e.logSumExp(terms), terms)
	}
	fail("unknown reduction %s", n.Kind)
	return value{}
}

// pair returns a logsumexp with the parts that two targets take: the greatest term, and what is beyond it,
// which has the derivative of both.
func pair(sum number, terms []term) value {
	top, rest := math.Inf(-1), sum
	for _, t := range terms {
		top = max(top, t.number().v)
	}
	if rest.v -= top; math.IsInf(top, 0) || math.IsNaN(top) {
		rest.v = 0
	}
	out := realValue(sum)
	out.x = &extra{items: []item{{value: realValue(exactly(top))}, {value: realValue(rest)}}}
	return out
}

func total(terms []term) number {
	s := new(sum)
	for _, t := range terms {
		s.add(t.number())
	}
	return s.result()
}

func mean(terms []term, unit float64) number {
	if len(terms) == 0 {
		return exactly(math.NaN())
	}
	return div(total(terms), exactly(float64(len(terms))), unit)
}

// averaged returns a mean of terms as the type with which formulas compute holds it. It is not known where
// their sum may overflow.
func (e *evaluation) averaged(n number, terms int) value {
	return realValue(n.within(e.greatest() / float64(max(terms, 1))))
}

func variance(terms []term, unit float64) number {
	if len(terms) == 0 {
		return exactly(math.NaN())
	}
	m := mean(terms, unit)
	squares := make([]term, len(terms))
	var errs [passLanes]float64 // of the sum of derivatives times differences, from which that of the mean may be left out, as it gives 0
	for i, t := range terms {
		x := t.number()
		d := add(x, m, -1)
		squares[i].value = realValue(mul(d, d, unit))
		for k := range errs {
			errs[k] += 2 * scaled(x.d[k], d.err)
		}
	}
	out := mean(squares, unit)
	for k := range errs {
		out.de[k] += errs[k] / float64(len(terms))
	}
	return out
}

// norm returns the length of a vector. Its derivative is a unit vector, and 0 for the vector without a
// length.
func (e *evaluation) norm(terms []term) number {
	unit, total := 0.0, 0.0
	for _, t := range terms {
		if v := math.Abs(t.number().v); v > unit || v != v {
			unit = v
		}
	}
	if unit == 0 || unit-unit != 0 {
		unit = 1
	}
	for _, t := range terms {
		v := t.number().v / unit
		total += v * v
	}
	out := exactly(unit * math.Sqrt(total))
	direction := func(x number) float64 {
		if out.v == 0 {
			return 0
		}
		return x.v / out.v
	}
	roundings := 4 + float64(len(terms))/2
	errs, great := 0.0, 0.0 // along the vector, and in any direction
	for _, t := range terms {
		x := t.number()
		errs += scaled(direction(x), x.err)
		great += x.err
		out.varies, out.lanes = out.varies || x.varies, out.lanes|x.lanes
	}
	// The second order of an error e of the vector x is at most |e|^2/(2|x|), and all of e where x has no
	// length.
	out.err = errs + min(great, over(great*great, 2*out.v)) + roundings*math.Abs(out.v)
	unsure := near(number{v: out.v, err: great}, number{}, e.unit)
	for _, t := range terms {
		x := t.number()
		a := direction(x)
		for i := range passLanes {
			if !x.on(i) {
				continue
			}
			out.d[i] += x.by(i, a)
			out.de[i] += scaled(a, x.de[i]) + over(scaled(x.d[i], x.err), out.v) + over(scaled(x.by(i, a), errs), out.v) + roundings*math.Abs(x.by(i, a))
			if unsure {
				out.de[i] += math.Abs(x.d[i]) / e.unit
			}
		}
	}
	return out
}

// logSumExp returns the logarithm of the sum of exponentials.
func (e *evaluation) logSumExp(terms []term) number {
	top := math.Inf(-1)
	for _, t := range terms {
		if v := t.number().v; v > top || v != v {
			top = v
		}
	}
	if math.IsInf(top, 0) || top != top {
		return steep(top, terms) // the slope is that of infinity - infinity
	}
	var weights compensated
	errs := 0.0
	for _, t := range terms {
		x := t.number()
		w := math.Exp(x.v - top)
		weights.add(w)
		errs += scaled(w, x.err)
	}
	s := weights.sum()
	out := number{v: top + math.Log(s)}
	out.err = errs/s + 2*math.Abs(out.v) + 2*math.Log2(float64(len(terms))+1)
	if len(terms) == 1 {
		out = terms[0].number()
		out.err += 2*math.Abs(out.v) + 1
	}
	varies, lanes := false, uint8(0)
	var parts [passLanes]addends
	var de [passLanes]float64
	for _, t := range terms {
		x := t.number()
		varies, lanes = varies || x.varies, lanes|x.lanes
		w := math.Exp(x.v-top) / s
		for i := range passLanes {
			if !x.on(i) {
				continue
			}
			g := x.by(i, w)
			parts[i].add(g)
			de[i] += scaled(w, x.de[i]) + scaled(g, x.err) + scaled(g, out.err) + scaled(g, 3+math.Abs(x.v))
		}
	}
	for i := range passLanes {
		out.d[i], out.de[i] = parts[i].sum(), de[i]+parts[i].size*math.Sqrt(float64(len(terms)))
	}
	out.varies, out.lanes = varies, lanes
	return out
}

// steep returns a number that is made of terms, and whose derivatives are NaN where it depends on an element.
func steep(v float64, terms []term) number {
	out := number{v: v}
	for _, t := range terms {
		x := t.number()
		out.varies, out.lanes = out.varies || x.varies, out.lanes|x.lanes
	}
	for i := range out.d {
		if out.on(i) {
			out.d[i] = math.NaN()
		}
	}
	return out
}

// most returns the greatest or the least term. Equal ones share the gradient evenly.
func (e *evaluation) most(n *expr.Reduce, terms []term, s *scope) value {
	isReal := len(terms) == 0 && e.kindOf(n.X, s, false) == real
	for _, t := range terms {
		isReal = isReal || t.kind == real
	}
	side := 1
	if n.Kind == reduction.Min {
		side = -1
	}
	if !isReal {
		out := value{kind: integer, edge: int8(-side)}
		if len(terms) > 0 {
			out = terms[0].value
		} else {
			sign := e.signsOf(n.X, s)
			if sign == unknown && e.readsUnsigned(n.X) {
				panic(ErrAmbiguous)
			}
			out.unsigned = sign == without
		}
		if len(terms) == 0 && out.unsigned { // 0 and 2^64 - 1 may be elements, so a narrower type holds them as these
			out = out.settled()
			out.made = false
			return out
		}
		for _, t := range terms[min(1, len(terms)):] {
			if t.unsure {
				panic(ErrAmbiguous)
			}
			if compareWhole(t.value, out)*side > 0 {
				out = t.value
			}
		}
		if bound := int64(math.MaxInt64); !out.unsigned && (side > 0 && out.i == ^bound || side < 0 && out.i == bound) {
			out.edge = int8(-side) // 64 bits do not tell it from the extreme of nothing
		}
		return out
	}
	top := exactly(math.Inf(-side))
	for i, t := range terms {
		x := t.number()
		if x.v != x.v {
			return realValue(steep(x.v, terms))
		}
		if i == 0 || float64(side)*x.v > float64(side)*top.v {
			top = x
		}
	}
	// The winners are the terms that equal the greatest one. Those that are near it may win as well.
	var winners, others []number
	for _, t := range terms {
		x := t.number()
		switch {
		case x.v == top.v && !near(x, top, e.unit):
			winners = append(winners, x)
		case near(x, top, e.unit):
			others = append(others, x)
		}
	}
	if len(winners)+len(others) == 0 {
		return realValue(top)
	}
	all := append(winners, others...)
	out := number{v: top.v}
	for _, x := range all {
		out.err = max(out.err, x.err)
		out.varies, out.lanes = out.varies || x.varies, out.lanes|x.lanes
	}
	if !out.varies {
		return realValue(out)
	}
	for i := range out.d {
		low, high := math.Inf(1), math.Inf(-1)
		var shares addends
		for _, x := range all {
			shares.add(x.d[i] / float64(len(all)))
			out.de[i] = max(out.de[i], x.de[i])
			low, high = min(low, x.d[i]), max(high, x.d[i])
		}
		out.d[i] = shares.sum()
		if len(others) > 0 && high > low {
			out.de[i] += (high - low) / e.unit
		}
		if len(all) > 1 {
			out.de[i] += math.Abs(out.d[i])
		}
		if !shares.exact() {
			out.de[i] += shares.bound(len(all))
		}
	}
	return realValue(out)
}

// position returns the index of the greatest or the least term: of the first of equal ones. NaN is more
// extreme than all numbers. Of several indices it is the row-major number, and each target of a statement
// gets an index.
func (e *evaluation) position(n *expr.Reduce, terms []term) value {
	if len(terms) == 0 {
		return value{kind: integer, unsure: true, x: &extra{items: make([]item, len(n.Binders))}} // nothing has no place
	}
	best := 0
	for i := range terms {
		if i > 0 && e.before(terms[i].value, terms[best].value, n.Kind == reduction.ArgMax) {
			best = i
		}
	}
	for i, t := range terms {
		if i != best && t.kind == real && near(t.r, terms[best].number(), e.unit) {
			panic(ErrAmbiguous)
		}
	}
	idx := terms[best].idx
	if len(idx) == 1 {
		return value{kind: integer, i: idx[0].i, x: &extra{items: idx}}
	}
	return value{kind: integer, i: e.rowMajorOf(idx), x: &extra{items: idx}}
}

// before reports whether x is more extreme than y.
func (e *evaluation) before(x, y value, most bool) bool {
	if x.kind != real && y.kind != real {
		c := compareWhole(x, y)
		return most && c > 0 || !most && c < 0
	}
	a, b := x.number().v, y.number().v
	switch {
	case b != b:
		return false
	case a != a:
		return true
	}
	return most && a > b || !most && a < b
}

// rowMajorOf returns the row-major number of an index in the dimensions of its indices, whatever part of them
// something goes over.
func (e *evaluation) rowMajorOf(idx []item) int64 {
	out := int64(0)
	for _, it := range idx {
		lo, hi := it.lo, it.hi
		if e.hasRange(it.name) {
			x := e.rangeOf(it.name, &scope{})
			lo, hi = x.lo[max(it.pos, 0)], x.hi[max(it.pos, 0)]
		}
		out = out*(hi-lo) + it.i - lo
	}
	return out
}

// order returns the place of an element in an order, or the element at a place.
func (e *evaluation) order(n *expr.Reduce, terms []term, s *scope) value {
	places := make([]int, len(terms))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int {
		x, y := terms[a].value, terms[b].value
		var c int
		if x.kind != real && y.kind != real {
			c = compareWhole(x, y)
		} else {
			u, v := x.number().v, y.number().v
			switch {
			case u != u && v != v:
			case u != u:
				c = 1
			case v != v || u < v:
				c = -1
			case u > v:
				c = 1
			}
		}
		if n.Descending {
			return -c
		}
		return c
	})
	for i := 1; i < len(places); i++ {
		x, y := terms[places[i-1]].value, terms[places[i]].value
		if x.kind == real && y.kind == real && near(x.r, y.r, e.unit) {
			panic(ErrAmbiguous)
		}
	}
	at := e.indexItems(n.At, s)
	if n.Kind == reduction.ArgSort {
		i := at[0].integer()
		if i < 0 || i >= int64(len(places)) {
			fail("argsort: want a place in an order of %d, got %d", len(places), i)
		}
		idx := terms[places[i]].idx
		if len(idx) == 1 {
			return whole(idx[0].i)
		}
		return value{kind: integer, i: e.rowMajorOf(idx), x: &extra{items: idx}}
	}
	for place, t := range places {
		idx := terms[t].idx
		same := len(idx) == len(at)
		for i := range idx {
			same = same && idx[i].i == at[i].integer()
		}
		if same {
			return whole(int64(place))
		}
	}
	fail("rank: there is no such element")
	return value{}
}
