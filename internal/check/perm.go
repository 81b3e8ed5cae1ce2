package check

import (
	"strings"

	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/perm"
)

// Saved says when backward is given a slot's value: never (""), always ("true"), or under a condition,
// which it returns. FlexFlow's intended rule: backward gets every input and weight, and an output only
// if it is declared to need it. A spec may say otherwise.
func Saved(s *spec.Slot) string {
	if sc, ok := s.Saved.(*source.Scalar); ok {
		switch v := sc.Value.(type) {
		case string:
			return v
		case bool:
			if v {
				return "true"
			}
			return ""
		}
	}
	switch s.Role.V {
	case "input", "weight", "saved":
		return "true"
	}
	return ""
}

// Inferred returns the permission that a task has for a slot unless the spec says otherwise.
func Inferred(task string, s *spec.Slot) perm.Perm {
	switch {
	case task == "init" || task == "cleanup":
		return perm.None // they run while tensors hold nothing
	case s.Role.V == "scratch":
		return perm.None // a task that uses scratch memory says so
	case task == "backward":
		if Saved(s) == "" {
			return perm.None
		}
		return perm.Read
	case s.Role.V == "input" || s.Role.V == "weight":
		return perm.Read
	}
	return perm.Write
}

// Declared returns the permission that a spec writes down for a slot; ok is false if it writes none
// that exists.
func Declared(t *spec.Task, slot string) (p perm.Perm, op perm.Redop, ok bool) {
	a := accessOf(t, slot)
	if a == nil {
		return perm.None, perm.NoRedop, false
	}
	if name, reduce := reduction(a.Value.V); reduce {
		op, err := perm.ParseRedop(name)
		return perm.Reduce, op, err == nil
	}
	p, err := perm.Parse(a.Value.V)
	return p, perm.NoRedop, err == nil && p != perm.Reduce
}

// Permission returns what a task may do with a slot's tensor.
func Permission(t *spec.Task, s *spec.Slot) (perm.Perm, perm.Redop) {
	if p, op, ok := Declared(t, s.Name); ok {
		return p, op
	}
	return Inferred(t.Name, s), perm.NoRedop
}

// reduction returns the operator in a text of the form reduce(op).
func reduction(text string) (op string, ok bool) {
	inner, ok := strings.CutPrefix(text, "reduce(")
	op, closed := strings.CutSuffix(inner, ")")
	return op, ok && closed
}

// GradPermission returns what a backward task does with the gradient of a slot's tensor: it reads those
// of floating-point outputs and computes those of trainable inputs and weights.
func (o *operator) gradPermission(t *spec.Task, s *spec.Slot) perm.Perm {
	switch {
	case t.Name != "backward":
		return perm.None
	case s.Role.V == "output" && o.floatType(s.Type):
		return perm.Read
	case o.trainable(s):
		return perm.Write
	}
	return perm.None
}
