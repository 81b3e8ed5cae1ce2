package workspace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/docs"
	"github.com/opgen/opgen/internal/explain"
	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
)

// Hover is what a name means, in Markdown, and where it stands.
type Hover struct {
	Span source.Span
	Text string
}

// Hover tells what the name at an offset means; nil if there is none. The error is that of ctx.
func (s *Snapshot) Hover(ctx context.Context, path string, offset int) (*Hover, error) {
	n := s.nameAt(path, offset)
	if n == nil {
		return nil, ctx.Err()
	}
	text, err := s.describe(ctx, path, n)
	if text == "" || err != nil {
		return nil, err
	}
	return &Hover{n.Span, text}, nil
}

// describe tells what a name means, in Markdown; "" if there is nothing to tell.
func (s *Snapshot) describe(ctx context.Context, path string, n *Name) (string, error) {
	switch n.Kind {
	case Key:
		text := keyText(n.key)
		if n.Text != "formula" && n.Text != "name" {
			return text, nil
		}
		c, err := s.known(ctx, path)
		if c != nil && c.Operator != nil {
			text += "\n\n" + block(all(c.Operator))
		}
		return text, err
	case ElementType:
		if types := dtype.Named(n.Text); types != nil {
			return code(n.Text) + ", the element types " + code(strings.Trim(fmt.Sprint(types), "[]")), nil
		}
		return code(n.Text) + ", an element type", nil
	case Builtin:
		return builtinText(n.Text), nil
	case Index:
		if n.Of != "" {
			return code(n.Text) + ", a parameter of " + code(n.Of), nil
		}
		c, err := s.known(ctx, path)
		if c == nil || err != nil {
			return "", err
		}
		return indexText(c.Spec, n), nil
	}
	home := s.pathOf(n.Spec)
	if home == "" {
		return "", nil
	}
	c, err := s.known(ctx, home)
	if c == nil || err != nil {
		return "", err
	}
	return memberText(c, n), nil
}

// code returns a text as code of Markdown.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// block returns a text as a block of code.
func block(text string) string { return "```text\n" + strings.TrimRight(text, "\n") + "\n```" }

// all is what opgen explain prints of an operator.
func all(o *model.Operator) string {
	var b strings.Builder
	_ = explain.Operator(&b, o) // a builder takes all
	return b.String()
}

// keyText describes a key of the language.
func keyText(k *keys.Key) string {
	text := code(k.Name) + ": " + k.Doc
	if words := slices.Concat(k.Words, k.Known); len(words) > 0 && len(words) <= 40 {
		text += "\n\nOne of " + code(strings.Join(words, ", "))
	}
	if k.Required {
		text += "\n\nRequired."
	}
	return text
}

// builtinText is the row of a table in the page about the spec language that has a function, or a reduction.
func builtinText(name string) string {
	for line := range strings.Lines(docs.Spec) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) < 2 || !strings.HasPrefix(cells[0], "| ") {
			continue
		}
		if first := cells[0]; strings.Contains(first, "`"+name+"`") || strings.Contains(first, "`"+name+"(") {
			cells[len(cells)-1] = strings.TrimSuffix(cells[len(cells)-1], " |")
			return strings.TrimSpace(strings.TrimPrefix(first, "| ")) + ": " + strings.Join(slices.DeleteFunc(cells[1:2], func(c string) bool { return c == "" }), ", ")
		}
	}
	return ""
}

// indexText tells what an index ranges over where it stands: as the last place in front of it says that binds
// it, in the same statement, or as the first one at all.
func indexText(s *spec.Spec, n *Name) string {
	text := ""
	for _, x := range s.Indices {
		if strings.TrimRight(x.Name, "'") == n.Text && (text == "" || x.Pos.Start <= n.Span.Start) {
			text = code(n.Text+" in "+x.Range) + ", an index"
		}
	}
	return cmp.Or(text, code(n.Text)+", an index")
}

// memberText describes a name that a spec declares.
func memberText(c *checkedSpec, n *Name) string {
	s := c.Spec
	if s == nil {
		return ""
	}
	switch n.Kind {
	case Spec:
		return specText(c)
	case Slot:
		return slotText(c, n.Text)
	case Attribute:
		return attrText(c, n)
	case Argument:
		for _, a := range s.Args {
			if a.Name == n.Text {
				return withDoc(code(a.Name)+", an argument from "+code(a.From.V), a.Doc.V)
			}
		}
	case Dimension:
		return dimText(c, n.Text)
	case TypeVariable:
		for _, v := range s.Types {
			if v.Name == n.Text {
				var types []string
				for _, t := range v.Types {
					types = append(types, t.V)
				}
				return code(v.Name) + ", one of " + code(strings.Join(types, ", "))
			}
		}
	case Value:
		for _, v := range s.Own {
			if v.Name == n.Text {
				return code(v.Name+"["+strings.Join(v.Shape, ", ")+"]") + ", a value of the formula" + kindText(v.Kind)
			}
		}
		return code(n.Text) + ", a value of the formula"
	case Function:
		return "```text\n" + lineOf(s.Formula.V, n.Text+"(") + "\n```"
	case EnumValue:
		return enumValueText(s, n)
	}
	return ""
}

