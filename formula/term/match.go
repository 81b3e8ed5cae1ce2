package term

import "slices"

// Match is a one-way match of terms (pattern matching): it finds values of the open variables for which a
// pattern equals a term.
type Match struct {
	Open   []*Variable // pattern variables
	Values map[*Variable]*Term
}

// Same reports whether pattern x matches term y, and binds the open variables of x to subterms of y.
func (m *Match) Same(x, y *Term) bool {
	if x == nil || y == nil {
		return x == y
	}
	if x.Op == Index {
		if v, ok := m.Values[x.Var]; ok {
			return Identical(v, y)
		}
		if slices.Contains(m.Open, x.Var) && y.Kind == Integer {
			m.Values[x.Var] = y
			return true
		}
	}
	if x.Op != y.Op || x.Kind != y.Kind || x.Int != y.Int || x.Name != y.Name || x.Float != y.Float || x.Var != y.Var || len(x.Args) != len(y.Args) {
		return false
	}
	if (x.Func != nil || y.Func != nil) && (x.Func == nil || y.Func == nil || x.Func != y.Func || x.Func.Has(Conversion)) {
		return false
	}
	for i := range x.Args {
		if !m.Same(x.Args[i], y.Args[i]) {
			return false
		}
	}
	return m.sameRead(x.Read, y.Read) && m.sameReduction(x.Reduction, y.Reduction)
}

// Settled reports whether each open variable is bound, and to a term that uses no variable of an inner
// reduction.
func (m *Match) Settled() bool {
	var inner []*Variable // variables of reductions in y
	for v, value := range m.Values {
		if !slices.Contains(m.Open, v) {
			inner = append(inner, value.Var)
		}
	}
	return !slices.ContainsFunc(m.Open, func(v *Variable) bool {
		value, ok := m.Values[v]
		return !ok || value.UsesAny(inner)
	})
}

func (m *Match) sameRead(x, y *Read) bool {
	if x == nil || y == nil {
		return x == y
	}
	if x.Tensor != y.Tensor || x.Count != y.Count || len(x.Ext) != len(y.Ext) || len(x.Idx) != len(y.Idx) {
		return false
	}
	for i := range x.Idx {
		if !m.Same(x.Idx[i], y.Idx[i]) {
			return false
		}
	}
	for i := range x.Ext {
		if !m.Same(x.Ext[i], y.Ext[i]) {
			return false
		}
	}
	return m.Same(x.Which, y.Which) && m.Same(x.Else, y.Else)
}

func (m *Match) sameReduction(x, y *Reduction) bool {
	if x == nil || y == nil {
		return x == y
	}
	if x.Kind != y.Kind || x.Part != y.Part || len(x.Vars) != len(y.Vars) || x.Descending != y.Descending || len(x.At) != len(y.At) {
		return false
	}
	for i := range x.At {
		if x.Relative() { // the maximum follows from the body
			break
		}
		if !m.Same(x.At[i], y.At[i]) {
			return false
		}
	}
	for i, v := range x.Vars {
		w := y.Vars[i]
		if !m.Same(v.Lo, w.Lo) || !m.Same(v.Hi, w.Hi) {
			return false
		}
		m.Values[v] = &Term{Op: Index, Kind: Integer, Var: w}
	}
	return m.Same(x.Guard, y.Guard) && m.Same(x.Body, y.Body) && m.Same(x.Number, y.Number)
}

// Identical reports whether x and y are the same term, up to the names of reduction variables (alpha
// equivalence).
func Identical(x, y *Term) bool {
	m := Match{Values: map[*Variable]*Term{}}
	return m.Same(x, y)
}
