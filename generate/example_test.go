package generate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/generate/plugin"
)

const spec = `edition = 1
name    = "scale"
doc     = "Multiplies by two."
formula = "output[n] = 2 * input[n]"

[slots.input]
role  = "input"
type  = "f64"
shape = ["N..."]

[slots.output]
role  = "output"
type  = "f64"
shape = ["N..."]

[tasks.forward]
over = "prod(N)"
`

// module writes a module with one spec and returns its folder.
func module(spec string) string {
	dir, err := os.MkdirTemp("", "opgen")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":           "module example.com/m\n\nrequire github.com/opgen/opgen v0.1.0\n",
		"opgen.toml":       "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n",
		"specs/scale.toml": spec,
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			log.Fatal(err)
		}
	}
	return dir
}

// Diff returns what Write would change. Write brings the generated files of a module up to date.
func Example() {
	dir := module(spec)
	defer os.RemoveAll(dir)

	diff, err := generate.Diff(context.Background(), generate.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range diff.Changes {
		fmt.Println(c.Path, c.Kind)
	}
	done, err := generate.Write(context.Background(), generate.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Summary())
	// Output:
	// generated/catalogue/catalogue.go missing
	// generated/scale/attrs.go missing
	// generated/scale/graph.go missing
	// generated/scale/shapes.go missing
	// generated/scale/tasks.go missing
	// 1 operator: 5 files created
}

// A finding is a value with a position, a code, and the edits that correct it.
func ExampleCheck() {
	dir := module("edition = 1\nnmae = \"scale\"\n" + spec[len("edition = 1\nname    = \"scale\"\n"):])
	defer os.RemoveAll(dir)

	r, err := generate.Check(generate.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Findings {
		fmt.Println(f.File, f.Line, f.Column, f.Code, f.Message)
		fmt.Println(f.Hint, f.Edits[0].Start, f.Edits[0].End, f.Edits[0].New)
		fmt.Println(f.URL)
	}
	fmt.Print(r.Findings[0].Text())
	if _, err := r.Fix(); err != nil {
		log.Fatal(err)
	}
	if r, err = generate.Check(generate.Options{Dir: dir}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Summary())
	// Output:
	// specs/scale.toml 2 1 OP101 a spec has no key nmae
	// did you mean name? 12 16 name
	// https://github.com/opgen/opgen/blob/main/docs/diagnostics.md#op101
	// specs/scale.toml:2:1: OP101: a spec has no key nmae
	//   nmae = "scale"
	//   ^^^^
	//   hint: did you mean name?
	// 1 operator, no findings
}

// names is a plug-in that lists the names of operators.
type names struct{}

func (names) Generate(_ context.Context, r *plugin.Request) (*plugin.Response, error) {
	var model struct {
		Operators []struct {
			Name string `json:"name"`
		} `json:"operators"`
	}
	if err := json.Unmarshal(r.Model, &model); err != nil {
		return nil, err
	}
	text := ""
	for _, o := range model.Operators {
		text += o.Name + "\n"
	}
	return &plugin.Response{Files: []plugin.File{{Path: "names.txt", Text: text}}}, nil
}

// A plug-in of the same process makes a file from the model.
func ExamplePlugin() {
	dir := module(spec)
	defer os.RemoveAll(dir)

	options := generate.Options{Dir: dir, Plugins: []generate.Plugin{{Name: "names", Out: "lists", Plugin: names{}}}}
	if _, err := generate.Write(context.Background(), options); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "lists", "names.txt"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", text)
	// Output:
	// scale
}

// The model describes the operators as JSON. Each has the position of its name in the spec.
func ExampleResult_Model() {
	dir := module(spec)
	defer os.RemoveAll(dir)

	done, err := generate.Write(context.Background(), generate.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	data, err := done.Model()
	if err != nil {
		log.Fatal(err)
	}
	var model struct{ Operators []struct{ Name, Pos string } }
	if err := json.Unmarshal(data, &model); err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Operators)
	// Output: [{scale specs/scale.toml:2:11}]
}
