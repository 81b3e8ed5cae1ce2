// Package explain prints the resolved model of an operator as text.
package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Operator prints the resolved model of an operator, with all that opgen inferred. The error is that of w.
func Operator(w io.Writer, o *model.Operator) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s)\n", o.Name, o.Kind, o.Source)
	for _, line := range strings.Split(strings.TrimSpace(o.Doc), "\n") {
		fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(line))
	}
	if o.Family != "" {
		fmt.Fprintf(&b, "  One of FlexFlow's %s operators.\n", o.Family)
	}
	if o.Since != "" {
		fmt.Fprintf(&b, "  Since %s.\n", o.Since)
	}
	if o.Deprec != "" {
		fmt.Fprintf(&b, "  Deprecated: %s\n", o.Deprec)
	}
	if o.Formula != "" {
		title := "Formula"
		if o.Derived {
			title = "Formula, which is the kernel"
		}
		fmt.Fprintf(&b, "\n%s\n%s\n", title, Indent("  ", o.Formula))
	}
	derived(&b, o)
	table := func(title string, rows [][]string) {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, r := range rows {
			fmt.Fprintf(tw, "  %s\n", strings.TrimRight(strings.Join(r, "\t"), "\t"))
		}
		tw.Flush()
	}
	var rows [][]string
	for _, v := range o.Types {
		from := ""
		if len(v.From) > 0 {
			from = "from " + strings.Join(v.From, ", ") + " unless an input binds it"
		}
		rows = append(rows, []string{v.Name, strings.Join(v.Names, ", "), from})
	}
	table("Element types", rows)
	rows = nil
	for _, a := range o.Attrs {
		rows = append(rows, []string{a.Name, AttrType(a), a.Doc})
	}
	table("Attributes", rows)
	rows = nil
	for _, s := range o.Slots {
		rows = append(rows, []string{s.Name, s.Role.String(), s.Type + s.Shape, SlotNotes(s)})
	}
	for _, a := range o.Args {
		rows = append(rows, []string{a.Name, "argument", a.Type, "from " + a.From})
	}
	table("Slots", rows)
	rows = nil
	for _, d := range o.Dims {
		name, from := d.Name, "bound by "+d.From
		if d.Each {
			name += "[i]"
		}
		if d.Rest {
			name += "..."
		}
		if d.From == "" {
			from = "= " + d.Text
		}
		rows = append(rows, []string{name, from})
	}
	table("Dimensions", rows)
	rows = nil
	for _, q := range o.Requires {
		rows = append(rows, []string{q.Name, q.Text, "else: " + q.Message})
	}
	table("Conditions", rows)
	rows = nil
	for _, s := range o.Shards {
		when := ""
		if s.When != "" {
			when = "if " + s.When
		}
		rows = append(rows, []string{s.Dim, s.Words(), when})
	}
	table("Sharding", rows)
	runs, cuts := Runs(o), tiles(o)
	for _, t := range o.Tasks {
		fmt.Fprintf(&b, "\nTask %s, id %v\n", t.Name, t.ID)
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, p := range t.Params {
			perm, group := p.Perm.String(), "-"
			if p.Redop != "" {
				perm += "(" + p.Redop.String() + ")"
			}
			if g, ok := task.GroupOf(p.Perm); ok {
				group = g.String()
			}
			fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\n", paramName(p), perm, group, arity(p), ParamNotes(t, p))
		}
		for _, a := range t.Args {
			fmt.Fprintf(tw, "  %s\targument\t%v\t%v\t%s\n", a.Name, partition.Scalars, a.Holds(false), argNotes(a))
		}
		tw.Flush()
		for _, s := range t.Returns {
			fmt.Fprintf(&b, "  makes the per-device state %s\n", s.Name)
		}
		constraints(&b, t)
		for _, v := range t.Floating {
			fmt.Fprintf(&b, "  only where %s is %s\n", o.Types[v].Name, strings.Join(t.Types[v].Names, ", "))
		}
		for _, s := range t.Steps {
			if !t.Invoked() {
				fmt.Fprintf(&b, "  runs %s once for each device\n", s.GoName)
				continue
			}
			line := "  runs " + s.GoName + " over " + s.Over
			if s.Loops {
				line = "  runs " + s.GoName + " in shares of its loops"
			}
			if s.Grain != "" {
				line += ", in ranges of " + s.Grain
			}
			if s.When != "" {
				line += ", if " + s.When
			}
			if s.Elementwise {
				line += ", element by element"
			}
			fmt.Fprintln(&b, line)
		}
		fmt.Fprintf(&b, "  on CPUs: %s\n  on GPUs: %s\n", runs[t].CPU, runs[t].GPU)
		if t.Invoked() {
			fmt.Fprintf(&b, "  tiles: %s\n", cuts[t])
		}
		if t.Flops != "" {
			bytes := t.Bytes
			if bytes == "" {
				bytes = "those of what it reads and writes"
			}
			fmt.Fprintf(&b, "  costs flops: %s; bytes: %s\n", t.Flops, bytes)
		}
	}
	table("In place", inPlace(o))
	if o.Inference != "" {
		fmt.Fprintf(&b, "\nIn inference\n  %s\n", o.Inference)
	}
	table("Fusions", fusions(o))
	rows = nil
	for i := range o.ONNX {
		rows = append(rows, ONNX(&o.ONNX[i]))
	}
	table("ONNX", rows)
	if o.Kind == "operator" && o.Task(task.KindBackward) == nil {
		fmt.Fprintf(&b, "\nNo backward: no gradient flows through %s.\n", o.Name)
	}
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// Indent returns a text with spaces in front of each line that is not empty, and none at the ends of lines.
func Indent(spaces, text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if line = strings.TrimRight(line, " \t\r"); line != "" {
			line = spaces + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// trimLines removes the spaces that tables put at the ends of lines.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// AttrType describes the values that an attribute may have.
func AttrType(a *model.Attr) string {
	t := a.Type
	if a.Enum != nil {
		var names []string
		for _, v := range a.Enum.Values {
			names = append(names, v.Name)
		}
		t += " " + strings.Join(names, "|")
	}
	if a.List {
		t = "list of " + t
	}
	if a.Axis != nil {
		t += " of " + a.Axis.Slot
		if a.Axis.Binds != "" {
			t += ", binds " + a.Axis.Binds
		}
	}
	if a.Min != nil {
		t += fmt.Sprintf(" >= %v", a.Min)
	}
	if a.Max != nil {
		t += fmt.Sprintf(" <= %v", a.Max)
	}
	switch {
	case a.Optional:
		t += ", optional"
	case a.Default != nil:
		t += fmt.Sprintf(" = %v", a.Default)
	default:
		t += ", required"
	}
	return t
}

// SlotNotes describes a slot beyond its role, type and shape.
func SlotNotes(s *model.Slot) string {
	var notes []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	add(s.OnRequest && !s.Asked(), "made on request")
	add(s.Asked(), "as many as the caller asks for")
	add(s.Present == "caller" && !s.OnRequest, "optional")
	add(s.Present != "" && s.Present != "caller", "if %s", s.Present)
	if s.Variadic {
		add(true, "%s tensors", s.Tensors())
	}
	add(s.Provided, "provided by the caller")
	add(s.Trainable, "trainable")
	add((s.Role == task.RoleInput || s.Role == task.RoleWeight) && !s.Trainable, "not trainable")
	add(s.Saved != "" && s.Saved != "true", "saved for backward if %s", s.Saved)
	add(s.Saved == "true" && s.Role == task.RoleOutput, "saved for backward")
	add(s.Saved == "" && (s.Role == task.RoleInput || s.Role == task.RoleWeight), "not needed by backward")
	add(s.PerWorker, "one for each worker")
	add(s.AuxLoss, "added to the loss")
	add(s.Below != "" && s.Except == "", "values below %s", s.Below)
	add(s.Except != "", "values below %s, or %s", s.Below, s.Except)
	add(s.Init.Operator != "", "initialized by %s", strings.TrimSpace(s.Init.Operator+" "+s.Init.Attrs))
	return strings.Join(notes, "; ")
}

// ParamNotes describes a slot of a task beyond its permission.
func ParamNotes(t *model.Task, p *model.Param) string {
	var notes []string
	if p.Grad && p.Perm == perm.Write {
		if p.Scatter {
			notes = append(notes, "added to, starting from zero")
		} else {
			notes = append(notes, "each element written once: stored, or added to earlier contributions")
		}
	}
	if p.IfText != "" {
		notes = append(notes, "if "+p.IfText)
	} else if p.Slot.Present != "" && p.Slot.Present != "caller" {
		notes = append(notes, "if "+p.Slot.Present)
	} else if p.Slot.Optional {
		notes = append(notes, "if present")
	}
	if !p.Inferred {
		notes = append(notes, "as the spec says")
	}
	return strings.Join(notes, "; ")
}

// derived prints what follows from the formula.
func derived(b *strings.Builder, o *model.Operator) {
	all := Derive(o)
	if len(all) > 0 {
		fmt.Fprintf(b, "\nWhat follows from the formula at the examples\n")
	}
	for _, d := range all {
		fmt.Fprintf(b, "  %s\n", d.Attrs)
		for _, line := range slices.Concat(d.Inlined, d.Gradient) {
			fmt.Fprintf(b, "    %s\n", line)
		}
		for _, line := range d.Division {
			fmt.Fprintf(b, "    %s\n", line)
		}
	}
}
