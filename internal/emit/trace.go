package emit

import (
	"strings"
	"unicode"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/sourcemap"
)

// trace returns the source map of a package, which gives the place in the spec for each declaration. A
// declaration that is not in places has the place of the type that it belongs to, or else that of the spec's
// name.
func trace(pkg, spec, text string, name source.Pos, places map[string]source.Pos, files []artifact.Artifact) (artifact.Artifact, error) {
	m := &sourcemap.Map{Spec: spec, Sum: sourcemap.Sum([]byte(text))}
	for _, a := range files {
		data := a.Sign().Data
		f := sourcemap.File{Name: strings.TrimPrefix(a.Path, pkg+"/"), Sum: sourcemap.Sum(data)}
		declared(string(data), func(decl string, line int) {
			place, ok := places[decl]
			for parent := decl; !ok && parent != ""; place, ok = places[parent] {
				parent = parent[:max(strings.LastIndexByte(parent, '.'), 0)]
			}
			if !ok {
				place = name
			}
			f.Decls = append(f.Decls, sourcemap.Decl{Name: decl, Line: line, SpecLine: place.Line})
		})
		m.Files = append(m.Files, f)
	}
	return artifact.Artifact{Path: pkg + "/" + sourcemap.Name, Source: spec, Data: m.Format()}, nil
}

// declared calls visit with the declarations of a formatted file and their lines, in order: Forward, and Forward.Input for
// fields and methods. It goes by the layout of lines, which takes a fraction of the time of a parser: declarations begin
// in the first column, and what a block declares begins behind one tab.
func declared(code string, visit func(name string, line int)) {
	number, block, more := 0, "", false // more says that a list of names goes on in the next line
	for line := range strings.Lines(code) {
		number++
		line = strings.TrimRight(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == ")" || line == "}":
			block = ""
		case block != "" && strings.HasPrefix(line, "\t"):
			line = line[1:]
			if more {
				line = strings.TrimLeft(line, "\t")
			}
			names := declaredNames(line, block != valueBlock)
			for _, n := range names {
				visit(strings.TrimPrefix(block+"."+n, valueBlock+"."), number)
			}
			more = line == strings.Join(names, ", ")+","
		case word == "func":
			visit(functionName(rest), number)
		case (word == "var" || word == "const" || word == "type") && rest == "(":
			block = valueBlock
		case word == "type":
			name := identifier(rest)
			visit(name, number)
			if strings.HasSuffix(rest, " struct {") || strings.HasSuffix(rest, " interface {") {
				block = name
			}
		case word == "var" || word == "const":
			for _, n := range declaredNames(rest, false) {
				visit(n, number)
			}
		}
	}
}

// valueBlock stands for a block of constants, variables or types, whose names stand alone.
const valueBlock = "()"

// identifier returns the identifier at the begin of a text, "" if there is none.
func identifier(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		return text
	}
	return text[:end]
}

// declaredNames returns the names that a line declares: A and B of "A, B int". An embedded type, of a struct or an
// interface, declares none.
func declaredNames(line string, typed bool) []string {
	var names []string
	for {
		name := identifier(line)
		if name == "" {
			return nil // a comment, or the rest of a line that was broken
		}
		line = line[len(name):]
		if name != "_" {
			names = append(names, name)
		}
		if !strings.HasPrefix(line, ", ") {
			break
		}
		line = line[2:]
	}
	if typed && line != "," && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "(") {
		return nil
	}
	return names
}

// functionName returns the name of a function, or Type.Name of a method, given what stands behind func.
func functionName(text string) string {
	if !strings.HasPrefix(text, "(") {
		return identifier(text)
	}
	receiver, rest, _ := strings.Cut(text[1:], ") ")
	if name := identifier(receiver); strings.HasPrefix(receiver[len(name):], " ") {
		receiver = receiver[len(name)+1:]
	}
	return identifier(strings.TrimPrefix(receiver, "*")) + "." + identifier(rest)
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
		for _, name := range []string{t.GoName, t.GoName + "Task", t.GoName + "Tensors", "bind" + t.GoName, t.GoName + "Kernel", "withKernel" + t.GoName} {
			at[name] = t.Pos
		}
		for _, p := range t.Params {
			at[t.GoName+"."+p.GoName], at[t.GoName+"Tensors."+p.GoName] = p.Slot.Pos, p.Slot.Pos
		}
		for _, a := range t.Args {
			at[t.GoName+"."+a.GoName], at[t.GoName+"Tensors."+a.GoName] = a.Pos, a.Pos
		}
		for _, s := range t.Steps {
			at["Kernel."+s.GoName], at[t.GoName+"Kernel."+s.GoName], at[bodyType(s)] = s.Pos, s.Pos, s.Pos
		}
		if !t.Invoked() {
			at["Kernel."+t.GoName] = t.Pos
		}
	}
	return at
}

// placesOfAttr adds the places of the declarations of an attribute. The attribute is a field of the struct parent.
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
