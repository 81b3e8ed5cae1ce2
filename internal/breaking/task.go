package breaking

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/perm"
)

// tasks compares the signatures of tasks.
func (p *pair) tasks() {
	for _, t := range p.old.Tasks {
		i := slices.IndexFunc(p.now.Tasks, func(n *model.Task) bool { return n.Name == t.Name })
		if i < 0 {
			p.fail(plans, p.now.Pos, "the task %s is gone", t.Name)
			continue
		}
		n := p.now.Tasks[i]
		for _, f := range []struct {
			what string
			text func(*model.Operator, *model.Task) string
		}{{"has the tensors", params}, {"has the arguments", args}, {"has the steps", steps}, {"has the constraints", constraints}} {
			if was, is := f.text(p.old, t), f.text(p.now, n); was != is {
				p.fail(plans, n.Pos, "the task %s %s %s, before %s", t.Name, f.what, is, was)
			}
		}
		for _, pair := range inPlace(p.old, t) {
			if !slices.Contains(inPlace(p.now, n), pair) {
				p.fail(plans, n.Pos, "the task %s may not let %s any more", t.Name, pair)
			}
		}
	}
}

// params returns the tensors of a task with permissions.
func params(_ *model.Operator, t *model.Task) string {
	var out []string
	for _, p := range t.Params {
		text := fmt.Sprintf("%v ", p.Perm)
		if p.Redop != perm.NoRedop {
			text = fmt.Sprintf("reduce(%v) ", p.Redop)
		}
		if p.Grad {
			text += "the gradient of "
		}
		text += p.Name
		if p.Scatter {
			text += " element by element"
		}
		if p.Param.Optional {
			text += " if there is one"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// args returns the arguments of a task.
func args(_ *model.Operator, t *model.Task) string {
	var out []string
	for _, a := range t.Args {
		out = append(out, fmt.Sprintf("%s %s from %s", a.Name, a.Type, a.From))
	}
	return strings.Join(out, ", ")
}

// steps returns the steps of a task with the indices that each runs over.
func steps(o *model.Operator, t *model.Task) string {
	var out []string
	for _, s := range t.Steps {
		text := fmt.Sprintf("%s over %s", s.GoName, canonical(o, s.Over))
		if s.When != "" {
			text += " if " + canonical(o, s.When)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// constraints returns the constraints of a task.
func constraints(_ *model.Operator, t *model.Task) string {
	data, err := json.Marshal(t.Signature.Constraints)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// inPlace returns which tensors may lie where others lay.
func inPlace(o *model.Operator, t *model.Task) []string {
	var out []string
	for _, x := range t.InPlace {
		out = append(out, fmt.Sprintf("%s lie where %s lay", o.Slots[x.Slot].Name, o.Slots[x.Of].Name))
	}
	return out
}
