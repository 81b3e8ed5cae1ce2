package explain

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/task"
)

// inPlace returns a row for each tensor that may use the memory of another.
func inPlace(o *model.Operator) (rows [][]string) {
	for _, t := range o.Tasks {
		for _, p := range t.InPlace {
			slot, of := o.Slots[p.Slot].Name, o.Slots[p.Of].Name
			if t.Kind == task.KindBackward {
				slot, of = "grad of "+slot, "grad of "+of
			}
			row := []string{slot, "in the memory of " + of}
			if p.View {
				row = append(row, "the same elements")
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// fusions returns a row for each operator that can be fused into this one.
func fusions(o *model.Operator) (rows [][]string) {
	for _, f := range o.Fusions {
		var how []string
		for _, w := range f.When {
			how = append(how, "if its "+w.Attr+" in "+w.Values)
		}
		for _, w := range f.Own {
			how = append(how, "if "+w.Attr+" in "+w.Values)
		}
		for _, a := range f.Absent {
			how = append(how, "if "+a+" is absent")
		}
		for _, p := range f.Share {
			how = append(how, fmt.Sprintf("its %s is %s", p.Other, o.Slots[p.Own].Name))
		}
		for _, p := range f.Make {
			how = append(how, fmt.Sprintf("its %s becomes %s", p.Other, o.Slots[p.Own].Name))
		}
		for _, c := range f.Copy {
			how = append(how, c.Attr+" becomes its "+c.From)
		}
		if f.Set != "" {
			how = append(how, "with "+f.Set)
		}
		if f.Tolerance > 0 {
			how = append(how, fmt.Sprintf("equal within %v", f.Tolerance))
		}
		rows = append(rows, []string{f.Other, strings.Join(how, "; ")})
	}
	return rows
}
