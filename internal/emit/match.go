package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
)

// matcher writes the code that matches the shape of a tensor against the pattern of its slot. In that code, x
// is the shape and d holds the dimensions. For a variadic slot, t is the tensor and i its number.
type matcher struct {
	x      *exprs
	slot   *model.Slot
	tensor string // the tensor, as Go
	elems  []scope.Elem
	open   int // the first run of unknown length, or -1
	// axis is the variable that holds the number of the dimension of an axis attribute, or "". Such a pattern
	// has three elements: a run, this dimension, and another run.
	axis string
}

// match emits the matching of a slot's shape. For a variadic slot with the pattern [A..., C[i], B...], where
// an axis attribute binds C, it is
//
//	for i, t := range r.Each(SlotInput) {
//		if x, ok := t.RankAtLeast(1); ok {
//			axis := t.Axis("axis", a.Axis)
//			if i == 0 {
//				d.A, d.B = x[:axis:axis], x[axis+1:]
//			} else {
//				t.EqualDims("A", d.A, x[:axis:axis])
//				t.EqualDims("B", d.B, x[axis+1:])
//			}
//			d.C = append(d.C, x[axis])
//		}
//	}
//
// Other slots need neither the loop nor the comparison of their tensors, and most patterns have no axis.
func (e *emitter) match(x *exprs, s *model.Slot) {
	m := &matcher{x: x, slot: s, tensor: "r.Tensor(Slot" + s.GoName + ")", elems: s.Pattern.Elems}
	if s.Variadic {
		m.tensor = "t"
	}
	m.open = slices.IndexFunc(m.elems, isOpen)
	body := m.checkAxis() // first, since it sets m.axis
	body += m.bind() + m.compare()
	code := m.rank()
	switch {
	case body != "":
		code = "if x, ok := " + code + "; ok {\n" + body + "}"
	case m.open >= 0 && len(m.lengths(m.elems)) == 0:
		return // every shape matches
	}
	if s.Variadic {
		number := "_"
		if m.usesNumber() {
			number = "i"
		}
		code = fmt.Sprintf("for %s, t := range r.Each(Slot%s) {\n%s\n}", number, s.GoName, code)
	}
	e.p("%s", code)
}

// isOpen reports whether an element is a run whose length the pattern does not determine.
func isOpen(el scope.Elem) bool {
	return el.Kind == scope.BindRest || el.Kind == scope.BindEachRest || el.Kind == scope.AnyRest
}

func isRun(el scope.Elem) bool { return isOpen(el) || el.Kind == scope.MatchAll }

// binds reports whether an element gives a dimension, or a run of them, its value.
func binds(el scope.Elem) bool {
	switch el.Kind {
	case scope.Bind, scope.BindRest, scope.BindEach, scope.BindEachRest, scope.AxisDim:
		return true
	}
	return false
}

// isNumbered reports whether the expression of an element uses the number of a tensor.
func isNumbered(el scope.Elem) bool { return uses(ofClass(expr.Position), el.Node) }

// usesNumber reports whether the code for a variadic slot uses the number of a tensor. A binding does, since
// the first tensor gives the value. An expression of the pattern may.
func (m *matcher) usesNumber() bool {
	return slices.ContainsFunc(m.elems, func(el scope.Elem) bool { return binds(el) && !el.Each || isNumbered(el) })
}

// rank returns the call that checks the rank and gives the shape.
func (m *matcher) rank() string {
	check := "Rank"
	if m.open >= 0 {
		check = "RankAtLeast"
	}
	least := m.lengths(m.elems)
	if len(least) == 0 {
		least = []string{"0"}
	}
	return fmt.Sprintf("%s.%s(%s)", m.tensor, check, strings.Join(least, "+"))
}

// checkAxis returns the statement that puts the checked value of the pattern's axis attribute into a
// variable.
func (m *matcher) checkAxis() string {
	i, ok := scope.LaneDim(m.elems)
	if !ok {
		return ""
	}
	a := m.x.e.attr(m.elems[i].Axis.Name)
	m.axis = m.x.e.axisVar(a)
	return m.axis + " := " + checkAxis(a, m.tensor, "a."+a.GoName) + "\n"
}

