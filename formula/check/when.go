package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// cases enumerates all combinations of values of the attributes on which conditions depend.
type cases struct {
	*formula
	names   []string            // attributes, and present(slot) for slots
	domains map[string][]string // possible values of each
	value   map[string]string   // value of each in the current case
	opaque  bool                // whether other conditions count as boolean variables
}

// Values of optional attributes: absent if the attribute is absent, and other for all values of an attribute
// of which only the presence matters.
const (
	absent = "absent"
	other  = "there"
)

// maxCases bounds the number of cases that are enumerated.
const maxCases = 4096

// truth is the value of a condition in one case, in three-valued logic.
type truth int8

const (
	unknown truth = iota
	yes
	no
)

func truthOf(holds bool) truth {
	if holds {
		return yes
	}
	return no
}

// exhaustive reports an error unless in each case exactly one statement defines t, if t is an output or a
// saved slot. Weights and intermediate tensors may have no definition in some cases. It does nothing if a
// condition depends on more than enums, booleans and the presence of attributes and slots.
func (f *formula) exhaustive(t *tensor) {
	conditional := func(s *expr.Statement) bool { return s.When != nil }
	if t.bad || len(t.by) == 0 || !slices.ContainsFunc(t.by, conditional) {
		return
	}
	c := &cases{formula: f, domains: map[string][]string{}, value: map[string]string{}}
	for _, s := range t.by {
		if s.When == nil || !c.collect(s.When) {
			return
		}
	}
	size := 1
	for _, n := range c.names {
		if size *= len(c.domains[n]); size > maxCases {
			f.c.place = t.by[0].Targets[0]
			f.c.giveUp()
			return
		}
	}
	c.each(0, func() bool { return c.check(t) })
}

// collect adds the attributes on which condition n depends to those whose values are enumerated. It returns
// false if n depends on anything else.
func (c *cases) collect(n expr.Node) bool {
	switch n := n.(type) {
	case *expr.Unary:
		return n.Op == "!" && c.collect(n.X)
	case *expr.Binary:
		if n.Op == "&&" || n.Op == "||" {
			return c.collect(n.X) && c.collect(n.Y)
		}
	case *expr.Lit:
		_, ok := n.Value.(bool)
		return ok
	}
	name, _, ok := c.leaf(n)
	if !ok || c.domains[name] != nil {
		return ok
	}
	c.names = append(c.names, name)
	c.domains[name] = c.domain(name)
	return true
}

// domain returns the possible values of an attribute or of present(slot).
func (c *cases) domain(name string) []string {
	a := c.enumAttr(name)
	if a == nil {
		return []string{"true", "false"}
	}
	var values []string
	switch a.Type {
	case "enum":
		values, _ = c.enumValues(a)
	case "bool":
		values = []string{"true", "false"}
	default:
		values = []string{other}
	}
	if a.Optional {
		values = append(values, absent)
	}
	return values
}

// leaf returns the attribute, or the text present(slot), on which an atomic condition depends, and its values
// for which the condition holds. If opaque is set, other conditions are boolean variables of their own; a
// comparison and its negation share one.
func (c *cases) leaf(n expr.Node) (name string, values []string, ok bool) {
	if name, values, ok = c.known(n); ok || !c.opaque {
		return name, values, ok
	}
	b, isBinary := n.(*expr.Binary)
	if !isBinary {
		return show(n), []string{"true"}, true
	}
	x, y := show(b.X), show(b.Y)
	switch b.Op {
	case "==":
		return x + " == " + y, []string{"true"}, true
	case "!=":
		return x + " == " + y, []string{"false"}, true
	case "<":
		return x + " < " + y, []string{"true"}, true
	case ">=":
		return x + " < " + y, []string{"false"}, true
	case ">":
		return y + " < " + x, []string{"true"}, true
	case "<=":
		return y + " < " + x, []string{"false"}, true
	}
	return show(n), []string{"true"}, true
}

// known is leaf for conditions on enums, booleans and presence.
func (c *cases) known(n expr.Node) (name string, values []string, ok bool) {
	switch n := n.(type) {
	case *expr.Ident:
		a := c.enumAttr(n.Name)
		return n.Name, []string{"true"}, a != nil && a.Type == "bool"
	case *expr.Call:
		if len(n.Args) != 1 {
			return "", nil, false
		}
		switch n.Func {
		case "present":
			return show(n), []string{"true"}, true
		case "has":
			name := show(n.Args[0])
			return name, slices.DeleteFunc(c.domain(name), func(v string) bool { return v == absent }), c.enumAttr(name) != nil
		}
	case *expr.Binary:
		text, isText := literalText(n.Y)
		name := show(n.X)
		if a := c.enumAttr(name); a == nil || a.Type != "enum" || !isText {
			return "", nil, false
		}
		if n.Op == "==" {
			return name, []string{text}, true
		}
		return name, slices.DeleteFunc(c.domain(name), func(v string) bool { return v == text }), n.Op == "!="
	case *expr.In:
		name := show(n.X)
		a := c.enumAttr(name)
		for _, e := range n.List {
			text, isText := literalText(e)
			if !isText {
				return "", nil, false
			}
			values = append(values, text)
		}
		return name, values, a != nil && a.Type == "enum"
	}
	return "", nil, false
}

