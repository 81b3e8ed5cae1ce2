// Package extend tests that operators can be added to this module, and in other modules, with the commands
// that the guide names.
package extend

import (
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/test/outside"
)

const repository = "../.."

// tree lists the files and folders that a copy of the module needs.
var tree = []string{"go.mod", "go.sum", "opgen.toml", "cmd", "formula", "generate", "generated", "include", "internal", "kernels", "optest", "runtime", "specs", "templates", "batches.go", "checkpoints.go", "files.go", "memory.go", "opgen.go", "program.go", "ranks.go", "shards.go", "variables.go", "docs/docs.go", "docs/spec.md", "docs/operators"}

// copyTree copies the named files and folders from one folder to another. It leaves out test data, and tests
// outside of the folders in keep.
func copyTree(t *testing.T, from, to string, names []string, keep ...string) {
	t.Helper()
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(from, name), func(p string, e os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(from, p)
			if err != nil {
				return err
			}
			if e.IsDir() {
				if e.Name() == "testdata" {
					return filepath.SkipDir
				}
				return os.MkdirAll(filepath.Join(to, rel), 0o777)
			}
			if strings.HasSuffix(p, "_test.go") && !slices.Contains(keep, filepath.Dir(rel)) {
				return nil
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o777); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(to, rel), data, 0o666)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// snapshot returns the texts of all files below a folder, by path with slashes.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// changed returns the paths of files that were added, changed or removed.
func changed(before, after map[string]string) []string {
	var paths []string
	for p, text := range after {
		if old, ok := before[p]; !ok || old != text {
			paths = append(paths, p)
		}
	}
	for p := range before {
		if _, ok := after[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// alone is an environment in which a module finds others by itself.
var alone = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off")

// goTool runs the go command in a folder, offline, and returns its output. The build cache is that of the
// test. The cache of opgen is an empty folder.
func goTool(t *testing.T, env []string, dir string, args ...string) string {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(env), "GOCACHE="+strings.TrimSpace(string(cache)), "XDG_CACHE_HOME="+filepath.Join(t.TempDir(), "cache"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestAddOperator adds an operator to a copy of this module, first with a spec only, then with a kernel as
// well. Generation, compilation, training and the tests of the kernels need no other change.
func TestAddOperator(t *testing.T) {
	root := t.TempDir()
	copyTree(t, repository, root, tree, "kernels")
	before := snapshot(t, root)
	add := func(path string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join("testdata/inside", filepath.Base(path)))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	generate := func(want string) {
		t.Helper()
		if out := goTool(t, alone, root, "run", "./cmd/opgen", "generate"); !strings.HasSuffix(out, want+"\n") {
			t.Errorf("opgen generate: want %s, got %s", want, out)
		}
	}

	// The spec is enough: a program can train a network with the new operator.
	add("specs/sloped_relu.toml")
	generate(": 5 files created, 3 files updated")
	want := []string{"docs/operators/README.md", "docs/operators/sloped_relu.md", "generated/catalogue/catalogue.go", "generated/slopedrelu/attrs.go", "generated/slopedrelu/graph.go", "generated/slopedrelu/shapes.go", "generated/slopedrelu/tasks.go", "include/opgen.h", "specs/sloped_relu.toml"}
	if got := changed(before, snapshot(t, root)); !slices.Equal(got, want) {
		t.Errorf("changed %v, want %v", got, want)
	}
	copyTree(t, "testdata/inside", filepath.Join(root, "train"), []string{"main.go"})
	losses, slopes := trained(t, goTool(t, alone, root, "run", "./train"))
	if len(losses) != 8 {
		t.Fatalf("got %d losses, want 8", len(losses))
	}
	for i := 1; i < len(losses); i++ {
		if !(losses[i] < losses[i-1]) {
			t.Errorf("step %d: got loss %v, want less than %v", i, losses[i], losses[i-1])
		}
	}
	if len(slopes) != 5 || slices.Equal(slopes, slices.Repeat([]float64{0.5}, 5)) {
		t.Errorf("got slopes %v, want 5 slopes that differ from the initial 0.5", slopes)
	}

	// A kernel takes the place of the formula. The training is the same, up to rounding.
	add("kernels/sloped_relu.go")
	generate(": 3 files updated")
	byKernel, _ := trained(t, goTool(t, alone, root, "run", "./train"))
	for i, l := range byKernel {
		if !(math.Abs(l-losses[i]) <= 1e-5) {
			t.Errorf("step %d: got loss %v with the kernel, want %v as with the formula", i, l, losses[i])
		}
	}

	// The tests of all operators also test the new one.
	out := goTool(t, alone, root, "test", "./kernels", "-v", "-run", "(TestGradients|TestDeterminism)/^sloped_relu")
	for _, pass := range []string{"TestGradients/sloped_relu/0/f64", "TestGradients/sloped_relu/1/f64", "TestGradientsInSinglePrecision/sloped_relu/0/f32", "TestDeterminism/sloped_relu/1/f32"} {
		if !strings.Contains(out, "--- PASS: "+pass) {
			t.Errorf("want that %s passes, got\n%s", pass, out)
		}
	}
}

// trained parses the output of testdata/inside/main.go.
func trained(t *testing.T, out string) (losses, slopes []float64) {
	t.Helper()
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(strings.Trim(s, "[]"), 64)
		if err != nil {
			t.Fatalf("output of the program: %v\n%s", err, out)
		}
		return v
	}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case words[0] == "loss":
			losses = append(losses, number(words[1]))
		case words[0] == "slopes":
			for _, w := range words[1:] {
				slopes = append(slopes, number(w))
			}
		}
	}
	return losses, slopes
}

// TestOtherModule generates an operator and an initializer in another module. The tests of that module use
// them together with the operators of this module.
func TestOtherModule(t *testing.T) {
	root := t.TempDir()
	copyTree(t, "testdata/outside", root, []string{"."}, "use")
	opgen, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/outside\n\ngo 1.26.0\n\nreplace github.com/opgen/opgen => " + opgen + "\n",
		"go.sum": string(sums),
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	goTool(t, alone, root, "get", "-tool", "github.com/opgen/opgen/cmd/opgen")
	workspace, err := outside.Env(filepath.Join(t.TempDir(), "go.work"), repository, root)
	if err != nil {
		t.Fatal(err)
	}
	if out := goTool(t, workspace, root, "run", "github.com/opgen/opgen/cmd/opgen", "generate"); out != "opgen: 2 operators: 9 files created\n" {
		t.Errorf("opgen generate: want 2 operators and 9 files created, got %s", out)
	}
	out := goTool(t, workspace, root, "test", "-v", "./...")
	for _, pass := range []string{"TestTraining", "TestGradient"} {
		if !strings.Contains(out, "--- PASS: "+pass+" ") {
			t.Errorf("want that %s passes, got\n%s", pass, out)
		}
	}
	if out := goTool(t, workspace, root, "run", "github.com/opgen/opgen/cmd/opgen", "diff"); out != "opgen: 2 operators, up to date\n" {
		t.Errorf("opgen diff: want 2 operators, up to date, got %s", out)
	}
	files := snapshot(t, filepath.Join(root, "ops"))
	if len(files) != 9 {
		t.Errorf("want 9 generated files, got %v", slices.Sorted(maps.Keys(files)))
	}
	for p, text := range files {
		if strings.Contains(text, "opgen/opgen/generated") || strings.Contains(text, "opgen/opgen/kernels") {
			t.Errorf("%s: want no import of the operators or kernels of opgen, got one", p)
		}
	}
}
