package check

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
)

// setRange declares x as the range of an index in the checked statement. The first declared range is kept.
// The statements that declare one are recorded, since each may be conditional.
func (f *formula) setRange(base string, x *extent) {
	if f.ranges[base] == nil {
		f.ranges[base] = x
	}
	if s := f.checked; s != nil && !slices.Contains(f.ranging[base], s) {
		f.ranging[base] = append(f.ranging[base], s)
	}
}

// ranged returns an error if there is a case in which the checked statement counts but no statement that
// declares the range of the index does. A statement does not count if its `when` is false or all of its
// targets are absent. It enumerates the cases.
func (f *formula) ranged(n expr.Node, name string) *expr.Error {
	base := strings.TrimRight(name, "'")
	by := f.ranging[base]
	if d, _ := f.dimOf(base); d != "" || f.checked == nil || len(by) == 0 || slices.Contains(by, f.checked) {
		return nil
	}
	c := &cases{formula: f, domains: map[string][]string{}, value: map[string]string{}, opaque: true}
	use := f.conditions(f.checked)
	var given [][]expr.Node
	for _, s := range by {
		conditions := f.conditions(s)
		if len(conditions) == 0 {
			return nil
		}
		given = append(given, conditions)
	}
	size := 1
	for _, conditions := range append(given, use) {
		for _, n := range conditions {
			c.collect(n)
		}
	}
	for _, name := range c.names {
		if size *= len(c.domains[name]); size > maxCases {
			f.c.place = n
			f.c.giveUp()
			return nil
		}
	}
	all := func(conditions []expr.Node) bool {
		return !slices.ContainsFunc(conditions, func(n expr.Node) bool { return c.holds(n) != yes })
	}
	var err *expr.Error
	c.each(0, func() bool {
		if all(use) && c.permitted(c.required) && !slices.ContainsFunc(given, all) {
			err = failf(n, expr.BadFormula, "nothing says over what %s ranges where %s", name, c.text())
			err.Hint = "give it a range here, too, as the line does that counts in other cases"
		}
		return err == nil
	})
	if err != nil { // once for all lines that follow
		f.ranging[base] = append(by, f.checked)
	}
	return err
}

// conditions returns the conditions under which a statement counts: its `when`, and that one of its targets
// is present.
func (f *formula) conditions(s *expr.Statement) []expr.Node {
	var out []expr.Node
	if s.When != nil {
		out = append(out, s.When)
	}
	var there expr.Node // some target is there
	for _, t := range s.Targets {
		name, _ := targetName(t)
		x := f.tensors[name]
		if x == nil || x.slot == nil || x.slot.Present == "" || f.used[name] {
			return out
		}
		var n expr.Node
		if x.slot.Present == "caller" {
			n = &expr.Call{Func: "present", Args: []expr.Node{expr.NewIdent(name, t.Pos(), t.End())}}
		} else if p, err := expr.Parse(x.slot.Present); err == nil {
			n = p
		}
		switch {
		case n == nil:
			return out
		case there == nil:
			there = n
		default:
			there = &expr.Binary{Op: "||", X: there, Y: n}
		}
	}
	if there == nil {
		return out
	}
	return append(out, there)
}
