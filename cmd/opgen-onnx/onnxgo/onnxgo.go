// Package onnxgo writes networks in files of ONNX as Go packages on generated operators, as a person would
// write them: with functions for what repeats, names of the file, and extents as parameters.
//
// It builds the network by package onnx for several extents of its inputs. What is equal in all builds is
// written as it is, and integers that differ as expressions of extents. What depends on extents otherwise is
// refused by name.
package onnxgo

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

// Options say how a network is written.
type Options struct {
	// Package is the name of the package.
	Package string
	// Source names the file in comments.
	Source string
	// Extents are those of inputs, for the first build. Those that the file gives need not be there.
	Extents map[string][]int
	// Lists are the extents of each tensor of inputs that are sequences, for the first build. The package
	// takes as many tensors.
	Lists map[string][][]int
	// Absent are inputs that are left out, since they are optional. They are no inputs of the package.
	Absent map[string]bool
	// Fixed says that the network is for the extents that are given only.
	Fixed bool
	// Known gives inputs values that are known when the package is written. They are no inputs of the
	// package.
	Known map[string]safetensors.Tensor
	// References are inputs and outputs of which the test of the package compares the outputs: by their
	// names, to which tensors of sequences add their numbers: s[0]. Without them, there is no test.
	References map[string]safetensors.Tensor
}

// File is a file of a package.
type File struct {
	Path string // relative to the folder of the package, with slashes
	Data []byte
}

