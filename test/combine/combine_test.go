// Package combine tests that modules use the specs of others, and that their operators run in one program.
package combine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/test/outside"
)

const (
	layers = "example.com/go-layers/v2"
	nets   = "example.com/nets"
)

// goTest needs the build cache of the go command, which XDG_CACHE_HOME would move, and its proxy, which opgen
// does without here.
var buildCache, proxy = goEnv("GOCACHE"), goEnv("GOPROXY")

func goEnv(name string) string {
	value, _ := exec.Command("go", "env", name).Output() // goTest fails without it
	return strings.TrimSpace(string(value))
}

// modules copies the modules of testdata, and returns their folders. nets finds layers by a replacement or,
// in a workspace, by go.work.
func modules(t *testing.T, workspace bool) (ofLayers, ofNets string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // of opgen, and not of Go
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", "")
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	ofLayers, ofNets = filepath.Join(root, "layers"), filepath.Join(root, "nets")
	opgen := "\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.1.0\n"
	replaced := "\nreplace github.com/opgen/opgen => " + repository + "\n"
	files := map[string]string{
		"layers/go.mod": "module " + layers + "\n" + opgen + replaced, "layers/go.sum": string(sums), "nets/go.sum": string(sums),
		"nets/go.mod": "module " + nets + "\n" + opgen + replaced + "\nrequire " + layers + " v2.0.0\n\nreplace " + layers + " => ../layers\n",
	}
	if workspace {
		files["layers/go.mod"], files["nets/go.mod"] = "module "+layers+"\n"+opgen, "module "+nets+"\n"+opgen+"\nrequire "+layers+" v2.0.0\n"
		files["go.work"] = "go 1.26.0\n\nuse (\n\t./layers\n\t./nets\n)\n" + replaced
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return ofLayers, ofNets
}

// write generates code and returns the summary of the run.
func write(t *testing.T, dir string) string {
	t.Helper()
	r, err := generate.Write(t.Context(), generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("finding: %s", f.Text())
	}
	return r.Summary()
}

// edit replaces a text of a file.
func edit(t *testing.T, file, old, now string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("%s: want %q once", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, now, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// goTest runs the tests of a module that uses others.
func goTest(t *testing.T, dir string, uses ...string) {
	t.Helper()
	env, err := outside.Env(filepath.Join(t.TempDir(), "go.work"), "../..", append(uses, dir)...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir, cmd.Env = dir, append(env, "GOCACHE="+buildCache, "GOPROXY="+proxy)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in %s: %v\n%s", dir, err, out)
	}
}

// TestModules generates two modules of which one uses the other, and both use this one. The tests of the
// second train a model of operators of all three, two of which have one name.
func TestModules(t *testing.T) {
	ofLayers, ofNets := modules(t, false)
	if got := write(t, ofLayers); !strings.HasPrefix(got, "3 operators: ") {
		t.Errorf("layers: want 3 operators, got %s", got)
	}
	if got := write(t, ofNets); !strings.HasPrefix(got, "2 operators: ") {
		t.Errorf("nets: want 2 operators, got %s", got)
	}
	for _, name := range []string{"zero", "fill", "squash", "softmax", "activation"} {
		if _, err := os.Stat(filepath.Join(ofNets, "generated", name)); err == nil {
			t.Errorf("nets: want the package %s of another module, got a copy", name)
		}
	}
	goTest(t, ofNets, ofLayers)
}

// TestWorkspace generates modules of a workspace, whose go.mod files do not say where the others are.
func TestWorkspace(t *testing.T) {
	ofLayers, ofNets := modules(t, true)
	write(t, ofLayers)
	if got := write(t, ofNets); !strings.HasPrefix(got, "2 operators: ") {
		t.Errorf("nets: want 2 operators, got %s", got)
	}
	if got := write(t, ofNets); got != "2 operators, nothing changed" {
		t.Errorf("nets, again: want nothing changed, got %s", got)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(ofNets), "go.work")); err != nil {
		t.Fatal(err)
	}
	r, err := generate.Write(t.Context(), generate.Options{Dir: ofNets})
	if err != nil || len(r.Findings) == 0 {
		t.Errorf("without go.work: want findings, got %v, %v", r, err)
	}
}

// TestUnchanged checks that a change in a used module is noticed: of a spec, of opgen.toml and of go.mod.
func TestUnchanged(t *testing.T) {
	ofLayers, ofNets := modules(t, false)
	write(t, ofLayers)
	write(t, ofNets)
	for range 2 {
		if got := write(t, ofNets); got != "2 operators, nothing changed" {
			t.Errorf("want nothing changed, got %s", got)
		}
	}
	edit(t, filepath.Join(ofLayers, "specs", "squash.toml"), "SOFTSIGN(x) = x / (1 + abs(x))", "SOFTSIGN(x) = x / (1.0 + abs(x))")
	if got := write(t, ofNets); got != "2 operators: 1 file updated" {
		t.Errorf("after a change of a formula in another module: want 1 file updated, got %s", got)
	}
	edit(t, filepath.Join(ofLayers, "opgen.toml"), "use ", "output = \"out\"\nuse ")
	r, err := generate.Write(t.Context(), generate.Options{Dir: ofNets})
	if err != nil || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Text(), "no generated packages in its folder out") {
		t.Errorf("after a change of the configuration: want a finding, got %v, %v", r, err)
	}
	edit(t, filepath.Join(ofLayers, "opgen.toml"), "output = \"out\"\n", "")
	write(t, ofNets)
	edit(t, filepath.Join(ofNets, "go.mod"), "../layers", "../none")
	r, err = generate.Write(t.Context(), generate.Options{Dir: ofNets})
	if err != nil || len(r.Findings) != 1 {
		t.Errorf("without the other module: want a finding, got %v, %v", r, err)
	}
}
