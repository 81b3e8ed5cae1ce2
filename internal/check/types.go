package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/dtype"
)

// containers lists the containers of tensors by name, with their number of types and the noun for messages.
var containers = map[string]struct {
	args int
	what string
}{
	"seq": {1, "sequences"}, "optional": {1, "optionals"}, "sparse": {1, "sparse tensors"}, "map": {2, "maps"},
}

// maxType is how many bytes the type of a slot may have.
const maxType = 200

// slotType checks the type of a slot.
func (o *operator) slotType(s spec.Str) {
	if len(s.V) > maxType {
		o.list.Add(diag.BadType, s.Span(), "want a type of at most %d bytes, got %d", maxType, len(s.V))
		return
	}
	if later := o.typeAt(s.Node, s.V, 0, true); later != "" {
		o.list.Add(diag.NotYet, s.Span(), "%s are not supported yet", later)
	}
}

// typeAt checks a type at a byte offset of a string: an element type or, with orVar, a dtype variable, or a
// container of types. It returns a description of what is not supported yet, or "".
func (o *operator) typeAt(at *source.Scalar, text string, offset int, orVar bool) (later string) {
	if offset > 0 { // spaces may surround the types in a container
		trimmed := strings.TrimLeft(text, " ")
		offset += len(text) - len(trimmed)
		text = strings.TrimRight(trimmed, " ")
	}
	span := at.Within(offset, offset+len(text))
	if open := strings.IndexByte(text, '('); open >= 0 && strings.HasSuffix(text, ")") {
		name := text[:open]
		c, ok := containers[name]
		if !ok {
			d := o.list.Add(diag.BadType, at.Within(offset, offset+open), "there is no container of tensors named %s", name)
			d.Hinted("types are T, seq(T), optional(T), sparse(T) and map(K, T)")
			return ""
		}
		args := typeArgs(text[open+1 : len(text)-1])
		if len(args) != c.args {
			o.list.Add(diag.BadType, span, "%s takes %s, got %d", name, count(c.args, "type"), len(args))
		}
		from := offset + open + 1
		for _, a := range args {
			o.typeAt(at, a, from, orVar)
			from += len(a) + 1
		}
		return "slots that hold " + c.what
	}
	if orVar && o.sc.What(text) == "dtype variable" {
		o.typeUsed[text] = true
		return ""
	}
	t, err := dtype.Parse(text)
	if err != nil || t.String() != text {
		if orVar && o.s.Unread["dtypes"] {
			return ""
		}
		d := o.list.Add(diag.BadType, span, "there is no element type %q", text)
		var candidates []string
		if orVar {
			for _, v := range o.s.Types {
				candidates = append(candidates, v.Name)
			}
		}
		candidates = append(candidates, dtype.Names()...)
		if n := ofGo(text); n != "" {
			d.Meant(text, n)
		} else if n := strings.TrimSpace(text); slices.Contains(candidates, n) {
			d.Meant(text, n)
		} else if d.Nearest(text, candidates) == "" {
			d.Hinted("element types are %s", strings.Join(candidates, ", "))
		}
		return ""
	}
	if t.GoType() == "" {
		return "tensors of " + text
	}
	return ""
}

// ofGo returns the element type that has the given name in Go, or "".
func ofGo(name string) string {
	for _, n := range dtype.Names() {
		if t, err := dtype.Parse(n); err == nil && t.Host() == t && t.GoType() == name {
			return n
		}
	}
	return ""
}

func count(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// typeArgs splits the types in a container's parentheses at the commas that no inner ones enclose.
func typeArgs(s string) []string {
	var args []string
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				args = append(args, s[from:i])
				from = i + 1
			}
		}
	}
	return append(args, s[from:])
}

// typeNames returns the names of the element types and dtype variables in a type.
func typeNames(t string) []string {
	names := strings.FieldsFunc(t, func(r rune) bool { return strings.ContainsRune("(), ", r) })
	return slices.DeleteFunc(names, func(n string) bool { _, ok := containers[n]; return ok })
}

// maxNamed is the largest number of types that one finding names.
const maxNamed = 4

func (o *operator) typeVar(v *spec.TypeVar) {
	o.upperName(v.Name, "dtype variable", v.Key)
	if len(v.Types) == 0 && !v.Bad {
		o.list.Add(diag.BadValue, v.TypesSpan, "dtype variable %s: want at least one element type", v.Name)
	}
	seen := map[string]bool{}
	var later []spec.Str // types that are not supported yet
	why := ""
	for _, t := range v.Types {
		if seen[t.V] {
			o.list.Add(diag.Duplicate, t.Span(), "element type %s is listed twice", t.V)
			continue
		}
		seen[t.V] = true
		if w := o.typeAt(t.Node, t.V, 0, false); w != "" {
			later, why = append(later, t), w
		}
	}
	switch n := len(later); {
	case n == 1:
		o.list.Add(diag.NotYet, later[0].Span(), "%s are not supported yet", why)
	case n > 1:
		// One finding reports them all, since some operators allow dozens.
		var names []string
		for _, t := range later[:min(n, maxNamed)] {
			names = append(names, t.V)
		}
		text := strings.Join(names, ", ")
		if n > maxNamed {
			text += fmt.Sprintf(" and %d more", n-maxNamed)
		}
		o.list.Add(diag.NotYet, later[0].Span(), "types %s of %s are not supported yet", text, v.Name)
	}
	if len(v.From) > 0 {
		o.from(v)
	}
	if !o.typeUsed[v.Name] && o.typesCertain() {
		o.list.Add(diag.Unused, v.Key, "no slot has the element type %s", v.Name)
	}
}

