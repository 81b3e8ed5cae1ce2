package rules

import (
	"strings"

	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Saved says when backward is given a slot's value: never (""), always ("true"), or under the condition that
// it returns. As in FlexFlow, backward gets every input and weight, and an output only if the spec
// says so. A spec may say otherwise.
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

// Param is a slot as a task sees it. Its number is that of the slot in the spec.
type Param struct {
	task.Param
	Slot     *spec.Slot
	Inferred bool // the spec gives the slot no other permission
}

// Params returns what a task gets: the values of slots in the spec's order, then, for backward, the
// gradients of floating-point outputs, which it reads, and those of trainable slots, which it computes.
func Params(s *spec.Spec, t *spec.Task) []Param {
	var params []Param
	for i, sl := range s.Slots {
		p := Param{task.Param{Slot: i, Perm: inferred(t.Name, sl)}, sl, true}
		if d, op, ok := declared(t, sl.Name); ok {
			p.Inferred = d == p.Perm
			p.Perm, p.Redop = d, op
		}
		cond := Saved(sl)
		p.Optional = t.Name == "backward" && p.Perm == perm.Read && p.Inferred && cond != "" && cond != "true"
		if p.Perm != perm.None {
			params = append(params, p)
		}
	}
	if t.Name != "backward" {
		return params
	}
	for i, sl := range s.Slots {
		p := Param{task.Param{Slot: i, Grad: true}, sl, true}
		switch {
		case sl.Role.V == "output" && s.MayBeFloat(sl.Type):
			p.Perm = perm.Read
		case s.Trainable(sl):
			p.Perm, p.Scatter = perm.Write, Scatters(t, sl.Name)
		default:
			continue
		}
		params = append(params, p)
	}
	return params
}

// Scatters reports whether a task adds to the elements of a slot's gradient in any order, rather than storing
// each once.
func Scatters(t *spec.Task, slot string) bool {
	for _, g := range t.Grads {
		if g.Slot == slot && g.Value.V == "scatter" {
			return true
		}
	}
	return false
}

// inferred returns the permission that a task has for a slot unless the spec says otherwise.
func inferred(task string, s *spec.Slot) perm.Perm {
	switch {
	case task == "init" || task == "cleanup":
		return perm.None // tensors hold nothing when they run
	case s.GradOf != "" && task == "backward":
		return perm.Scratch
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

// declared returns the permission that a spec gives for a slot. ok is false if it gives no valid one.
func declared(t *spec.Task, slot string) (p perm.Perm, op perm.Redop, ok bool) {
	a := Access(t, slot)
	if a == nil {
		return perm.None, perm.NoRedop, false
	}
	if name, reduce := Reduction(a.Value.V); reduce {
		op, err := perm.ParseRedop(name)
		return perm.Reduce, op, err == nil
	}
	p, err := perm.Parse(a.Value.V)
	return p, perm.NoRedop, err == nil && p != perm.Reduce
}

// Access returns what a task declares about its access to a slot, or nil.
func Access(t *spec.Task, slot string) *spec.Access {
	for _, a := range t.Access {
		if a.Slot == slot {
			return a
		}
	}
	return nil
}

// Reduction returns the operator in a text of the form reduce(op).
func Reduction(text string) (op string, ok bool) {
	inner, ok := strings.CutPrefix(text, "reduce(")
	op, closed := strings.CutSuffix(inner, ")")
	return op, ok && closed
}
