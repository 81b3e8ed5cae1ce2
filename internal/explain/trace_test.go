package explain_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/explain"
)

const root = "../.."

// generated returns the code of this module, as it is generated now.
func generated(t *testing.T) explain.Generated {
	t.Helper()
	p, err := driver.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	g := explain.Generated{Root: root, Output: "generated", Module: p.Module()}
	if g.Files, err = p.Files(); err != nil {
		t.Fatal(err)
	}
	return g
}

// line returns what is printed of a line of a file.
func line(g explain.Generated, file string, n int) (string, error) {
	var b strings.Builder
	found, err := g.Line(file, n)
	if err == nil {
		found.Print(&b)
	}
	return b.String(), err
}

// find returns the number of the line of a file that holds a text.
func find(t *testing.T, file, text string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(data), text)
	if !ok {
		t.Fatalf("%s does not hold %s", file, text)
	}
	return strings.Count(before, "\n") + 1
}

// TestLine traces declarations of real packages to their specs, and lines of specs to declarations.
func TestLine(t *testing.T) {
	g := generated(t)
	for _, c := range []struct {
		file, text string
		want       []string
	}{
		{"generated/softmax/tasks.go", "Output tensor.WO[T]", []string{": Forward.Output\n", "specs/softmax.toml:", ": output = { role = \"output\""}},
		{"generated/softmax/attrs.go", "Dim  int", []string{": Attrs.Dim\n", ": attrs    = { dim = { type = \"axis\""}},
		{"generated/softmax/graph.go", "func (t BackwardTensors) Invoke", []string{": BackwardTensors.Invoke\n", ": formula  = \""}},
		{"generated/conv2d/tasks.go", "BackwardFilter(ctx", []string{": Kernel.BackwardFilter\n", ": backward.steps.filter "}},
		{"generated/activation/enum.go", "func (v Activation) String", []string{": Activation.String\n", "specs/activation.toml:"}},
		{"specs/softmax.toml", "output = {", []string{"specs/softmax.toml:", ": SlotOutput\n", ": Forward.Output\n", ": BackwardTensors.GradOutput\n"}},
		{"specs/softmax.toml", "category = ", []string{": Register\n", ": withKernel\n", ": Operator\n", ": Apply\n"}},
	} {
		got, err := line(g, c.file, find(t, c.file, c.text))
		if err != nil {
			t.Errorf("%s, %s: %v", c.file, c.text, err)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s, %s: got\n%swant %s", c.file, c.text, got, w)
			}
		}
	}
	for file, want := range map[string]string{
		"generated/softmax/none.go":  "run opgen generate",
		"generated/nothing/tasks.go": "run opgen generate",
		"specs/none.toml":            "no declaration is generated from this line",
	} {
		if _, err := line(g, file, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
	if _, err := line(g, "generated/softmax/tasks.go", 1); err == nil || !strings.Contains(err.Error(), "no declaration stands here") {
		t.Errorf("the first line: %v", err)
	}
}

// TestStale checks the error for generated code that is not what the generator makes: a file that was edited,
// or that is not there.
func TestStale(t *testing.T) {
	g := generated(t)
	g.Root = t.TempDir()
	const spec, code = "specs/softmax.toml", "generated/softmax/tasks.go"
	for _, p := range []string{spec, code} {
		data, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(g.Root, p), data)
	}
	if _, err := line(g, code, 30); err != nil {
		t.Fatal(err)
	}
	if _, err := line(g, spec, 3); err == nil || !strings.Contains(err.Error(), "attrs.go") || !strings.Contains(err.Error(), "run opgen generate") {
		t.Errorf("without attrs.go: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(root, code))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(g.Root, code), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))) // as Git may check it out
	if _, err := line(g, code, 30); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(g.Root, code), append(data, '\n'))
	if _, err := line(g, code, 30); err == nil || !strings.Contains(err.Error(), code+": the file is not what opgen generates") {
		t.Errorf("%s changed: %v", code, err)
	}
}

// write writes a file, and the folders above it.
func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
