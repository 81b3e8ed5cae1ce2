package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/randomformula"
)

// shrinking is how long the search for a smaller formula may take.
const shrinking = 20 * time.Second

// shrinker looks for a smaller case with a finding of the same kind.
type shrinker struct {
	processes []*process
	want      *verdict
	best      *randomformula.Case
	message   string
	end       time.Time
	tried     map[string]bool
}

// smaller returns a smaller case with a finding of the same kind, and the finding.
func smaller(where []configuration, seed uint64, c *randomformula.Case, v *verdict) (*randomformula.Case, string) {
	s := &shrinker{want: v, best: c, message: v.Message, end: time.Now().Add(shrinking), tried: map[string]bool{}}
	for i, x := range where {
		if i == 0 || strings.HasPrefix(v.Variant, x.name) {
			s.processes = append(s.processes, &process{configuration: x, seed: seed, plain: i > 0})
		}
	}
	defer func() {
		for _, p := range s.processes {
			p.stop()
		}
	}()
	for s.pass() && time.Now().Before(s.end) {
	}
	return s.best, s.message
}

// pass tries all changes of the best case, and reports whether one was better.
func (s *shrinker) pass() bool {
	found := false
	for i := len(s.best.Lines) - 1; i >= 0 && s.best.Meant == nil; i-- {
		if i < len(s.best.Lines) && len(s.best.Lines) > 1 {
			c := s.best.Clone()
			c.Lines = slices.Delete(c.Lines, i, i+1)
			found = s.try(c) || found
		}
	}
	for _, d := range slices.Sorted(maps.Keys(s.best.Dims)) {
		for _, n := range []int{1, 2, 3, s.best.Dims[d] / 2, s.best.Dims[d] - 1} {
			if n > 0 && n < s.best.Dims[d] {
				c := s.best.Clone()
				c.Dims[d] = n
				found = s.try(c) || found
			}
		}
	}
	if len(s.best.Require) > 0 {
		c := s.best.Clone()
		c.Require = nil
		found = s.try(c) || found
	}
	for i := 0; i < len(s.best.Lines) && s.best.Meant == nil; i++ { // others would mean something else
		for _, line := range shorter(s.best.Lines[i]) {
			if time.Now().After(s.end) {
				return found
			}
			c := s.best.Clone()
			c.Lines[i] = line
			if s.try(c) {
				found = true
				break
			}
		}
	}
	return found
}

// try keeps a case if it has a finding of the same kind.
func (s *shrinker) try(c *randomformula.Case) bool {
	c.Tidy()
	key := fmt.Sprint(strings.Join(c.Lines, "\n"), c.Attrs, c.Require, c.Dims)
	if s.tried[key] || len(c.Outputs) == 0 || time.Now().After(s.end) {
		return false
	}
	s.tried[key] = true
	first := ""
	for i, p := range s.processes {
		v, err := p.ask(request{Case: c})
		if err != nil {
			return false
		}
		if i == 0 {
			first = v.Bits
		} else if v.Status == "right" && v.Bits != first {
			v.Status, v.Message = "wrong", s.want.Message
		}
		if same(v, s.want) {
			s.best, s.message = c, v.Message
			return true
		}
	}
	return false
}

// same reports whether two findings are of one kind.
func same(v, w *verdict) bool {
	kind := func(m string) string {
		switch {
		case strings.Contains(m, "NaN"):
			return "NaN"
		case strings.HasPrefix(m, "gradient"):
			return "gradient"
		}
		return ""
	}
	if v.Status == "wrong" {
		return w.Status == "wrong" && kind(v.Message) == kind(w.Message)
	}
	return v.Status == w.Status && kindOf(v.Message) == kindOf(w.Message)
}

// shorter lists shorter forms of a line: with a part of an expression in place of the expression, or a
// number.
func shorter(line string) []string {
	f, errs := expr.ParseFormula(line)
	if len(errs) > 0 {
		return nil
	}
	var out []string
	replace := func(n expr.Node, text string) {
		if l := line[:n.Pos()] + text + line[n.End():]; len(l) < len(line) {
			out = append(out, l)
		}
	}
	text := func(n expr.Node) string {
		t := line[n.Pos():n.End()]
		if _, binary := n.(*expr.Binary); binary {
			return "(" + t + ")"
		}
		return t
	}
	visit := func(n expr.Node) {
		switch n := n.(type) {
		case *expr.Binary:
			replace(n, text(n.X))
			replace(n, text(n.Y))
		case *expr.Unary:
			replace(n, text(n.X))
		case *expr.Cond:
			replace(n, text(n.Then))
			replace(n, text(n.Else))
		case *expr.Call:
			for _, a := range n.Args {
				replace(n, text(a))
			}
		case *expr.Reduce:
			if n.X != nil {
				replace(n, text(n.X))
			}
			if n.If != nil {
				replace(n, line[n.Pos():n.Binders[len(n.Binders)-1].End()]+line[n.If.End():n.End()])
			}
		case *expr.Read:
			if n.Else != nil {
				replace(n.Else, "0")
			}
		case *expr.Ident, *expr.Lit:
			return
		}
		switch n.(type) {
		case *expr.Binary, *expr.Cond, *expr.Call, *expr.Reduce, *expr.Read:
			replace(n, "1")
			replace(n, "0")
			replace(n, "0.5")
		}
	}
	f.Walk(visit)
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out
}
