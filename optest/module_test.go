package optest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/test/outside"
)

// mistake is a kernel of testdata/module with one wrong statement.
type mistake struct {
	name, file string
	old, wrong string // the statement as it is, and the wrong ones
	check      string // a check that notices them
	operator   string // the operator that its message names
	says       string // a part of the message
}

var mistakes = []mistake{
	{"a wrong gradient", "cumsum.go", "to.Put(k, sum)", "to.Put(k, sum*2)", "Gradients", "cumsum", "gradient of input.0, next to difference quotients"},
	{"the gradient of another element", "bag_sum.go", "grad = a.GradOutput.At(b)", "grad = a.GradOutput.At(0)", "Gradients", "bag_sum", "gradient of values.0"},
	{"an element that is not written", "cumsum.go", "out.Set(k, sum)", "if k > 0 { out.Set(k, sum) }", "EveryElementIsWritten", "cumsum", "memory that held NaN"},
	{"a gradient that is put for some elements only", "bag_sum.go", "a.GradValues.Put(i, grad)", "if grad != 0 { a.GradValues.Put(i, grad) }", "EveryElementIsWritten", "bag_sum", "grad of values.0"},
	{"a gradient that is put twice", "running_total.go", "a.GradInput.Put(i, a.GradOutput.At(i))", "a.GradInput.Put(i, a.GradOutput.At(i)); a.GradInput.Put(i, a.GradOutput.At(i))", "Checked", "running_total", "want one value put"},
	{"a write beyond the range", "running_total.go", "a.Output.Set(i, total)", "a.Output.Set(i, total); a.Output.Set((i+1)%a.Output.Len(), total)", "Checked", "running_total", "range"},
	{"results that depend on the worker", "running_total.go", "total := a.Total.At(i) + a.Input.At(i)", "total += T(c.Worker)", "Determinism", "running_total", "workers"},
	{"a wrong total", "running_total.go", "a.Total.Set(i, total)", "a.Total.Set(i, total+1)", "KernelsComputeFormulas", "running_total", "as the reference gives"},
	{"results that depend on the range", "cumsum.go", "sum += in.At(k)", "sum += in.At(k) + T(i-r.Lo)", "CutsDoNotMatter", "cumsum", "ranges of at most 2 indices"},
	{"a value that is folded twice", "farthest.go", "a.Below.Fold(0, 1)", "a.Below.Fold(0, 1); a.Below.Fold(0, 1)", "KernelsComputeFormulas", "farthest", "as the reference gives"},
	{"a crash without elements", "bag_sum.go", "var grad T", "_ = a.GradOutput.At(0)", "SingleExtents", "bag_sum", "bag_sum.go"},
	{"a read of elements that are not there", "cumsum.go", "in, out := a.Input.Lane(i), a.Output.Lane(i)", "_ = in.At(0)", "EmptyExtents", "cumsum", "cumsum.go"},
	{"a greatest element of nothing that is finite", "group_max.go", "most := T(math.Inf(-1))", "most = -math.MaxFloat32", "KernelsComputeFormulas", "group_max", "want -Inf within"},
	{"a greatest element of nothing that is infinite above", "group_max.go", "a.Most.Set(g, most)", "a.Most.Set(g, T(math.Abs(float64(most))))", "EveryElementIsWritten", "group_max", "got +Inf, want -Inf"},
	{"a gradient of NaN beside infinite results", "group_max.go", "a.GradInput.Put(n, grad)", "a.GradInput.Put(n, grad*0/0)", "Gradients", "group_max", "got NaN, want "},
	{"a gradient that is lost beside infinite results", "group_max.go", "a.GradInput.Put(n, grad)", "a.GradInput.Put(n, 0)", "Gradients", "group_max", "gradient of input.0, next to difference quotients"},
	{"an infinity in place of NaN", "zero_share.go", "nan := T(math.NaN())", "nan = T(math.Inf(1))", "EveryElementIsWritten", "zero_share", "got +Inf, want NaN"},
	{"an infinity of the other sign", "zero_share.go", "y /= T(a.Attrs.Zero)", "y /= -T(a.Attrs.Zero)", "KernelsComputeFormulas", "zero_share", "Inf, want "},
	{"an infinite gradient of the other sign", "zero_share.go", "g /= T(a.Attrs.Zero)", "g /= -T(a.Attrs.Zero)", "KernelsComputeFormulas", "zero_share", "grad of input.0"},
	{"a number in place of NaN", "zero_share.go", "nan := T(math.NaN())", "nan = 0", "KernelsComputeFormulas", "zero_share", "got 0, want NaN"},
	{"NaN in place of a number", "zero_share.go", "a.Output.Set(k, y)", "a.Output.Set(k, y*nan)", "EveryElementIsWritten", "zero_share", "got NaN, want "},
	{"a logarithm of nothing that is finite", "log_share.go", "share := math.Log(count / float64(a.Input.Len()))", "share = max(share, -1e30)", "KernelsComputeFormulas", "log_share", "want -Inf within"},
	{"a logarithm of nothing that is NaN", "log_share.go", "share := math.Log(count / float64(a.Input.Len()))", "share = share + 0*share", "EveryElementIsWritten", "log_share", "got NaN, want -Inf"},
}

