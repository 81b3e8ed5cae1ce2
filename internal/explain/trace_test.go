package explain_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/explain"
	"github.com/opgen/opgen/internal/sourcemap"
)

const root = "../.."

// line returns what Line prints of a file of this module.
func line(t *testing.T, root, file string, n int) (string, error) {
	t.Helper()
	var b strings.Builder
	found, err := explain.Line(root, "generated", file, n)
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
	for _, c := range []struct {
		file, text string
		want       []string
	}{
		{"generated/softmax/tasks.go", "Output tensor.WO[T]", []string{": Forward.Output\n", "specs/softmax.toml:", ": output = { role = \"output\""}},
		{"generated/softmax/attrs.go", "Dim  int", []string{": Attrs.Dim\n", ": dim = { type = \"axis\""}},
		{"generated/softmax/tasks.go", "func bindBackward", []string{": bindBackward\n", ": tasks    = { forward = {}, backward = {} }\n"}},
		{"generated/linear/tasks.go", "return b.K.BackwardWeight(", []string{": backwardWeightBody.Run\n", ": backward.steps.weight.over = "}},
		{"generated/activation/enum.go", "func (v Activation) String", []string{": Activation.String\n", "specs/activation.toml:"}},
		{"specs/softmax.toml", "output = {", []string{"specs/softmax.toml:", ": SlotOutput\n", ": Forward.Output\n", ": BackwardTensors.GradOutput\n"}},
		{"specs/softmax.toml", "name     = ", []string{": Register\n", ": withKernel\n", ": Operator\n", ": Apply\n"}},
	} {
		got, err := line(t, root, c.file, find(t, c.file, c.text))
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
		"generated/softmax/none.go":  "not in the source map",
		"generated/nothing/tasks.go": "run opgen generate",
		"specs/none.toml":            "no declaration is generated from this line",
	} {
		if _, err := line(t, root, file, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
	if _, err := line(t, root, "generated/softmax/tasks.go", 1); err == nil || !strings.Contains(err.Error(), "no declaration stands here") {
		t.Errorf("the first line: %v", err)
	}
}

// TestStale checks the error for a spec, and for a generated file, that changed after its source map was made.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	files := []string{"specs/softmax.toml", "generated/softmax/tasks.go", "generated/softmax/" + sourcemap.Name}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(root, f))
		if err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := line(t, dir, files[1], 30); err != nil {
		t.Fatal(err)
	}
	for _, f := range files[:2] {
		p := filepath.Join(dir, f)
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, append(data, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := line(t, dir, files[1], 30); err == nil || !strings.Contains(err.Error(), f+": the file has changed since its source map was made") {
			t.Errorf("%s changed: %v", f, err)
		}
		if err := os.WriteFile(p, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
