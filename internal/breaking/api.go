package breaking

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
)

// api returns the exported declarations of a package: functions, types with their fields and methods,
// constants with their values, and variables. A method of an interface is part of the interface, since
// another one breaks the types that implement it.
func api(p *types.Package) map[string]string {
	out := map[string]string{}
	text := func(t types.Type) string { return types.TypeString(t, (*types.Package).Name) }
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			out[name] = fmt.Sprintf("%s = %v", text(o.Type()), o.Val())
		case *types.TypeName:
			declared(o, text, out)
		default:
			out[name] = text(o.Type())
		}
	}
	return out
}

// declared adds a type, its exported fields and its methods.
func declared(o *types.TypeName, text func(types.Type) string, out map[string]string) {
	name := o.Name()
	t, ok := o.Type().(*types.Named)
	if !ok {
		out[name] = "= " + text(o.Type())
		return
	}
	head := ""
	for p := range t.TypeParams().TypeParams() {
		head += fmt.Sprintf("[%s %s]", p, text(p.Constraint()))
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		out[name] = head + text(t.Underlying())
	} else {
		comparable := "struct"
		if types.Comparable(s) {
			comparable = "comparable struct"
		}
		out[name] = head + comparable
		for f := range s.Fields() {
			if f.Exported() {
				out[name+"."+f.Name()] = text(f.Type())
			}
		}
	}
	for m := range t.Methods() {
		if m.Exported() {
			out[name+"."+m.Name()] = text(m.Type())
		}
	}
}

// apiChanges returns which declarations users of the old package would miss.
func apiChanges(old, now *types.Package) []string {
	var out []string
	was, is := api(old), api(now)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if text, ok := is[name]; !ok {
			out = append(out, name+" is gone")
		} else if text != was[name] {
			out = append(out, fmt.Sprintf("%s was %s, is %s", name, was[name], text))
		}
	}
	return out
}