func literalText(n expr.Node) (string, bool) {
	l, ok := n.(*expr.Lit)
	if !ok {
		return "", false
	}
	s, ok := l.Value.(string)
	return s, ok
}

// holds evaluates a condition in the present case, in three-valued logic.
func (c *cases) holds(n expr.Node) truth {
	switch n := n.(type) {
	case *expr.Lit:
		if v, ok := n.Value.(bool); ok {
			return truthOf(v)
		}
	case *expr.Unary:
		if n.Op == "!" {
			return map[truth]truth{yes: no, no: yes}[c.holds(n.X)]
		}
	case *expr.Binary:
		x, y := unknown, unknown
		if n.Op == "&&" || n.Op == "||" {
			x, y = c.holds(n.X), c.holds(n.Y)
		}
		switch {
		case n.Op == "&&" && (x == no || y == no):
			return no
		case n.Op == "||" && (x == yes || y == yes):
			return yes
		case n.Op == "&&" && x == yes && y == yes:
			return yes
		case n.Op == "||" && x == no && y == no:
			return no
		}
	}
	name, values, ok := c.leaf(n)
	if v, known := c.value[name]; ok && known {
		return truthOf(slices.Contains(values, v))
	}
	return unknown
}

// each calls f for all cases, by recursion over the attributes from number i on. It stops when f returns
// false.
func (c *cases) each(i int, f func() bool) bool {
	if i == len(c.names) {
		return f()
	}
	for _, v := range c.domains[c.names[i]] {
		c.value[c.names[i]] = v
		if !c.each(i+1, f) {
			return false
		}
	}
	return true
}

// check reports an error if no statement, or more than one, defines tensor t in the present case. It returns
// false after a finding.
func (c *cases) check(t *tensor) bool {
	var given []int
	for i, s := range t.by {
		if c.holds(s.When) == yes {
			given = append(given, i)
		}
	}
	optional := c.states[t.name] || t.slot == nil || t.slot.Role == "scratch"
	if len(given) == 1 || len(given) == 0 && optional || !c.possible(t) {
		return true
	}
	if len(given) > 1 {
		c.report(failf(c.targetOf(t, given[1]), expr.BadFormula, "%s is given twice where %s", t.name, c.text()))
		return false
	}
	c.report(failf(c.targetOf(t, 0), expr.BadFormula, "no statement gives %s where %s", t.name, c.text()))
	return false
}

func (c *cases) targetOf(t *tensor, i int) expr.Node {
	for _, n := range t.by[i].Targets {
		if name, _ := targetName(n); name == t.name {
			return n
		}
	}
	return t.by[i].Targets[0]
}

// possible reports whether tensor t is known to be present in the present case, and the case satisfies
// [require].
func (c *cases) possible(t *tensor) bool {
	conds := slices.Clone(c.required)
	if t.slot != nil && t.slot.Present != "" && t.slot.Present != "caller" {
		if n, err := expr.Parse(t.slot.Present); err == nil {
			conds = append(conds, n)
		}
	}
	return c.permitted(conds)
}

// permitted reports whether no condition is false in the present case. An unknown condition that depends on
// an enumerated attribute counts as false.
func (c *cases) permitted(conditions []expr.Node) bool {
	for _, n := range conditions {
		switch c.holds(n) {
		case no:
			return false
		case unknown:
			if c.mentions(n) {
				return false
			}
		}
	}
	return true
}

// mentions reports whether a condition depends on an enumerated attribute.
func (c *cases) mentions(n expr.Node) (found bool) {
	expr.Walk(n, func(n expr.Node) {
		name, _, _ := c.leaf(n)
		found = found || slices.Contains(c.names, name) || slices.Contains(c.names, show(n))
	})
	return found
}

// text describes the present case in a message.
func (c *cases) text() string {
	var parts []string
	for _, n := range c.names {
		parts = append(parts, n+" is "+c.value[n])
	}
	if len(parts) == 0 {
		return "anything else holds"
	}
	return strings.Join(parts, " and ")
}