// bind returns the statements that give dimensions their values. The first tensor of a variadic slot gives
// them, and the others must agree; a dimension that each tensor has an extent of is a list, to which each
// tensor adds.
func (m *matcher) bind() string {
	var dims, values []string
	equal, add := "", ""
	for i, el := range m.elems {
		if !binds(el) {
			continue
		}
		dim, value := "d."+el.Name, m.value(i)
		if el.Each {
			add += fmt.Sprintf("%s = append(%[1]s, %s)\n", dim, value)
			continue
		}
		dims, values = append(dims, dim), append(values, value)
		equal += m.equal(i, el.Name, dim)
	}
	if len(dims) == 0 {
		return add
	}
	assign := strings.Join(dims, ", ") + " = " + strings.Join(values, ", ") + "\n"
	if m.slot.Variadic {
		assign = "if i == 0 {\n" + assign + "} else {\n" + equal + "}\n"
	}
	return assign + add
}

// compare returns the statements that compare the shape with the expressions of the pattern. They follow the
// bindings, since the expressions may use what the same pattern binds.
func (m *matcher) compare() string {
	equal := ""
	for i, el := range m.elems {
		if el.Kind != scope.Match && el.Kind != scope.MatchAll {
			continue
		}
		name := el.Name
		if name == "" || isNumbered(el) {
			name = elemText(el)
		}
		equal += m.equal(i, name, m.x.code(el.Node, 0))
	}
	return equal
}

// equal returns the statement that compares the dimensions of element i with what they must equal. Errors
// call the element by the name.
func (m *matcher) equal(i int, name, want string) string {
	check := "Equal"
	if isRun(m.elems[i]) {
		check = "EqualDims"
	}
	return fmt.Sprintf("%s.%s(%q, %s, %s)\n", m.tensor, check, name, want, m.value(i))
}

// value returns, as Go, the dimension or the run of dimensions that element i stands for.
func (m *matcher) value(i int) string {
	last := len(m.elems) - 1
	switch {
	case !isRun(m.elems[i]):
		return "x[" + m.start(i) + "]"
	case last == 0:
		return "x"
	}
	lo := ""
	if i > 0 {
		lo = m.start(i)
	}
	if i == last {
		return "x[" + lo + ":]"
	}
	hi := m.start(i + 1)
	if m.open >= 0 && i > m.open {
		return "x[" + lo + ":" + hi + "]" // only compared
	}
	// The capacity ends with the run, so that appending to a bound run leaves x as it is.
	return "x[" + lo + ":" + hi + ":" + hi + "]"
}

// start returns, as Go, the index in x at which element i starts. After an open run, it counts from the end
// of x, since the length of the run is not known before.
func (m *matcher) start(i int) string {
	if m.axis != "" {
		return []string{"0", m.axis, m.axis + "+1"}[i]
	}
	if m.open >= 0 && i > m.open {
		return strings.Join(append([]string{"len(x)"}, m.lengths(m.elems[i:])...), "-")
	}
	if i == 0 {
		return "0"
	}
	return strings.Join(m.lengths(m.elems[:i]), "+")
}

// lengths returns how many dimensions the elements that are not open stand for, as terms of a sum in Go.
func (m *matcher) lengths(elems []scope.Elem) []string {
	single := 0
	var runs []string
	for _, el := range elems {
		switch {
		case el.Kind == scope.MatchAll:
			runs = append(runs, "len("+m.x.code(el.Node, 0)+")")
		case !isOpen(el):
			single++
		}
	}
	if single == 0 {
		return runs
	}
	return append([]string{strconv.Itoa(single)}, runs...)
}

// elemText returns an element of a shape as the spec writes it, without the dots of a run.
func elemText(el scope.Elem) string {
	t := el.Span.File.Text[el.Span.Start:el.Span.End]
	if len(t) > 1 && (t[0] == '"' || t[0] == '\'') {
		t = t[1 : len(t)-1]
	}
	return strings.TrimSuffix(strings.TrimSpace(t), "...")
}
