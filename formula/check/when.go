package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// cases goes through all values of the attributes that conditions of statements depend on.
type cases struct {
	*formula
	names   []string            // attributes, and present(slot)
	domains map[string][]string // what each may be
	value   map[string]string   // what each is
	opaque  bool                // whether other conditions count as booleans of their own
}

// absent is the value of an attribute that is not there, and other stands for all values of which only that
// matters.
const (
	absent = "absent"
	other  = "there"
)

// maxCases bounds how many cases are looked at.
const maxCases = 4096

// truth is what is known of a condition in a case.
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

// exhaustive checks that in each case one statement gives an output or a saved slot, and that no two do.
// Weights keep their values, and other values may be there in some cases only. It says nothing about
// conditions on anything but the values of enums and booleans, and on what is there.
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

// collect adds the attributes that a condition depends on. It reports whether that is all that it depends on.
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

// domain returns what an attribute, or present(slot), may be.
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

// leaf returns the attribute, or present(slot), that decides a condition, and the values for which it holds.
// Another condition decides itself, if those count: that of a comparison decides about the opposite one, too.
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

// known is leaf for conditions on the values of enums and booleans, and on what is there.
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

// holds evaluates a condition in the present case.
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

// each calls f for all cases, until f returns false.
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

// check checks the statements that give a tensor in one case. It returns false after a finding.
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

// possible reports whether a case is known to be one in which a tensor is there.
func (c *cases) possible(t *tensor) bool {
	conds := slices.Clone(c.required)
	if t.slot != nil && t.slot.Present != "" && t.slot.Present != "caller" {
		if n, err := expr.Parse(t.slot.Present); err == nil {
			conds = append(conds, n)
		}
	}
	return c.permitted(conds)
}

// permitted reports whether conditions are known to hold, or say nothing about the case.
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

// mentions reports whether a condition depends on one of the names.
func (c *cases) mentions(n expr.Node) (found bool) {
	expr.Walk(n, func(n expr.Node) {
		name, _, _ := c.leaf(n)
		found = found || slices.Contains(c.names, name) || slices.Contains(c.names, show(n))
	})
	return found
}

// text describes the present case.
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
