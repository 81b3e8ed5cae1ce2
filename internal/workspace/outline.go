package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/source"
)

// Symbol is a part of a spec: a section, or what it declares.
type Symbol struct {
	Name, Detail string
	Kind         Kind
	Span         source.Span // of all of it
	Select       source.Span // of its name
	Below        []Symbol
}

// Outline returns the sections of a spec with what they declare.
func (s *Snapshot) Outline(path string) []Symbol {
	d := s.read(path)
	if d == nil {
		return nil
	}
	var out []Symbol
	for _, e := range d.root.Entries {
		x := symbol(e, Key)
		section, declares := sections[e.Key]
		if t, ok := e.Value.(*source.Table); ok {
			if !declares {
				section = Declaration
			}
			for _, b := range t.Entries {
				x.Below = append(x.Below, symbol(b, section))
			}
		}
		if n, ok := e.Value.(*source.Scalar); ok {
			x.Detail = firstLine(fmt.Sprint(n.Value))
		}
		out = append(out, x)
	}
	return out
}

// symbol returns a key with its value.
func symbol(e *source.Entry, k Kind) Symbol {
	x := Symbol{Name: e.Key, Kind: k, Select: e.KeySpan, Span: e.KeySpan}
	if v := source.SpanOf(e.Value); v.File != nil {
		x.Span.Start, x.Span.End = min(x.Span.Start, v.Start), max(x.Span.End, v.End)
	}
	if t, ok := e.Value.(*source.Table); ok {
		var parts []string
		for _, key := range []string{"role", "type", "shape", "default"} {
			if v := t.Get(key); v != nil {
				parts = append(parts, strings.Trim(source.JSON(v.Value), `"`))
			}
		}
		x.Detail = strings.Join(parts, " ")
	}
	if x.Name == "" {
		x.Name = `""`
	}
	return x
}

func firstLine(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more {
		line += " ..."
	}
	return line
}

// Hint is a text beside a place of a formula that says what follows there.
type Hint struct {
	At   source.Span // behind which the text stands
	Text string
	Tip  string // more about it; "" if that is all
}

// Hints returns what follows from a formula: the shapes of what statements give, and the ranges of indices
// where a reduction or a for does not say them. It also tells what tasks cost, at the key of the formula. The
// error is that of ctx.
func (s *Snapshot) Hints(ctx context.Context, path string) ([]Hint, error) {
	c, err := s.known(ctx, path)
	if c == nil || err != nil || c.Spec == nil || !c.Spec.Formula.Set() || c.Spec.Formula.Node.File == nil {
		return nil, err
	}
	f, _ := expr.ParseFormula(c.Spec.Formula.V)
	node := c.Spec.Formula.Node
	var out []Hint
	given := map[string]bool{}
	for _, st := range f.Statements {
		t := st.Targets[len(st.Targets)-1]
		name, _, _ := target(t)
		if text := shapeOf(c, name); text != "" && !given[name] {
			given[name] = true
			out = append(out, Hint{At: node.Within(t.Pos(), t.End()), Text: ": " + text})
		}
	}
	explicit := map[int]bool{} // where the range of an index stands beside it
	f.Walk(func(n expr.Node) {
		if b, ok := n.(*expr.Binder); ok && b.Hi != nil {
			explicit[node.Within(b.X.Pos(), b.X.End()).Start] = true
		}
	})
	inReduction := map[int]bool{}
	f.Walk(func(n expr.Node) {
		if b, ok := n.(*expr.Binder); ok {
			expr.Walk(b.X, func(x expr.Node) { inReduction[node.Within(x.Pos(), x.End()).Start] = true })
		}
	})
	for _, x := range c.Spec.Indices {
		if inReduction[x.Pos.Start] && !explicit[x.Pos.Start] {
			out = append(out, Hint{At: x.Pos, Text: " in " + x.Range})
		}
	}
	if h, ok := costs(c); ok {
		out = append(out, h)
	}
	slices.SortStableFunc(out, func(a, b Hint) int { return a.At.End - b.At.End })
	return out, nil
}

// shapeOf returns the shape and the kind, or the type, of what a statement gives.
func shapeOf(c *checkedSpec, name string) string {
	for _, v := range c.Spec.Own {
		if v.Name == name {
			return strings.TrimSpace("[" + strings.Join(v.Shape, ", ") + "] " + v.Kind)
		}
	}
	if m := modelSlot(c, name); m != nil {
		return m.Type + m.Shape
	}
	for _, sl := range c.Spec.Slots {
		if sl.Name == name && sl.HasShape {
			var dims []string
			for _, n := range sl.Shape {
				if x, ok := n.(*source.Scalar); ok {
					dims = append(dims, fmt.Sprint(x.Value))
				}
			}
			return sl.Type.V + "[" + strings.Join(dims, ", ") + "]"
		}
	}
	return ""
}

// costs tells what the tasks of an operator cost, at the key of its formula.
func costs(c *checkedSpec) (Hint, bool) {
	if c.Operator == nil {
		return Hint{}, false
	}
	var short, long []string
	for _, t := range c.Operator.Tasks {
		if t.Flops == "" {
			continue
		}
		short = append(short, t.Name+" "+t.Flops+" flops")
		bytes := t.Bytes
		if bytes == "" {
			bytes = "those of what it reads and writes"
		}
		long = append(long, t.Name+": flops "+t.Flops+"; bytes "+bytes)
	}
	if len(short) == 0 {
		return Hint{}, false
	}
	d, err := source.Parse(c.Spec.File.Path, c.Spec.File.Text)
	if err != nil {
		return Hint{}, false
	}
	return Hint{At: d.Get("formula").KeySpan, Text: " // " + strings.Join(short, ", "), Tip: strings.Join(long, "\n\n")}, true
}

// Token is a piece of a text with what it means, for its color.
type Token struct {
	Span source.Span // in one line
	Kind Kind
	// Declares says that the name is declared here.
	Declares bool
}

// Tokens returns the names of a spec as pieces that do not overlap, sorted.
func (s *Snapshot) Tokens(path string) []Token {
	var out []Token
	end := 0
	for _, n := range s.namesOf(path) {
		if n.Span.Start < end || n.Span.Start == n.Span.End || strings.Contains(n.Span.File.Text[n.Span.Start:n.Span.End], "\n") {
			continue
		}
		out = append(out, Token{n.Span, n.Kind, n.Declares})
		end = n.Span.End
	}
	return out
}
