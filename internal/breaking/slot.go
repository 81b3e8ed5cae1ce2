package breaking

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// types compares the element types of dtype variables.
func (p *pair) types() {
	for _, v := range p.old.Types {
		i := slices.IndexFunc(p.now.Types, func(n model.TypeVar) bool { return n.Name == v.Name })
		if i < 0 {
			continue // the types of slots show what that changes
		}
		for _, t := range v.Names {
			if !slices.Contains(p.now.Types[i].Names, t) {
				p.fail(plans, p.now.Types[i].Pos, "%s can not be %s any more", v.Name, t)
			}
		}
	}
}

// slots compares slots. Plans number them, so all must stay where they are.
func (p *pair) slots() {
	var was, is []string
	for _, s := range p.old.Slots {
		was = append(was, s.Name)
	}
	for _, s := range p.now.Slots {
		is = append(is, s.Name)
	}
	if !slices.Equal(was, is) {
		p.fail(plans, p.now.Pos, "the slots were %s, are %s", strings.Join(was, ", "), strings.Join(is, ", "))
	}
	for _, s := range p.old.Slots {
		i := slices.IndexFunc(p.now.Slots, func(n *model.Slot) bool { return n.Name == s.Name })
		if i < 0 {
			continue
		}
		n := p.now.Slots[i]
		if was, is := p.slotText(p.old, s), p.slotText(p.now, n); was != is {
			p.fail(plans, n.Pos, "the slot %s was %s, is %s", s.Name, was, is)
		}
		if optional(s) && !optional(n) {
			p.fail(plans, n.Pos, "the slot %s was optional, is not", s.Name)
		}
		if s.Variadic && n.Variadic && (n.Min > s.Min || n.Max < s.Max) {
			p.fail(plans, n.Pos, "the slot %s held %s tensors, holds %s", s.Name, s.Tensors(), n.Tensors())
		}
		if s.Gaps && !n.Gaps {
			p.fail(plans, n.Pos, "single tensors of %s could be absent, can not", s.Name)
		}
	}
}

func optional(s *model.Slot) bool { return s.Optional || s.OnRequest }

// slotText returns what plans store of a slot, or depend on.
func (p *pair) slotText(o *model.Operator, s *model.Slot) string {
	text := fmt.Sprintf("of role %v, %s%s", s.Role, s.Type, canonical(o, s.Slot.Shape))
	for _, f := range []struct {
		is   bool
		text string
	}{
		{s.Variadic, ", variadic"}, {s.Provided, ", of a shape that the caller gives"}, {s.PerWorker, ", for each worker"},
		{s.AuxLoss, ", an auxiliary loss"}, {s.Trainable, ", trainable"}, {s.CountedBy != "", ", counted by " + s.CountedBy},
		{s.Present != "" && s.Present != "caller", ", if " + canonical(o, s.Present)}, {s.Saved != "", ", saved if " + canonical(o, s.Saved)},
		{s.Below != "", ", below " + canonical(o, s.Below)}, {s.Except != "", " except " + canonical(o, s.Except)}, {s.Count != "", ", " + canonical(o, s.Count) + " tensors"},
	} {
		if f.is {
			text += f.text
		}
	}
	return text
}

var identifier = regexp.MustCompile(`[A-Za-z_]\w*`)

// canonical returns an expression or a shape with dimensions named after the slot that binds them, and with
// the expressions of those that the spec defines. So another name of a dimension is no change.
func canonical(o *model.Operator, text string) string {
	names, bound := map[string]string{}, map[string]int{}
	for _, d := range o.Dims {
		if d.From != "" {
			names[d.Name] = fmt.Sprintf("%s#%d", d.From, bound[d.From])
			bound[d.From]++
		}
	}
	for range o.Dims { // definitions may use other ones
		again := false
		text = identifier.ReplaceAllStringFunc(text, func(name string) string {
			i := slices.IndexFunc(o.Dims, func(d model.Dim) bool { return d.Name == name && d.From == "" })
			if i < 0 {
				return name
			}
			again = true
			return "(" + o.Dims[i].Text + ")"
		})
		if !again {
			break
		}
	}
	return identifier.ReplaceAllStringFunc(text, func(name string) string {
		if other, ok := names[name]; ok {
			return other
		}
		return name
	})
}

// requirements reports conditions that uses of the old version need not have met.
func (p *pair) requirements() {
	for _, n := range p.now.Requires {
		text := canonical(p.now, n.Text)
		if !slices.ContainsFunc(p.old.Requires, func(r model.Require) bool { return canonical(p.old, r.Text) == text }) {
			p.fail(plans, n.Pos, "there is a new requirement: %s", n.Text)
		}
	}
}

// weights returns the slots of variables.
func weights(o *model.Operator) []*model.Slot {
	return slices.DeleteFunc(slices.Clone(o.Slots), func(s *model.Slot) bool { return s.Role != task.RoleWeight })
}

// variables compares variables, which files store by the names of their slots.
func (p *pair) variables() {
	for _, w := range weights(p.old) {
		i := slices.IndexFunc(weights(p.now), func(n *model.Slot) bool { return n.Name == w.Name })
		if i < 0 {
			p.fail(variables, p.now.Pos, "the variable %s is gone", w.Name)
			continue
		}
		n := weights(p.now)[i]
		if was, is := w.Type+canonical(p.old, w.Slot.Shape), n.Type+canonical(p.now, n.Slot.Shape); was != is {
			p.fail(variables, n.Pos, "the variable %s was %s, is %s", w.Name, was, is)
		}
	}
	for _, n := range weights(p.now) {
		if !slices.ContainsFunc(weights(p.old), func(w *model.Slot) bool { return w.Name == n.Name }) && !p.absent(n) {
			p.fail(variables, n.Pos, "the variable %s is new: files do not have it", n.Name)
		}
	}
}

// absent reports whether a weight depends on attributes that the old version does not have, and that need not
// be given.
func (p *pair) absent(w *model.Slot) bool {
	if w.Present == "" {
		return false
	}
	for _, name := range identifier.FindAllString(w.Present, -1) {
		if slices.ContainsFunc(p.old.Attrs, func(a *model.Attr) bool { return a.Name == name }) {
			return false
		}
		i := slices.IndexFunc(p.now.Attrs, func(a *model.Attr) bool { return a.Name == name })
		if i >= 0 && required(p.now.Attrs[i]) {
			return false
		}
	}
	return true
}
