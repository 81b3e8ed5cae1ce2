package optest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opgen/opgen/internal/artifact"
)

// TestStaleSpecs checks that a spec which changed since code was generated from it is found, from a folder
// within the module, and that a module without specs has none.
func TestStaleSpecs(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n\nrequire github.com/opgen/opgen v0.1.0\n")
	write("opgen.toml", "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n")
	write("kernels/doc.go", "package kernels\n")
	for _, name := range []string{"fresh", "changed", "gone"} {
		text := "name = \"" + name + "\"\n"
		write("specs/"+name+".toml", text)
		a := artifact.Artifact{Path: name + "/attrs.go", Source: "specs/" + name + ".toml", Data: []byte("\npackage " + name + "\n")}
		write("generated/"+a.Path, string(a.Of(text).Sign().Data))
	}
	write("specs/changed.toml", "name = \"other\"\n")
	if err := os.Remove(filepath.Join(root, "specs", "gone.toml")); err != nil {
		t.Fatal(err)
	}
	if got := staleSpecs(filepath.Join(root, "kernels")); !slices.Equal(got, []string{"specs/changed.toml"}) {
		t.Errorf("got %v, want specs/changed.toml", got)
	}
	if got := staleSpecs(t.TempDir()); got != nil {
		t.Errorf("without opgen.toml: got %v, want nothing", got)
	}
}

// TestNaNEqualsNaN checks that a result which is no number differs from numbers, and not from another one.
func TestNaNEqualsNaN(t *testing.T) {
	nan := func() float64 { var x float64; return x / x }()
	for _, tt := range []struct {
		got, want []float64
		differ    bool
	}{
		{[]float64{nan, 1}, []float64{nan, 1}, false},
		{[]float64{nan, 1}, []float64{nan, 2}, true},
		{[]float64{nan, 1}, []float64{0, 1}, true},
		{[]float64{0, 1}, []float64{nan, 1}, true},
	} {
		if d := difference(tt.got, tt.want, 1e-9, 1e-9); (d != "") != tt.differ {
			t.Errorf("%v next to %v: %q", tt.got, tt.want, d)
		}
	}
}
