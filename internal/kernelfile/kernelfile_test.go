package kernelfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opgen/opgen/internal/kernelfile"
)

// folder writes files into a new folder and opens it.
func folder(t *testing.T, files map[string]string) *kernelfile.Folder {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return kernelfile.Open(dir, nil)
}

func TestName(t *testing.T) {
	for operator, want := range map[string]string{
		"softmax": "softmax.go", "layer_norm": "layer_norm.go", "unit_test": "unittest.go", "open_windows": "openwindows.go",
		"linux": "linux.go", "mul_arm64": "mularm64.go",
	} {
		if got := kernelfile.Name(operator); got != want {
			t.Errorf("Name(%s): want %s, got %s", operator, want, got)
		}
	}
}

func TestHas(t *testing.T) {
	f := folder(t, map[string]string{
		"swish.go":     "package kernels\n",
		"unittest.go":  "not even Go",
		"many.go":      "package kernels\n\ntype (\n\tMish[T any] struct{}\n\tGelu = Mish[int]\n)\n\nfunc Elu() { type Selu int }\n",
		"half.go":      "package kernels\n\ntype Broken struct{\n",
		"rope_test.go": "package kernels\n\ntype Rope struct{}\n",
		"text.txt":     "package kernels\n\ntype Text struct{}\n",
	})
	if want := []string{"half.go", "many.go", "swish.go", "unittest.go"}; !slices.Equal(f.Names, want) {
		t.Errorf("files: want %v, got %v", want, f.Names)
	}
	for _, c := range []struct {
		operator, goName string
		want             bool
	}{
		{"swish", "Swish", true}, {"unit_test", "UnitTest", true}, // by file
		{"mish", "Mish", true}, {"gelu", "Gelu", true}, // by type
		{"elu", "Elu", false}, {"selu", "Selu", false}, // a function, a type within one
		{"broken", "Broken", false}, {"rope", "Rope", false}, {"text", "Text", false}, {"none", "None", false},
	} {
		if got := f.Has(c.operator, c.goName); got != c.want {
			t.Errorf("Has(%s): want %v, got %v", c.operator, c.want, got)
		}
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "swish.go")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"none", "file"} {
		if f := kernelfile.Open(filepath.Join(dir, path), nil); f.Has("swish", "Swish") || len(f.Names) != 0 {
			t.Errorf("%s: want no kernels, got %v", path, f.Names)
		}
	}
	if f := kernelfile.Open(dir, nil); !f.Has("swish", "Swish") || f.Has("mish", "Mish") {
		t.Error("want a kernel by the name of its file, and no other")
	}
}
