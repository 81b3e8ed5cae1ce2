package check

import (
	"github.com/opgen/opgen/formula/expr"
)

// pairs checks the uses of the two results of a logsumexp with two targets: the maximum, and the log of the
// sum relative to it. The gradient flows through the second one only, as if the two were one value. So each
// use must combine both: top[n] + rest[n], or x - top[n] - rest[n].
func (f *formula) pairs(ast *expr.Formula) {
	parts := map[string]bool{}
	together := map[*expr.Read]bool{}
	for _, s := range ast.Statements {
		if s.Pair() == nil {
			continue
		}
		top, ok := s.Targets[0].(*expr.Read)
		rest, both := s.Targets[1].(*expr.Read)
		if !ok || !both || index(top) != index(rest) {
			f.report(failf(s.Targets[1], expr.BadFormula, "the two parts of a logsumexp have the same indices: want %s[..], %s[..]", nameText(s.Targets[0]), nameText(s.Targets[1])))
			continue
		}
		parts[top.Name], parts[rest.Name] = true, true
		ast.Walk(func(n expr.Node) {
			if b, ok := n.(*expr.Binary); ok {
				for _, r := range used(b, top.Name, rest.Name) {
					together[r] = true
				}
			}
		})
	}
	for _, s := range ast.Statements {
		expr.Walk(s.X, func(n expr.Node) {
			if r, ok := n.(*expr.Read); ok && parts[r.Name] && !together[r] {
				err := failf(r, expr.BadFormula, "%s is a part of a logsumexp, and is used alone", r.Name)
				err.Hint = "use both parts: x - top[n] - rest[n], or top[n] + rest[n]"
				f.report(err)
			}
		})
	}
}

// used returns the reads of both parts of a logsumexp if b combines them: top + rest, or x - top - rest.
// Otherwise it returns nil.
func used(b *expr.Binary, top, rest string) []*expr.Read {
	second, ok := b.Y.(*expr.Read)
	if !ok || second.Name != rest || b.Op != "+" && b.Op != "-" {
		return nil
	}
	first, ok := b.X.(*expr.Read)
	if inner, isSum := b.X.(*expr.Binary); isSum && inner.Op == b.Op {
		first, ok = inner.Y.(*expr.Read)
	} else if b.Op == "-" {
		return nil
	}
	if !ok || first.Name != top || index(first) != index(second) {
		return nil
	}
	return []*expr.Read{first, second}
}

// index returns the subscripts of an element as text, for comparison.
func index(r *expr.Read) string {
	text := ""
	for _, g := range r.Groups {
		text += "["
		for _, n := range g {
			text += show(n) + ","
		}
	}
	return text
}

func nameText(n expr.Node) string {
	name, _ := targetName(n)
	return name
}
