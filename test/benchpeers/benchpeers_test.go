package main

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/taskbench"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/test/networks"
)

// TestUses checks that rows have names of their own, and that operators and attributes are those of the
// catalogue.
func TestUses(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, u := range slices.Concat(uses, formulaUses) {
		if seen[u.title()] {
			t.Errorf("two rows are called %s", u.title())
		}
		seen[u.title()] = true
		if u.formulas {
			if _, err := os.Stat("../formulas/testdata/specs/" + u.op + ".toml"); err != nil {
				t.Error(err)
			}
			continue // TestFormulas runs it
		}
		o := u.operator()
		if o == nil {
			t.Errorf("there is no operator %s", u.op)
			continue
		}
		if _, err := o.DecodeAttrs([]byte(u.attrs)); err != nil {
			t.Errorf("%s: %v", u.title(), err)
		}
		for name := range u.shapes {
			slot, _, _ := strings.Cut(name, ".")
			if !slices.ContainsFunc(o.Slots, func(s task.Slot) bool { return s.Name == slot }) {
				t.Errorf("%s has no slot %s", u.op, slot)
			}
		}
	}
}

// TestLoops checks that loops have names of their own, that they name tasks and slots of the catalogue, and
// that the program has them.
func TestLoops(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, l := range loops {
		if seen[l.title] {
			t.Errorf("two loops are called %s", l.title)
		}
		seen[l.title] = true
		if !strings.Contains(loopsSource, "LOOP("+l.name+", "+strconv.Itoa(len(l.in))+", ") {
			t.Errorf("%s: the program has no loop %s of %d inputs", l.title, l.name, len(l.in))
		}
		i := slices.IndexFunc(catalogue.Operators(), func(o *graph.Operator) bool { return o.Name == l.op })
		if i < 0 {
			t.Errorf("there is no operator %s", l.op)
			continue
		}
		o := catalogue.Operators()[i]
		if !slices.ContainsFunc(o.Signatures, func(s *task.Signature) bool { return s.Kind == l.kind }) {
			t.Errorf("%s has no task of kind %v", l.op, l.kind)
		}
		for _, name := range slices.Concat(l.in, l.out) {
			slot := strings.TrimPrefix(name, "grad.")
			if !slices.ContainsFunc(o.Slots, func(s task.Slot) bool { return s.Name == slot }) {
				t.Errorf("%s has no slot %s", l.op, slot)
			}
		}
	}
}

// TestCompare gives a loop results of which one is wrong, one that is not a number, and one too few.
func TestCompare(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "results")
	for _, c := range []struct {
		other []float32
		want  string
	}{
		{[]float32{1, -4, 2}, ""},
		{[]float32{1, -4, 2.0001}, "differ from those in C"},
		{[]float32{1, -4, float32(math.NaN())}, "differ from those in C"},
		{[]float32{1, -4}, "want 3 numbers"},
	} {
		data, err := binary.Append(nil, binary.LittleEndian, c.other)
		if err := errors.Join(err, os.WriteFile(file, data, 0o666)); err != nil {
			t.Fatal(err)
		}
		err = loops[0].compare([]float32{1, -4, 2}, file)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) && c.want != "" {
			t.Errorf("%v: want %q, got %q", c.other, c.want, got)
		}
	}
}

// TestLosses trains the networks, and compares the losses of all steps that the workloads name, and the
// outputs before the first step.
func TestLosses(t *testing.T) {
	t.Parallel()
	for i := range networks.All {
		w := &networks.All[i]
		p, err := open(t.Context(), w, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Forward(t.Context()); err != nil {
			t.Fatal(err)
		}
		first, err := p.Output()
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range w.Outputs {
			if !(math.Abs(float64(first[i])-want) <= accuracy) {
				t.Errorf("%s: element %d of the output is %v, want %v", w.Name, i, first[i], want)
			}
		}
		for range slices.Max(slices.Collect(maps.Keys(w.Losses))) {
			if err := p.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Check(p.Losses, accuracy); err != nil {
			t.Error(err)
		}
		p.Losses[1] += 1e-4
		if w.Check(p.Losses, accuracy) == nil {
			t.Errorf("%s: a loss of %v in step 2 is accepted", w.Name, p.Losses[1])
		}
	}
}

// TestMissing checks that a run without peers succeeds, and says so.
func TestMissing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := options{threads: []int{1}, only: regexp.MustCompile("^$"), python: "/nowhere/python3", rounds: 1}
	if err := run(&out, o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "Left out: PyTorch and OpenBLAS: ") {
		t.Errorf("want a line that says what is left out, got\n%s", &out)
	}
}

// TestFill fills a slot of numbers and one of integers, and leaves another one as it was.
func TestFill(t *testing.T) {
	t.Parallel()
	u := use{op: "gather", attrs: `{"dim": 0}`, shapes: map[string][]int{"input": shape(4), "index": shape(3)}, least: 0.5, fill: map[string]func(int, float64) float64{
		"input": times(-2), "index": func(i int, _ float64) float64 { return float64(3 - i) }}}
	o := u.operator()
	bound, err := taskbench.New(&o.Operator, u.attrs, u.shapes, u.least, 1)
	if err != nil {
		t.Fatal(err)
	}
	u.fillIn(o, bound)
	slot := func(name string) []byte {
		return bound.Memory(slices.IndexFunc(o.Slots, func(s task.Slot) bool { return s.Name == name }), false)[0].Bytes
	}
	for _, v := range float32s(slot("input")) {
		if v > -1 || v < -2 {
			t.Errorf("want a number from -2 to -1, got %v", v)
		}
	}
	if got, want := slot("index"), binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 3), 2), 1); !bytes.Equal(got, want) {
		t.Errorf("want bytes %v, got %v", want, got)
	}
	box := corners(10)
	if got, want := []float64{box(0, 0.5), box(5, -1), box(2, 0), box(3, 1)}, []float64{2.5, 5, 5, 10}; !slices.Equal(got, want) {
		t.Errorf("want corners %v, got %v", want, got)
	}
}

