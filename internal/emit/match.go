package emit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/opgen/opgen/internal/expr"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
)

// matcher writes the matching of one slot's shape, which stands in the variable x, against its pattern.
type matcher struct {
	x      *exprs
	tensor string // the tensor that is matched
	elems  []scope.Elem
	open   int    // the run of unknown length, or -1
	axis   string // the variable that holds the axis which a dimension stands for, or ""
	// position tells that what was written uses i, the number of a variadic slot's tensor.
	position bool
}

// length returns how many dimensions some elements stand for, as Go: a number, plus the lengths of runs that are known,
// joined by op. before is what comes in front, if anything.
func (m *matcher) length(before, op string, elems []scope.Elem) string {
	n := 0
	var parts []string
	if before != "" {
		parts = append(parts, before)
	}
	for _, el := range elems {
		if el.Kind != scope.MatchAll {
			n++
		}
	}
	if n > 0 {
		parts = append(parts, strconv.Itoa(n))
	}
	for _, el := range elems {
		if el.Kind == scope.MatchAll {
			parts = append(parts, "len("+m.x.code(el.Node, 0)+")")
		}
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, op)
}

// at returns the index in x of element i: counted from the front before the open run, from the back after it.
func (m *matcher) at(i int) string {
	if m.axis != "" {
		return []string{"0", m.axis, m.axis + "+1"}[i]
	}
	if m.open >= 0 && i > m.open {
		return m.length("len(x)", "-", m.elems[i:])
	}
	return m.length("", "+", m.elems[:i])
}

// part returns the dimensions of x that a run stands for.
func (m *matcher) part(i int) string {
	if len(m.elems) == 1 {
		return "x"
	}
	lo := ""
	if i > 0 {
		lo = m.at(i)
	}
	if i == len(m.elems)-1 {
		return "x[" + lo + ":]"
	}
	hi := m.at(i + 1)
	if m.open < 0 || i <= m.open {
		return "x[" + lo + ":" + hi + ":" + hi + "]"
	}
	return "x[" + lo + ":" + hi + "]"
}

// match emits the matching of a slot's shape against its pattern.
func (e *emitter) match(x *exprs, s *model.Slot) {
	elems := s.Pattern.Elems
	m := &matcher{x: x, tensor: "r.Tensor(Slot" + s.GoName + ")", elems: elems, open: -1}
	if s.Variadic {
		m.tensor = "t"
	}
	var known []scope.Elem
	for i, el := range elems {
		if el.Kind == scope.BindRest || el.Kind == scope.BindEachRest || el.Kind == scope.AnyRest {
			if m.open < 0 {
				m.open = i
			}
		} else {
			known = append(known, el)
		}
	}
	f := "Rank"
	if m.open >= 0 {
		f = "RankAtLeast"
	}
	call := fmt.Sprintf("%s.%s(%s)", m.tensor, f, m.length("", "+", known))
	stmts := ""
	if i, ok := scope.LaneDim(elems); ok {
		a := e.attr(elems[i].Axis.Name)
		m.axis = e.axisVar(a)
		stmts = m.axis + " := " + checkAxis(a, m.tensor, "a."+a.GoName) + "\n"
	}
	stmts += m.match(s)
	switch {
	case stmts != "":
		call = "if x, ok := " + call + "; ok {\n" + stmts + "}"
	case f == "RankAtLeast" && len(known) == 0:
		return
	}
	if s.Variadic {
		i := "_"
		if m.position {
			i = "i"
		}
		call = fmt.Sprintf("for %s, t := range r.Each(Slot%s) {\n%s\n}", i, s.GoName, call)
	}
	e.p("%s", call)
}

// match returns the statements that bind and compare the elements of the pattern.
func (m *matcher) match(s *model.Slot) string {
	var left, right []string
	same, each, stmts := "", "", ""
	equal := func(f, name, want, got string) string {
		return fmt.Sprintf("%s.%s(%q, %s, %s)\n", m.tensor, f, name, want, got)
	}
	for i, el := range m.elems {
		f, got := "", ""
		switch el.Kind {
		case scope.Bind, scope.AxisDim, scope.BindEach:
			f, got = "Equal", "x["+m.at(i)+"]"
		case scope.BindRest, scope.BindEachRest:
			f, got = "EqualDims", m.part(i)
		default:
			continue
		}
		dim := "d." + el.Name
		if el.Each {
			each += fmt.Sprintf("%s = append(%[1]s, %s)\n", dim, got)
			continue
		}
		left, right = append(left, dim), append(right, got)
		same += equal(f, el.Name, dim, got)
	}
	if len(left) > 0 {
		stmts = strings.Join(left, ", ") + " = " + strings.Join(right, ", ") + "\n"
		if s.Variadic {
			m.position = true
			stmts = "if i == 0 {\n" + stmts + "} else {\n" + same + "}\n"
		}
	}
	stmts += each
	for i, el := range m.elems {
		if el.Kind != scope.Match && el.Kind != scope.MatchAll {
			continue
		}
		text := el.Name
		if text == "" || uses(ofClass(expr.Position), el.Node) {
			text = elemText(el)
		}
		m.position = m.position || uses(ofClass(expr.Position), el.Node)
		if el.Kind == scope.Match {
			stmts += equal("Equal", text, m.x.code(el.Node, 0), "x["+m.at(i)+"]")
		} else {
			stmts += equal("EqualDims", text, m.x.code(el.Node, 0), m.part(i))
		}
	}
	return stmts
}

// elemText returns an element of a shape as the spec writes it, without the dots of a run.
func elemText(el scope.Elem) string {
	t := el.Span.File.Text[el.Span.Start:el.Span.End]
	if len(t) > 1 && (t[0] == '"' || t[0] == '\'') {
		t = t[1 : len(t)-1]
	}
	return strings.TrimSuffix(strings.TrimSpace(t), "...")
}