func kindText(kind string) string {
	if kind == "" {
		return ""
	}
	return ", " + kind
}

func withDoc(text, doc string) string {
	if doc != "" {
		text += "\n\n" + doc
	}
	return text
}

// lineOf returns the line of a formula that begins with a text, with the lines that continue it.
func lineOf(formula, begin string) string {
	var out []string
	for line := range strings.Lines(formula) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, begin):
			out = []string{line}
		case out != nil && strings.HasPrefix(line, " "):
			out = append(out, line)
		case out != nil:
			return strings.Join(out, "\n")
		}
	}
	return strings.Join(out, "\n")
}

func specText(c *checkedSpec) string {
	s := c.Spec
	if s.File == nil {
		return code(s.Base) + ", a spec that cannot be read"
	}
	text := "**" + s.Name.V + "**, " + article(string(s.Kind)) + " in " + s.File.Path
	text = withDoc(text, strings.TrimSpace(s.Doc.V))
	if s.Formula.Set() {
		text += "\n\n" + block(strings.TrimSpace(s.Formula.V))
	}
	var slots []string
	for _, sl := range s.Slots {
		if m := modelSlot(c, sl.Name); m != nil && (sl.Role.V == "input" || sl.Role.V == "weight" || sl.Role.V == "output") {
			slots = append(slots, fmt.Sprintf("%s %s %s%s", sl.Role.V, sl.Name, m.Type, m.Shape))
		}
	}
	if len(slots) > 0 {
		text += "\n\n" + block(strings.Join(slots, "\n"))
	}
	return text
}

func article(kind string) string {
	if strings.ContainsRune("aeiou", rune((kind + "x")[0])) {
		return "an " + kind
	}
	return "a " + kind
}

// modelSlot returns the model of a slot; nil if the spec has findings.
func modelSlot(c *checkedSpec, name string) *model.Slot {
	if c.Operator == nil {
		return nil
	}
	i := slices.IndexFunc(c.Operator.Slots, func(s *model.Slot) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return c.Operator.Slots[i]
}

func slotText(c *checkedSpec, name string) string {
	i := slices.IndexFunc(c.Spec.Slots, func(s *spec.Slot) bool { return s.Name == name })
	if i < 0 {
		return ""
	}
	sl := c.Spec.Slots[i]
	var dims []string
	for _, n := range sl.Shape {
		if x, ok := n.(*source.Scalar); ok {
			dims = append(dims, fmt.Sprint(x.Value))
		}
	}
	text := code(name+" "+sl.Type.V+"["+strings.Join(dims, ", ")+"]") + ", " + sl.Role.V
	if m := modelSlot(c, name); m != nil {
		text = code(name+" "+m.Type+m.Shape) + ", " + m.Role.String()
		if notes := explain.SlotNotes(m); notes != "" {
			text += ": " + notes
		}
		for _, t := range c.Operator.Tasks {
			for _, p := range t.Params {
				if p.Slot == m {
					grad := ""
					if p.Grad {
						grad = "the gradient of "
					}
					text += fmt.Sprintf("  \n%s: %s%s %s", t.Name, grad, name, p.Perm)
				}
			}
		}
	}
	return withDoc(text, sl.Doc.V)
}

func attrText(c *checkedSpec, n *Name) string {
	path := []string{n.Text}
	if n.Of != "" {
		path = []string{n.Of, n.Text}
	}
	a := attrOf(c.Spec, path)
	if a == nil {
		return ""
	}
	what := a.Type.V
	if c.Operator != nil {
		list := c.Operator.Attrs
		var m *model.Attr
		for _, name := range path {
			for _, x := range list {
				if x.Name == name {
					m = x
				}
			}
			if m != nil {
				list = m.Fields
			}
		}
		if m != nil && m.Name == n.Text {
			what = explain.AttrType(m)
		}
	}
	return withDoc(code(strings.Join(path, "."))+", "+what, a.Doc.V)
}

func dimText(c *checkedSpec, name string) string {
	if c.Operator != nil {
		for _, d := range c.Operator.Dims {
			switch {
			case d.Name != name:
			case d.From != "":
				return code(name) + ", a dimension that the shape of " + code(d.From) + " binds"
			default:
				return code(name+" = "+d.Text) + ", a dimension"
			}
		}
	}
	for _, d := range c.Spec.Dims {
		if d.Name == name {
			return code(name+" = "+d.Expr.V+d.Func.V) + ", a dimension"
		}
	}
	return code(name) + ", a dimension"
}

func enumValueText(s *spec.Spec, n *Name) string {
	prefix := ""
	if n.Of != "" {
		prefix = n.Of + "."
	}
	text, doc := code(n.Text)+", a value of "+code(strings.TrimSuffix(n.Spec+"."+n.Of, ".")), ""
	for _, v := range s.Values {
		if v.Name.V == n.Text && n.Of == "" {
			doc = v.Doc.V
		}
	}
	text = withDoc(text, doc)
	if line := lineOf(s.Formula.V, prefix+n.Text+"("); line != "" {
		text += "\n\n" + block(line)
	}
	return text
}