var withFormulas = flag.Bool("with-formulas", false, "build the program that has the operators of test/formulas, which takes a minute and more")

// TestFormulas checks which rows need the operators of test/formulas. With -with-formulas, it also builds the
// program that has them, and checks that the program binds the tasks of its rows.
func TestFormulas(t *testing.T) {
	if o := (options{only: regexp.MustCompile("^roll$")}); !o.needsFormulas() {
		t.Error("want that roll needs the operators of test/formulas")
	}
	if o := (options{only: regexp.MustCompile("^ctc_loss|^lstm,")}); o.needsFormulas() {
		t.Error("want that the program has the operators of the catalogue")
	}
	if !*withFormulas {
		return
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	program, err := buildWithFormulas(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "-check").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestReport compares the page and the plot of a made-up run with what they should say.
func TestReport(t *testing.T) {
	t.Parallel()
	r := report{version: answer{Torch: "9.9", Blas: "Any"}, plainC: 1e6, sections: []section{{
		threads: 3,
		machine: cost.Machine{F32: 2e11, Bandwidth: 4e10},
		operators: []row{{title: "fast & small", forward: figure{1e6, 4e6}, limits: [2]limit{{1e5, 5e5}}}, {title: "slow", forward: figure{8e6, 2e6}, both: figure{1e6, 1e6}, limits: [2]limit{{2e6, 1e6}, {1e5, 9e5}}},
			{title: "viewed", views: true, forward: figure{1e6, 2e6}, both: figure{4e6, 2e6}}},
		formulas: []row{{title: "scan", forward: figure{3e6, 1e6}, both: figure{1e6, 2e6}}},
		networks: []row{{title: networks.All[0].Title, forward: figure{1e6, 2e6}, both: figure{3e6, 6e6}, memory: figure{3 << 20, 12 << 20}}},
		products: []row{{title: "float32, 100", forward: figure{1e6, 5e5}}},
	}}, loops: []row{{title: "gelu", forward: figure{2e6, 4e6}}}}
	text := r.markdown()
	for _, want := range []string{
		"PyTorch is 9.9. ",
		"## Threads: 3\n\n5 figures of 3 rows: geometric mean 1.00 (forward 0.79, forward and backward 1.41), worst 4.0, 2 above 1.2, of which 1 are gradients that PyTorch does not compute (*).",
		"| gelu | 2 | 4 | 0.50 |\n",
		"repeat: 2 figures of 1 rows, geometric mean 1.22, worst 3.0, 1 above 1.5. ",
		"| scan | 3 | 1 | 3.00 | 1 | 2 | 0.50 |\n",
		"| slow | 8 | 2 | 4.00 | 1 | 1 | 1.00 |\n| viewed | 1 | 2 | 0.50 | 4 | 2 | 2.00 * |\n| fast & small | 1 | 4 | 0.25 | | | |\n",
		"The MLP's step takes 1.000 ms in plain C on one thread, which is 3.0 times less.",
		"| " + networks.All[0].Title + " | 3 | 12 | 0.25 |\n",
		"| float32, 100 | 2 | 4 | 0.50 |",
		"A copy moves 40 GB/s, a product of matrices does 200 GFLOP/s.",
		"| fast & small | memory | 0.50 | | |\n| slow | arithmetic | 0.25 | memory | 0.90 |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	for _, c := range []struct {
		plot, element string
		want          int
	}{{r.plot(), "circle", 3}, {r.roofline(), "rect", 4}} {
		got := 0
		for d := xml.NewDecoder(strings.NewReader(c.plot)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == c.element {
				got++
			}
		}
		if got != c.want {
			t.Errorf("want %d elements %s, got %d", c.want, c.element, got)
		}
	}
	if !strings.Contains(r.roofline(), `width="250.0"`) {
		t.Errorf("want a bar of half the width of the plot, got\n%s", r.roofline())
	}
}

// TestLimit computes the limits of a task by hand: the spec of linear gives its operations, and its tensors
// are what it moves.
func TestLimit(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(catalogue.Operators(), func(o *graph.Operator) bool { return o.Name == "linear" })
	u, err := taskbench.New(&catalogue.Operators()[i].Operator, `{"out_channels": 4}`, one("input", 2, 3), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	l := newLimit(cost.Machine{F32: 1e9, Bandwidth: 1e9}, u, 0)
	if moved := 4.0 * (2*3 + 3*4 + 4 + 2*4); l.memory != moved || l.arithmetic < 2*2*3*4 || l.arithmetic > 3*2*3*4 {
		t.Errorf("want %v ns of memory and 48 to 72 of arithmetic, got %v", moved, l)
	}
}

// TestTrain runs the process whose memory is measured.
func TestTrain(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := train(t.Context(), &out, "mlp", 1); err != nil {
		t.Fatal(err)
	}
	var bytes int
	if _, err := fmt.Sscan(out.String(), &bytes); err != nil || runtime.GOOS == "linux" && bytes < 1<<20 {
		t.Errorf("want how many bytes the process had in use, got %q", out.String())
	}
	if err := train(t.Context(), &out, "nothing", 1); err == nil || err.Error() != `there is no network "nothing"` {
		t.Errorf("a network that is not there: got %v", err)
	}
}
