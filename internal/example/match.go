package example

import (
	"fmt"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/runtime/shape"
)

// matchAll matches the shapes of a slot's tensors with the slot's pattern. The first tensor binds
// dimensions, and the others must agree. A dimension that differs between tensors is bound to a list.
func (u *use) matchAll(s *model.Slot) {
	for i, t := range u.tensors[s.Number] {
		m := &matcher{use: u, slot: s, dims: t.Shape, first: i == 0}
		u.number = i
		if m.place() {
			m.bind()
			m.compare()
		}
	}
}

// matcher matches the shape of one tensor with a pattern.
type matcher struct {
	*use
	slot  *model.Slot
	dims  []int
	first bool     // this is the first tensor of the slot
	parts [][2]int // by pattern element: its range [from, to) in dims
}

// isOpen reports whether an element is a run of unknown length.
func isOpen(e scope.Elem) bool {
	return e.Kind == scope.BindRest || e.Kind == scope.BindEachRest || e.Kind == scope.AnyRest
}

// place finds the range of dimensions that each pattern element matches. ok is false if the rank does not
// fit.
func (m *matcher) place() (ok bool) {
	elems := m.slot.Pattern.Elems
	lengths, total, open := make([]int, len(elems)), 0, false
	for i, e := range elems {
		switch {
		case isOpen(e):
			open = true
			continue
		case e.Kind == scope.MatchAll:
			lengths[i] = len(m.list(e.Node))
		default:
			lengths[i] = 1
		}
		total += lengths[i]
	}
	spare := len(m.dims) - total
	switch {
	case m.err != nil:
		return false
	case spare < 0 && open:
		m.fail("%s: want at least %d dimensions %s, got %s", m.tensor(), total, m.slot.Shape, shape.Format(m.dims))
		return false
	case spare != 0 && !open:
		m.fail("%s: want %d dimensions %s, got %s", m.tensor(), total, m.slot.Shape, shape.Format(m.dims))
		return false
	}
	at := 0
	for i, e := range elems {
		n := lengths[i]
		if isOpen(e) {
			n, spare = m.runLength(spare), 0
		}
		m.parts = append(m.parts, [2]int{at, at + n})
		at += n
	}
	return m.err == nil
}

// runLength returns how many of the spare dimensions the next open run takes: all, unless an axis attribute
// binds a dimension after it.
func (m *matcher) runLength(spare int) int {
	at, ok := scope.LaneDim(m.slot.Pattern.Elems)
	if !ok {
		return spare
	}
	axis, _ := m.attrs[m.slot.Pattern.Elems[at].Axis.Name].(int)
	front := m.axisOf(m.attr(m.slot.Pattern.Elems[at].Axis.Name), axis, m.dims)
	if len(m.parts) == 0 {
		return front
	}
	return len(m.dims) - front - 1
}

// tensor names the tensor in messages.
func (m *matcher) tensor() string {
	if !m.slot.Variadic {
		return m.slot.Name
	}
	return fmt.Sprintf("%s[%d]", m.slot.Name, m.number)
}

// bind binds the dimensions of the pattern to extents.
func (m *matcher) bind() {
	for i, e := range m.slot.Pattern.Elems {
		part := m.dims[m.parts[i][0]:m.parts[i][1]:m.parts[i][1]]
		old := m.use.dims[e.Name]
		switch {
		case e.Kind == scope.BindEachRest:
			runs, _ := old.([][]int)
			m.use.dims[e.Name] = append(runs, part)
		case (e.Kind == scope.BindEach || e.Kind == scope.AxisDim) && e.Each:
			list, _ := old.([]int)
			m.use.dims[e.Name] = append(list, part[0])
		case e.Kind == scope.BindRest && m.first:
			m.use.dims[e.Name] = part
		case e.Kind == scope.BindRest:
			m.equal(i, e.Name, old)
		case e.Kind == scope.Bind || e.Kind == scope.AxisDim:
			if m.first {
				m.use.dims[e.Name] = part[0]
			}
			m.equal(i, e.Name, m.use.dims[e.Name])
		}
	}
}

// compare checks the pattern elements that are expressions. They may use dimensions that the pattern binds.
func (m *matcher) compare() {
	for i, e := range m.slot.Pattern.Elems {
		if e.Kind == scope.Match || e.Kind == scope.MatchAll {
			want := m.eval(e.Node)
			if m.adapts {
				m.adapt(i, want)
			}
			m.equal(i, m.slot.DimNames[i], want)
		}
	}
}

// adapt sets the extents that pattern element i matches, if their number stays.
func (m *matcher) adapt(i int, want any) {
	part := m.dims[m.parts[i][0]:m.parts[i][1]]
	switch want := want.(type) {
	case int:
		part[0] = max(want, 0)
	case []int:
		if len(want) == len(part) {
			copy(part, want)
		}
	}
}

// equal fails unless pattern element i matches the value want, which its name or expression has.
func (m *matcher) equal(i int, name string, want any) {
	if name == "" {
		name = fmt.Sprintf("dimension %d", i)
	}
	part := m.dims[m.parts[i][0]:m.parts[i][1]]
	switch want := want.(type) {
	case int:
		if want != part[0] {
			m.fail("%s: want %s = %d in %s, got %d in %s", m.tensor(), name, want, m.slot.Shape, part[0], shape.Format(m.dims))
		}
	case []int:
		if !shape.Equal(want, part) {
			m.fail("%s: want %s... = %s in %s, got %s", m.tensor(), name, shape.Format(want), m.slot.Shape, shape.Format(m.dims))
		}
	}
}
