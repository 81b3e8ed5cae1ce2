package onnxgo

import (
	"fmt"
	"go/format"
	"path"
	"strings"

	"github.com/opgen/opgen/runtime/safetensors"
)

const referenceFile = "testdata/reference.safetensors"

// test writes the test of the package, and the file with inputs and outputs that it reads.
func (w *writer) test(o Options, weights bool) ([]File, error) {
	tensors := map[string]safetensors.Tensor{}
	var s strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	module := path.Dir(path.Dir(attrPackage))
	p("package %s\n\nimport (\n\"context\"\n\"math\"\n\"testing\"\n", o.Package)
	p("%q\n%q\n%q\n%q\n)\n", module, w.root+"/catalogue", graphPackage, path.Dir(graphPackage)+"/safetensors")
	p(`// TestReference compares outputs with those that came with the file of the network: within 1e-4 of the largest element.
func TestReference(t *testing.T) {
	file, err := safetensors.Open(%q)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)`, referenceFile)
	var params, feeds []string
	for i, port := range w.ports {
		ref, ok := o.References[port.Name]
		if !ok {
			return nil, fmt.Errorf("input %s: want a reference, got none", port.Name)
		}
		if ref.Type != port.Type {
			return nil, fmt.Errorf("input %s: want a reference of %v, got %v", port.Name, port.Type, ref.Type)
		}
		name := "input " + port.Name
		tensors[name] = ref
		p("in%d, err := file.Read(%q)\nif err != nil {\nreturn err\n}", i, name)
		p("x%d := g.Input(%q, in%d.Type, in%[1]d.Shape...)", i, fmt.Sprintf("input %d", i), i)
		if w.uses[w.builds[0].inputs[i]] == 0 {
			continue // the network does not depend on it
		}
		element := ref.Type.GoType()
		read := fmt.Sprintf("in%d", i)
		if ref.Type.IsFloat() && ref.Type.Size() == 2 {
			p("wide%d, err := in%[1]d.As(dtype.F32)\nif err != nil {\nreturn err\n}", i)
			read = fmt.Sprintf("wide%d", i)
		}
		p("elements%d, err := safetensors.Elements[%s](%s)\nif err != nil {\nreturn err\n}", i, element, read)
		feeds = append(feeds, fmt.Sprintf("opgen.With(x%d, elements%[1]d)", i))
	}
	for _, q := range w.params {
		var list []string
		for i := range q.count {
			list = append(list, fmt.Sprintf("x%d", q.first+i))
		}
		if q.list {
			params = append(params, fmt.Sprintf("[%d]graph.Tensor{%s}", q.count, strings.Join(list, ", ")))
		} else {
			params = append(params, list...)
		}
	}
	p("out, err := Build(%s)\nif err != nil {\nreturn err\n}", strings.Join(append([]string{"g"}, params...), ", "))
	var tensorsOut []string
	fields := w.fields()
	for _, f := range fields {
		text := "out"
		if len(fields) > 1 {
			text += "." + f.name
		}
		for k := range f.count {
			if f.list {
				tensorsOut = append(tensorsOut, fmt.Sprintf("%s[%d]", text, k))
			} else {
				tensorsOut = append(tensorsOut, text)
			}
		}
	}
	p("prog, err := s.Inference(context.Background(), g, %s)\nif err != nil {\nreturn err\n}", strings.Join(tensorsOut, ", "))
	if weights {
		p("if err := Load(s, \".\"); err != nil {\nreturn err\n}")
	}
	p("if err := prog.Run(%s); err != nil {\nreturn err\n}", strings.Join(append([]string{"context.Background()"}, feeds...), ", "))
	for i, output := range w.outputNames() {
		ref, ok := o.References[output]
		if !ok {
			continue
		}
		name := "output " + output
		tensors[name] = ref
		p("want%d, err := file.Read(%q)\nif err != nil {\nreturn err\n}", i, name)
		p("got%d, err := opgen.Fetch[%s](prog, %s)\nif err != nil {\nreturn err\n}", i, w.builds[0].network.Outputs[i].Type().GoType(), tensorsOut[i])
		p("compare(t, %q, got%d, want%[2]d)", output, i)
	}
	p(`return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// compare compares elements with those of a tensor.
func compare[T dtype.Element](t *testing.T, name string, got []T, want safetensors.Tensor) {
	t.Helper()
	all := want.Float64s()
	if len(got) != len(all) {
		t.Errorf("output %%s: got %%d elements, want %%d", name, len(got), len(all))
		return
	}
	most := 0.0
	for _, w := range all {
		most = max(most, math.Abs(w))
	}
	for i, w := range all {
		g := number(got[i])
		if g != w && !(math.Abs(g-w) <= 1e-4*most) && !(math.IsNaN(g) && math.IsNaN(w)) {
			t.Errorf("output %%s, element %%d: got %%v, want %%v", name, i, g, w)
			return
		}
	}
}

// number returns an element as a number; a truth value is 0 or 1.
func number[T dtype.Element](v T) float64 {
	switch v := any(v).(type) {
	case bool:
		if v {
			return 1
		}
	case float32:
		return float64(v)
	case float64:
		return v
	case int8:
		return float64(v)
	case int16:
		return float64(v)
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case uint8:
		return float64(v)
	case uint16:
		return float64(v)
	case uint32:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return 0
}`)
	text := strings.Replace(s.String(), fmt.Sprintf("%q\n%q\n)", graphPackage, path.Dir(graphPackage)+"/safetensors"),
		fmt.Sprintf("%q\n%q\n%q\n)", path.Dir(graphPackage)+"/dtype", graphPackage, path.Dir(graphPackage)+"/safetensors"), 1)
	source, err := format.Source([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("onnxgo: the text of the test is no Go: %w", err)
	}
	data, err := (&safetensors.File{Metadata: map[string]string{}, Tensors: tensors}).Encode()
	if err != nil {
		return nil, err
	}
	return []File{{o.Package + "_test.go", source}, {referenceFile, data}}, nil
}