// Write returns the files of the package for a network.
func Write(m *onnx.Model, c *onnx.Catalogue, o Options) ([]File, error) {
	if !token.IsIdentifier(o.Package) || goname.Reserved(o.Package) {
		return nil, fmt.Errorf("want a folder whose name can be that of a Go package, got %q", o.Package)
	}
	b, err := newBuilder(m, o)
	if err != nil {
		return nil, err
	}
	if err := b.all(o.Fixed); err != nil {
		return nil, err
	}
	w := newWriter(b, c.Operators)
	if err := w.write(); err != nil {
		return nil, err
	}
	source, variables, err := w.source(o)
	if err != nil {
		return nil, err
	}
	files := []File{{o.Package + ".go", source}}
	if len(variables) > 0 {
		weights, err := (&safetensors.File{Metadata: map[string]string{}, Tensors: variables}).Encode()
		if err != nil {
			return nil, err
		}
		files = append(files, File{weightsFile, weights})
	}
	if len(o.References) > 0 {
		more, err := w.test(o, len(variables) > 0)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

const weightsFile = "weights.safetensors"

// source writes the file of Go, and returns the variables of the network.
func (w *writer) source(o Options) ([]byte, map[string]safetensors.Tensor, error) {
	first := &w.builds[0]
	w.helpers["check"] = true
	w.addImports()
	w.taken = map[string]bool{"Build": true, "Load": true, "Outputs": true, "scalar": true, "integer": true, "parameter": true, "table": true, "extent": true, "check": true}
	for p := range w.imports {
		w.taken[path.Base(p)] = true
	}
	for _, name := range []string{"i", "any", "append", "bool", "cap", "clear", "close", "comparable", "complex", "copy", "delete", "error", "false", "float64", "imag", "init", "int", "iota", "len", "make", "main",
		"max", "min", "new", "nil", "panic", "print", "println", "real", "recover", "string", "true", "uint8", "weight", "buffer", "full", "err"} {
		w.taken[name] = true
	}
	w.tidy()
	var outputs []piece
	var kept []int
	outputNames := w.outputNames()
	for i, t := range first.network.Outputs {
		p, ok := w.values[t]
		if !ok {
			return nil, nil, fmt.Errorf("output %s: want a tensor that a node computes", outputNames[i])
		}
		outputs = append(outputs, p)
		leaves([]piece{p}, func(q *piece) {
			if q.kind == tensor {
				kept = append(kept, q.value)
			}
		})
	}
	w.functions(kept)
	variables := w.nameAll()

	// The inputs of Build.
	taken := map[string]bool{}
	for name := range w.taken {
		taken[name] = true
	}
	taken["g"] = true
	var inputs []int
	var names, lists []string // of tensors, and of lists
	for _, p := range w.params {
		name := local(plainName(p.name))
		if name == "" || len(w.params) == 1 && !p.list {
			name = "x"
		}
		if name = unique(name, taken); p.list {
			lists = append(lists, name)
		}
		for k := range p.count {
			of := name
			if p.list {
				of = fmt.Sprintf("%s[%d]", name, k)
			}
			inputs, names = append(inputs, p.first+k), append(names, of)
		}
	}
	build := w.newBody(nil, w.items, inputs, names)
	for _, name := range lists {
		build.taken[name] = true
	}
	build.symbols = map[int]string{}
	for i := range w.symbols {
		build.symbols[i] = unique(w.symbolNames[i], taken)
		build.taken[build.symbols[i]] = true
	}
	for i, it := range w.items {
		build.statement(i, it, kept)
	}

	var s strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	head := fmt.Sprintf("// Package %s is the network of the file %s, as opgen onnx wrote it. It may be changed like any\n// code.\npackage %[1]s\n\n", o.Package, path.Base(filepath.ToSlash(o.Source)))
	fields := w.fields()
	result, value := "Outputs", ""
	of := func(f field) string {
		text := build.expression(outputs[f.first:min(f.first+1, len(outputs))])
		if f.list {
			text = f.typ() + "{"
			for k := range f.count {
				text += build.expression(outputs[f.first+k:f.first+k+1]) + ", "
			}
			text = strings.TrimSuffix(text, ", ") + "}"
		}
		return text
	}
	if len(fields) == 1 {
		result, value = fields[0].typ(), of(fields[0])
	} else {
		p("// Outputs are the outputs of the network.\ntype Outputs struct {")
		var values []string
		for _, f := range fields {
			types := ""
			for k := range f.count {
				if typ := first.network.Outputs[f.first+k].Type().String(); !strings.HasSuffix(types, typ) {
					types += ", " + typ
				}
			}
			p("%s %s // %s", f.name, f.typ(), cmp.Or(strings.TrimPrefix(types, ", "), "no tensors"))
			values = append(values, f.name+": "+of(f))
		}
		p("}\n")
		value = "Outputs{" + strings.Join(values, ", ") + "}"
	}
	p("// Build adds the network to a graph and returns %s.", map[bool]string{true: "its output", false: "its outputs"}[len(fields) == 1])
	var doc []string
	params := "g *graph.Graph"
	for i := range w.ports {
		doc = append(doc, fmt.Sprintf("%s, %v%s", names[i], w.ports[i].Type, w.shapeText(i, build.symbols)))
	}
	for i, q := range w.params {
		if q.list {
			params += fmt.Sprintf(", %s [%d]graph.Tensor", lists[0], q.count)
			lists = lists[1:]
			continue
		}
		params += ", " + names[q.first]
		if i+1 == len(w.params) || w.params[i+1].list {
			params += " graph.Tensor"
		}
	}
	if len(names) > 0 {
		p("//\n// %s.", strings.Join(wrap("Inputs: "+strings.Join(doc, "; "), 100), "\n// "))
	}
	p("func Build(%s) (%s, error) {", params, result)
	zero := result + "{}"
	said := map[int]bool{} // symbols whose extent has a name
	for i := range w.ports {
		dims := ""
		for axis, n := range w.dims[i] {
			switch sym := -1 - n; {
			case n >= 0:
				dims += fmt.Sprintf(", %d", n)
			case w.symbols[sym].fixed:
				dims += fmt.Sprintf(", %d", w.symbols[sym].hint)
			case said[sym] && i != w.symbols[sym].input:
				dims += ", " + build.symbols[sym]
			default:
				dims += ", -1"
				if w.places(sym) > 1 && axis == w.symbols[sym].axis && i == w.symbols[sym].input {
					build.used[sym] = true
				}
			}
		}
		p("if err := check(%q, %s, %s%s); err != nil {\nreturn %s, err\n}", names[i], names[i], w.dtype(w.ports[i].Type), dims, zero)
		for k, sym := range w.symbols {
			if build.used[k] && sym.input == i {
				said[k] = true
				p("%s := %s.Shape()[%d]", build.symbols[k], names[i], sym.axis)
			}
		}
	}
	s.WriteString(build.lines())
	p("return %s, g.Err()\n}\n", value)
	if len(variables) > 0 {
		p(`// Load gives the variables of a session the weights of the network, from the file %s in a folder.
// Load an inference program first: a program for training that is loaded later goes on from these weights.
func Load(s *opgen.Session, folder string) error {
	return s.LoadVariables(filepath.Join(folder, %q))
}
`, weightsFile, weightsFile)
	}
	for _, f := range w.order() {
		s.WriteString(w.functionText(f, w.items) + "\n")
	}
	for _, h := range slices.Sorted(maps.Keys(w.helpers)) {
		s.WriteString(helperTexts[h] + "\n")
	}
	imports, err := imported(w.imports, s.String())
	if err != nil {
		return nil, nil, fmt.Errorf("onnxgo: the text of the package is no Go: %w", err)
	}
	text, err := format.Source([]byte(head + imports + "\n" + s.String()))
	if err != nil {
		return nil, nil, fmt.Errorf("onnxgo: the text of the package is no Go: %w", err)
	}
	return append(bytes.TrimSpace(text), '\n'), variables, nil
}

// field is an output of the package: a tensor, or a list of them.
type field struct {
	name         string
	first, count int // which of the tensors
	list         bool
}

func (f field) typ() string {
	if f.list {
		return fmt.Sprintf("[%d]graph.Tensor", f.count)
	}
	return "graph.Tensor"
}

// fields returns the outputs of the package. An optional value without an element is none.
func (w *writer) fields() (list []field) {
	taken, first := map[string]bool{}, 0
	for i, port := range w.model.Outputs() {
		n := w.builds[0].network.Counts[i]
		if n == 0 && !port.Sequence {
			continue
		}
		name := goname.Exported(plainName(port.Name))
		if name == "" {
			name = "Output"
		}
		list = append(list, field{unique(name, taken), first, n, port.Sequence})
		first += n
	}
	return list
}

// order returns the functions in the order in which calls come first.
func (w *writer) order() (list []*function) {
	var visit func(items []*item)
	visit = func(items []*item) {
		for _, it := range items {
			if it.fn != nil && !slices.Contains(list, it.fn) {
				list = append(list, it.fn)
				visit(it.fn.body)
			}
		}
	}
	visit(w.items)
	return list
}

// places returns the number of inputs that have an extent.
func (w *writer) places(symbol int) (n int) {
	for _, dims := range w.dims {
		if slices.Contains(dims, -1-symbol) {
			n++
		}
	}
	return n
}

// shapeText writes the extents of an input for the comment of Build.
func (w *writer) shapeText(i int, symbols map[int]string) string {
	var parts []string
	for _, n := range w.dims[i] {
		switch {
		case n >= 0:
			parts = append(parts, fmt.Sprint(n))
		case w.symbols[-1-n].fixed:
			parts = append(parts, fmt.Sprint(w.symbols[-1-n].hint))
		default:
			parts = append(parts, symbols[-1-n])
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// plainName returns the name of an input or an output without what exporters put in front of it.
func plainName(name string) string {
	if at := strings.LastIndex(name, "::"); at >= 0 {
		name = name[at+2:]
	}
	return name
}

// wrap breaks a text into lines.
func wrap(s string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
