package check

import (
	"slices"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

// goScope collects the Go names in one scope of generated code.
type goScope struct {
	o     *operator
	fixed []string // names that the scope holds for every spec
	from  map[string]claim
}

// claim is the declaration that a Go name derives from.
type claim struct {
	what string
	span source.Span
}

func (o *operator) goScope(fixed ...string) *goScope {
	return &goScope{o, fixed, map[string]claim{}}
}

// claim records that the declaration at span has a Go name. It reports a name that another declaration has.
// Several Go names may derive from a declaration, but one clash is reported.
func (g *goScope) claim(name, what string, span source.Span) (ok bool) {
	first, taken := g.from[name]
	switch {
	case g.o.clashing[span]:
		return false
	case taken && first.span == span:
		return true
	case slices.Contains(g.fixed, name):
		g.o.list.Add(diag.Reserved, span, "%s becomes the Go name %s, which generated code uses for something else", what, name)
	case taken:
		g.o.list.Add(diag.Duplicate, span, "%s and %s both become the Go name %s", first.what, what, name).See(first.span, "the other one")
	default:
		g.from[name] = claim{what, span}
		return true
	}
	g.o.clashing[span] = true
	return false
}

// goNames checks that declarations have different Go names. Package scope checks that their names in the spec
// differ.
func (o *operator) goNames() {
	fixed := []string{"Attrs", "Defaults", "Slot", "Dims", "Kernel", "Kernels", "Register", "Operator"}
	switch o.s.Kind {
	case spec.Optimizer:
		fixed = append(fixed, "Optimizer")
	case spec.Operator:
		fixed = append(fixed, "Apply")
		returned := 0
		for _, s := range o.s.Slots {
			if s.Role.V == "output" && s.Present.V != "caller" && !s.AuxLoss.V {
				returned++
			}
		}
		if returned > 1 {
			fixed = append(fixed, "Outputs")
		}
	}
	for _, t := range o.s.Tasks {
		g := goname.Exported(t.Name)
		fixed = append(fixed, g, g+"Task")
		if t.Name != "init" && t.Name != "cleanup" {
			fixed = append(fixed, g+"Tensors")
		}
		if t.Name == "backward" {
			fixed = append(fixed, "BackwardKernel")
		}
	}
	for _, s := range o.s.Slots {
		fixed = append(fixed, "Slot"+goname.Exported(s.Name))
	}
	for _, a := range o.s.Args {
		fixed = append(fixed, "Slot"+goname.Exported(a.Name))
	}
	for _, v := range o.s.Types {
		o.goScope(fixed...).claim(v.Name, "dtype variable "+v.Name, v.Key)
	}
	pkg := o.goScope(fixed[:len(fixed)-len(o.s.Slots)-len(o.s.Args)]...)
	o.slotNames(pkg)
	fields := o.goScope("Validate")
	for _, a := range o.s.Attrs {
		g := goname.Exported(a.Name)
		fields.claim(g, "attribute "+a.Name, a.Key)
		if a.Default != nil || a.Optional.V {
			fields.claim("With"+g, "attribute "+a.Name, a.Key)
		}
		switch {
		case a.Type.V == "record":
			pkg.claim(g, "attribute "+a.Name, a.Key)
			pkg.claim("New"+g, "attribute "+a.Name, a.Key)
			record := o.goScope("String", "UnmarshalJSON")
			for _, f := range a.Fields {
				record.claim(goname.Exported(f.Name), "field "+f.Name, f.Key)
				if f.Default != nil || f.Optional.V {
					record.claim("With"+goname.Exported(f.Name), "field "+f.Name, f.Key)
				}
				o.enumNames(pkg, g+goname.Exported(f.Name), "field "+f.Name, f)
			}
		default:
			o.enumNames(pkg, g, "attribute "+a.Name, a)
		}
	}
	methods := o.goScope()
	for _, t := range o.s.Tasks {
		for _, s := range t.Steps {
			methods.claim(goname.Exported(t.Name)+goname.Exported(s.Name), "step "+s.Name, s.Key)
		}
	}
}

// slotNames claims the types and constants of slots and arguments, and their fields and methods in the
// arguments of tasks.
func (o *operator) slotNames(pkg *goScope) {
	backward := false
	for _, t := range o.s.Tasks {
		backward = backward || t.Name == "backward"
	}
	args := o.goScope("Attrs", "Dims", "Invoke")
	for _, s := range o.s.Slots {
		if slices.Contains(rules.ReservedSlots, s.Name) || o.sc.Where(s.Name) != s.Key {
			continue // already reported
		}
		g := goname.Exported(s.Name)
		args.claim(g, "slot "+s.Name, s.Key)
		pkg.claim("Slot"+g, "slot "+s.Name, s.Key)
		if s.Role.V != "scratch" {
			pkg.claim(g, "slot "+s.Name, s.Key)
		}
		if backward && (o.s.Trainable(s) || s.Role.V == "output" && o.s.MayBeFloat(s.Type)) {
			args.claim("Grad"+g, "the gradient of "+s.Name, s.Key)
			pkg.claim("Grad"+g, "the gradient of "+s.Name, s.Key)
		}
	}
	for _, a := range o.s.Args {
		if o.sc.Where(a.Name) != a.Key {
			continue // already reported
		}
		g := goname.Exported(a.Name)
		if a.Name != "attrs" || a.From.V != "attrs" { // every task has that field
			args.claim(g, "argument "+a.Name, a.Key)
		}
		pkg.claim("Slot"+g, "argument "+a.Name, a.Key)
		switch {
		case a.From.V == "call" && a.Default != nil:
			pkg.claim("With"+g, "argument "+a.Name, a.Key)
		case a.From.V == "call":
			pkg.claim(g, "argument "+a.Name, a.Key)
		}
	}
}

// enumNames claims the type and the constants of an enum that belongs to an attribute.
func (o *operator) enumNames(pkg *goScope, name, what string, a *spec.Attr) {
	if a.Type.V != "enum" || a.Enum.Set() {
		return
	}
	if !pkg.claim(name, what, a.Key) {
		return
	}
	seen := map[string]bool{} // enumValues reports values with the same Go name
	for _, v := range a.Values {
		if g := goname.Exported(v.V); g != "" && !seen[g] {
			seen[g] = true
			pkg.claim(name+g, "value "+v.V, v.Span())
		}
	}
}