// insert returns a file of kernels in which the wrong statements run if the program is asked for the mistake:
// in place of the right statement, or after it if that is a declaration.
func (m mistake) insert(t *testing.T, text string) string {
	t.Helper()
	line := "\t" + m.old + "\n"
	if strings.Count(text, line) != 1 {
		t.Fatalf("%s: want the statement %s once", m.file, m.old)
	}
	wrong := fmt.Sprintf("if mistake == %q {\n%s\n}", m.name, m.wrong)
	if strings.Contains(m.old, ":=") || strings.HasPrefix(m.old, "var ") {
		return strings.Replace(text, line, line+wrong+"\n", 1)
	}
	return strings.Replace(text, line, wrong+" else {\n"+line+"}\n", 1)
}

// module copies testdata/module, with all mistakes behind conditions, and returns its folder and its test
// program.
func module(t *testing.T) (dir, program string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/module")); err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod":             "module example.com/module\n\ngo 1.26.0\n\nrequire github.com/opgen/opgen v0.0.0\n\nreplace github.com/opgen/opgen => " + repository + "\n",
		"go.sum":             string(sums),
		"kernels/mistake.go": "package kernels\n\nimport \"os\"\n\nvar mistake = os.Getenv(\"MISTAKE\")\n",
	}
	for _, m := range mistakes {
		file := "kernels/" + m.file
		if files[file] == "" {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			files[file] = strings.ReplaceAll(string(text), "_ *op.Ctx", "c *op.Ctx")
		}
		files[file] = m.insert(t, files[file])
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // of opgen, and not of Go
	r, err := generate.Write(t.Context(), generate.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("finding: %s", f.Text())
	}
	program = filepath.Join(dir, "kernels.test")
	cmd := exec.Command("go", "test", "-c", "-o", program, "./kernels")
	env, err := outside.Env(filepath.Join(t.TempDir(), "go.work"), repository, dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Env = dir, append(env, "GOCACHE="+strings.TrimSpace(string(cache)))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	return dir, program
}

var failure = regexp.MustCompile(`(?m)^    --- FAIL: TestOperators/(\w+) `)

// TestModule tests the operators of another module with All: it passes, and fails with each mistake. The
// check that is meant to notice the mistake does, and says where it is.
func TestModule(t *testing.T) {
	dir, program := module(t)
	test := func(mistake, checks string) (string, error) {
		cmd := exec.Command(program, "-test.run=^TestOperators$/"+checks)
		cmd.Dir = filepath.Join(dir, "kernels")
		cmd.Env = append(os.Environ(), "MISTAKE="+mistake)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := test("", ""); err != nil {
		t.Fatalf("without a mistake: %v\n%s", err, out)
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			out, err := test(m.name, "^"+m.check+"$")
			var checks []string
			for _, f := range failure.FindAllStringSubmatch(out, -1) {
				checks = append(checks, f[1])
			}
			if err == nil || !slices.Contains(checks, m.check) || !strings.Contains(out, "operator "+m.operator+", example ") || !strings.Contains(out, m.says) {
				t.Errorf("want that %s fails and says %q of operator %s, got failures of %v and\n%s", m.check, m.says, m.operator, checks, out)
			}
		})
	}
}