// maxVariants is the largest number of kernels of an operator.
const maxVariants = 1000

// variants checks that dtype variables have at most maxVariants combinations.
func (o *operator) variants() {
	n := 1
	for _, v := range o.s.Types {
		if n *= max(len(v.Types), 1); n > maxVariants {
			o.list.Add(diag.NotYet, v.Key, "with %s, dtype variables have more than %d combinations, each of which needs a kernel; that is not supported yet", v.Name, maxVariants)
			return
		}
	}
}

// typedAttrs lists the types of attributes that determine an element type, by their value or by their own
// type.
var typedAttrs = []string{"dtype", "type", "tensor", "sparse", "bool", "int", "float", "number", "string"}

// from checks the names in a dtype variable's key from, which bind it if no input does.
func (o *operator) from(v *spec.TypeVar) {
	if names := o.cycle(v); names != nil {
		o.list.Add(diag.Cyclic, v.From[0].Span(), "dtype variable %s is bound by itself: %s", v.Name, strings.Join(append(names, v.Name), " <- "))
	}
	for _, f := range v.From {
		switch o.sc.What(f.V) {
		case "attribute":
			for _, a := range o.s.Attrs {
				switch {
				case a.Name != f.V || !a.Type.Set():
				case a.List.V && (a.Type.V == "dtype" || a.Type.V == "type"):
					o.list.Add(diag.BadType, f.Span(), "%s gives a list of element types, not one", f.V)
				case !slices.Contains(typedAttrs, a.Type.V):
					o.list.Add(diag.BadType, f.Span(), "%s gives no element type: it is an attribute of type %s", f.V, a.Type.V).
						Hinted("attributes of type %s do", strings.Join(typedAttrs, ", "))
				}
			}
		case "dtype variable":
		default:
			if t, err := dtype.Parse(f.V); err != nil || t.String() != f.V {
				d := o.list.Add(diag.Undefined, f.Span(), "there is no attribute, dtype variable or element type %s", f.V)
				o.sc.Suggest(d, f.V, "attribute")
			} else if !slices.ContainsFunc(v.Types, func(t spec.Str) bool { return t.V == f.V }) {
				o.list.Add(diag.BadType, f.Span(), "%s is not one of the types of %s", f.V, v.Name)
			}
		}
	}
}

// cycle returns the dtype variables of a cycle that begins with v. Each may get its type from the next, and
// the last from v. It returns nil if there is no cycle, or if the spec declares another variable of the cycle
// before v.
func (o *operator) cycle(v *spec.TypeVar) []string {
	seen := map[string]bool{}
	var visit func(w *spec.TypeVar) []string
	visit = func(w *spec.TypeVar) []string {
		seen[w.Name] = true
		for _, f := range w.From {
			if f.V == v.Name {
				return []string{w.Name}
			}
			i := slices.IndexFunc(o.s.Types, func(x *spec.TypeVar) bool { return x.Name == f.V })
			if i < 0 || seen[f.V] || i < slices.Index(o.s.Types, v) {
				continue
			}
			if rest := visit(o.s.Types[i]); rest != nil {
				return append([]string{w.Name}, rest...)
			}
		}
		return nil
	}
	return visit(v)
}

// typesCertain reports whether the roles and types of all slots are valid. If not, any slot may have a dtype
// variable.
func (o *operator) typesCertain() bool {
	return !o.s.Unread["slots"] && !slices.ContainsFunc(o.s.Slots, func(s *spec.Slot) bool { return !o.certain(s) })
}

// typeBound reports whether something determines dtype variable v even if all optional inputs are absent. It
// returns true if a slot could not be read.
func (o *operator) typeBound(v string) bool {
	if !o.typesCertain() {
		return true
	}
	for _, tv := range o.s.Types {
		if tv.Name == v && len(tv.From) > 0 {
			return true
		}
	}
	for _, s := range o.s.Slots {
		if scope.Provided(o.s, s) && !s.Present.Set() && !s.MaybeEmpty() && !s.Mixed() && slices.Contains(typeNames(s.Type.V), v) {
			return true
		}
	}
	return false
}

// floatType reports whether every element type that a slot may have is a floating-point one.
func (o *operator) floatType(s spec.Str) bool {
	for _, v := range o.s.Types {
		if v.Name == s.V {
			return !slices.ContainsFunc(v.Types, func(t spec.Str) bool {
				p, err := dtype.Parse(t.V)
				return err == nil && !p.IsFloat() || strings.Contains(t.V, "(")
			})
		}
	}
	t, err := dtype.Parse(s.V)
	return err == nil && t.IsFloat()
}
