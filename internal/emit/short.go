package emit

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/shortform"
	"github.com/opgen/opgen/runtime/task"
)

// chooser returns the attribute whose values get short forms: an enum of the operator's own that must be
// given, if there is no other one. It returns nil if there is none.
func chooser(o *model.Operator) *model.Attr {
	var found *model.Attr
	for _, a := range required(o.Attrs) {
		if a.Enum == nil || a.List || a.Enum.Package != "" {
			continue
		}
		if found != nil {
			return nil
		}
		found = a
	}
	return found
}

// shortNames returns the Go names of the short forms for the values of an enum.
func shortNames(en *model.Enum) []string {
	var values []string
	for _, v := range en.Values {
		values = append(values, v.Name)
	}
	names := shortform.Names(values)
	for i, name := range names {
		names[i] = cmp.Or(name, en.Values[i].GoName)
	}
	return names
}

// declared returns the names that files declare outside of functions.
func declared(files []artifact.Artifact) (map[string]bool, error) {
	names := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file.Path, ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file.Path, file.Data, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[n.Name] = true
						}
					}
				}
			}
		}
	}
	return names, nil
}

// shortForms returns the file of short forms, or none if other declarations of the package have all their
// names.
func (e *emitter) shortForms(by *model.Attr, others []artifact.Artifact) ([]artifact.Artifact, error) {
	taken, err := declared(others)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(shortNames(by.Enum), func(name string) bool { return !taken[name] }) {
		return nil, nil
	}
	return e.files(e.op.Package, e.op.Source, []part{{"short.go", "", func() { e.short(by, taken) }}})
}

// short emits a function for each value of the attribute that says what the operator computes: Relu(g, x) is
// Apply with this value. A value whose name is taken has none.
func (e *emitter) short(by *model.Attr, taken map[string]bool) {
	o := e.op
	alike := inputsAlike(o)
	result := returns(o)
	for i, name := range shortNames(by.Enum) {
		if taken[name] {
			continue
		}
		taken[name] = true
		v := by.Enum.Values[i]
		var params []parameter
		values := ""
		for _, a := range e.applied() {
			typ, value := a.typ, a.name
			switch {
			case a.typed && alike && (typ == "graph.Tensor" || typ == "[]graph.Tensor"):
				value = fmt.Sprintf("%s(%s)", a.goName, a.name)
			case a.typed:
				typ = a.goName
			}
			params = append(params, parameter{a.name, typ})
			values += ", " + value
		}
		var must []string
		for _, a := range required(o.Attrs) {
			if a == by {
				must = append(must, by.Enum.GoName+v.GoName)
				continue
			}
			must = append(must, e.attrParam(a))
			params = append(params, parameter{e.attrParam(a), e.attrType(a)})
		}
		attrs := fmt.Sprintf("Defaults(%s)", strings.Join(must, ", "))
		for _, a := range needed(o, by.Name+"."+v.Name) {
			params = append(params, parameter{e.attrParam(a), e.valueType(a)})
			attrs += fmt.Sprintf(".With%s(%s)", a.GoName, e.attrParam(a))
		}
		e.p("")
		doc := fmt.Sprintf("%s is Apply with %s %s", name, by.Name, v.Name)
		if v.Doc != "" {
			doc += ": " + lowerFirst(line(v.Doc))
		}
		e.comment("%s", sentence(doc))
		e.p("func %s(g *graph.Graph%s, opts ...graph.Option) %s {", name, parameters(params), result)
		call := fmt.Sprintf("Apply(g, %s%s, opts...)", attrs, values)
		if result != "" {
			call = "return " + call
		}
		e.p("%s\n}", call)
	}
}

// parameter is a parameter of a short form.
type parameter struct{ name, typ string }

// parameters returns parameters as Go, each behind a comma. Several of one type share it.
func parameters(params []parameter) string {
	var b strings.Builder
	for i, p := range params {
		b.WriteString(", " + p.name)
		if i+1 == len(params) || params[i+1].typ != p.typ {
			b.WriteString(" " + p.typ)
		}
	}
	return b.String()
}

// inputsAlike reports whether a spec declares all inputs in the same way, as those of a sum. Then short forms
// take tensors of one Go type; else, as for logits and labels, calls with swapped inputs do not compile.
func inputsAlike(o *model.Operator) bool {
	inputs := o.Inputs()
	return !slices.ContainsFunc(inputs, func(s *model.Slot) bool {
		return s.Type != inputs[0].Type || s.Trainable != inputs[0].Trainable || s.Role != task.RoleInput
	})
}

// needed returns the attributes that may be absent, but which the function of an enum's value reads
// whether or not they are there.
func needed(o *model.Operator, value string) []*model.Attr {
	read := shortform.Needed(o.Operator.Formula, value)
	var out []*model.Attr
	for _, a := range o.Attrs {
		if a.Optional && slices.Contains(read, a.Name) {
			out = append(out, a)
		}
	}
	return out
}
