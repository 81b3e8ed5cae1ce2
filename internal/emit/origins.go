package emit

import (
	"strings"

	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
)

// Origins are the lines of a spec from which the declarations of the spec's package come.
type Origins struct {
	Spec    string // the path of the spec, relative to the module's root, with slashes
	Package string // the folder of the generated package, below that of all
	name    source.Pos
	places  map[string]source.Pos
}

// OperatorOrigins returns the origins of the declarations in an operator's package.
func OperatorOrigins(o *model.Operator) *Origins {
	return &Origins{Spec: o.Source, Package: o.Package, name: o.Pos, places: places(o)}
}

// EnumOrigins returns the origins of the declarations in the package of a shared enum.
func EnumOrigins(en *model.Enum) *Origins {
	at := map[string]source.Pos{}
	placesOfEnum(at, en)
	return &Origins{Spec: en.Source, Package: en.Package, name: en.Pos, places: at}
}

// Line returns the line of the spec, counted from 1, from which a declaration comes: Forward, or
// Forward.Input for a field or a method. A declaration without an origin of its own has that of its type, and
// else that of the spec's name.
func (o *Origins) Line(decl string) int {
	for decl != "" {
		if place, ok := o.places[decl]; ok {
			return place.Line
		}
		decl = decl[:max(strings.LastIndexByte(decl, '.'), 0)]
	}
	return o.name.Line
}

// places returns where in the spec the declarations of an operator's package come from.
func places(o *model.Operator) map[string]source.Pos {
	at := map[string]source.Pos{}
	for _, s := range o.Slots {
		at["Slot"+s.GoName], at["Outputs."+s.GoName] = s.Pos, s.Pos
	}
	for _, s := range o.Inputs() {
		at[s.GoName] = s.Pos // the type of a parameter of Apply
	}
	for _, a := range o.Args {
		at["Slot"+a.GoName], at[a.GoName] = a.Pos, a.Pos
	}
	for _, d := range o.Dims {
		at["Dims."+d.Name] = d.Pos
	}
	for _, a := range o.Attrs {
		placesOfAttr(at, "Attrs", a)
	}
	for _, t := range o.Tasks {
		for _, name := range []string{t.GoName, t.GoName + "Task", t.GoName + "Tensors", t.GoName + "Kernel", "withKernel" + t.GoName} {
			at[name] = t.Pos
		}
		for _, p := range t.Params {
			at[t.GoName+"."+p.GoName], at[t.GoName+"Tensors."+p.GoName] = p.Slot.Pos, p.Slot.Pos
		}
		for _, a := range t.Args {
			at[t.GoName+"."+a.GoName], at[t.GoName+"Tensors."+a.GoName] = a.Pos, a.Pos
		}
		for _, s := range t.Steps {
			at["Kernel."+s.GoName], at[t.GoName+"Kernel."+s.GoName] = s.Pos, s.Pos
		}
		if !t.Invoked() {
			at["Kernel."+t.GoName] = t.Pos
		}
	}
	return at
}

// placesOfAttr adds the places of the declarations of an attribute. The attribute is a field of the struct
// parent.
func placesOfAttr(at map[string]source.Pos, parent string, a *model.Attr) {
	at[parent+"."+a.GoName] = a.Pos
	if a.Enum != nil && a.Enum.Package == "" {
		placesOfEnum(at, a.Enum)
	}
	if a.Type == "record" {
		at[a.GoName], at[recordMaker(a)], at[a.GoName+".made"] = a.Pos, a.Pos, a.Pos
		at[a.GoName+".String"], at[a.GoName+".UnmarshalJSON"] = a.Pos, a.Pos
		for _, f := range a.Fields {
			placesOfAttr(at, a.GoName, f)
			at[a.GoName+".With"+f.GoName] = f.Pos
		}
	}
}

// placesOfEnum adds the places of the declarations of an enum.
func placesOfEnum(at map[string]source.Pos, en *model.Enum) {
	prefix := en.GoName
	if en.Package != "" {
		prefix = ""
	}
	at[en.GoName], at[enumNames(en)] = en.Pos, en.Pos
	for _, v := range en.Values {
		at[prefix+v.GoName] = v.Pos
	}
}
