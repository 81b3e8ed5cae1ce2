//go:build unix

package driver_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
)

// numbers are ways in which a real number can hold others, the ~. Other signs are: # a number, | the primes
// of an index that is used nowhere else.
var numbers = []string{
	"max(x[n, k] * #, ~)", "min(x[n, k] - #, ~)", "max(~, x[n, k])", "min(~, ~)", "max(~, #, x[n, k], ~)", "x[n, k] / (# + ~)", "(# + ~) / x[n, k]", "(~) / (~)",
	"(~) * x[n, k]", "(~) * (~)", "(~) + (~)", "(~) - v[k] * #", "-(~)", "(~) ^ 2", "(~) ^ x[n, k]", "2 ^ (~)",
	"exp(~)", "log(# + ~)", "sqrt(# + ~)", "rsqrt(# + ~)", "sin(~)", "cos(~)", "tanh(~)", "sigmoid(~)", "Phi(~)", "expm1(~)", "log1p(# + ~)", "abs(~)",
	"erfinv(~)", "erfc(~)", "hypot(~, #)", "round(~)", "convert(~, 'f32')", "(x[n, k] > # ? ~ : v[k])", "(x[n, k] > # ? v[k] : ~)", "(~ > # ? ~ : v[k])", "(~ > v[k] ? x[n, k] : #)",
	"((~ > v[k] && ~ < 3) || n == # ? x[n, k] : ~)", "(isnan(~) ? x[n, k] : ~)", "(k > # ? ~ : ~)", "(mode == 'on' ? ~ : v[k])",
	"sum(j# < K: ~ * v[j#])", "max(j# < K: ~ * v[j#])", "logsumexp(j# < K: ~ + v[j#])", "mean(j# < K: ~ - v[j#])", "variance(j# < K: ~ * v[j#])",
	"prod(j# < K: ~ * v[j#])", "min(j# < K if j# != k: ~ * v[j#])", "sum(j# < K if ~ > v[j#]: x[n, j#])", "count(j# < K if ~ > v[j#])",
	"sum(j# in k - 1 .. k + 2: ~ * (v[j#] else 0))", "sum(j# in 0 .. k + 1: ~ * v[j#])", "max(j# in k .. K: ~ * v[j#])", "sum(i# < N, j# < K: ~ * x[i#, j#])",
	"(v[argmax(j# < K: x[n, j#] * (~))] else 0)", "(x[n, k - #] else ~)", "(v[k + n * #] else ~)", "v[idx[k]] * (~)",
	"double(~)", "square(~)", "clamp(~)", "mixed(~)", "soft(~)", "eight(~)", "scale(~)", "window(~)",
}

// places are ways in which an integer can hold others, in an index or in the end of a range.
var places = []string{
	"(~) / 2", "(~) % 3", "(~) + #", "(~) - #", "(~) * 2", "(~) * (~)", "(~) * k", "(~) + (~)", "(~) - (~)", "min(~, K - 1)", "max(~, 0)", "min(~, n + #)", "max(~, ~)", "-(~)",
	"quotient(~, 3)", "((~) % K) / 2", "((~) + (~)) / 2", "(~) / (n + 1)", "(~) % (n + 2)", "ceildiv(~, 2)", "(~ > 3 ? ~ : #)", "idx[min(max(~, 0), K - 1)]",
	"abs(~)", "half(~)", "twice(~)", "(k * N + n) / max(~, 1)",
}

// helpers are the functions that numbers and places apply.
var helpers = []string{
	"double(a) = a + a", "square(a) = a * a", "clamp(a) = a > 0 ? a < 1 ? a : 1 : 0", "mixed(a) = max(a, tanh(a)) * a", "soft(a) = log(1 + exp(a))",
	"eight(a) = double(double(double(a)))", "scale.on(a) = a * a", "scale.off(a) = a > 0 ? a : exp(a)", "window(a) = sum(w in 0 .. 3: a * w)",
	"half(a) = a / 2", "twice(a) = a + a",
}

// nest puts an expression into a way of holding one.
func nest(way, inner string, level int) string {
	return strings.NewReplacer("~", inner, "#", fmt.Sprint(level)).Replace(way)
}

// nested returns a spec whose formula has lines, with what these use.
func nested(lines ...string) string {
	formula := strings.Join(lines, "\n")
	has := func(s string) bool { return strings.Contains(formula, s) }
	for again := true; again; {
		again = false
		for _, h := range helpers {
			name, _, _ := strings.Cut(h, "(")
			called, _, _ := strings.Cut(name, ".")
			if has(called+"(") && !has(h) {
				formula, again = h+"\n"+formula, true
			}
		}
	}
	var slots, sizes, attrs string
	if has("v[") {
		slots, sizes = slots+"v = { role = \"input\", type = \"T\", shape = [\"K\"] }\n", sizes+"v = [4]\n"
	}
	if has("idx[") {
		slots, sizes = slots+"idx = { role = \"input\", type = \"i64\", shape = [\"K\"], below = \"K\" }\n", sizes+"idx = [4]\n"
	}
	if has("scale(") {
		attrs += "scale = { type = \"enum\", values = [\"on\", \"off\"], default = \"off\" }\n"
	}
	if has("mode") {
		attrs += "mode = { type = \"enum\", values = [\"on\", \"off\"], default = \"on\" }\n"
	}
	if attrs != "" {
		attrs = "[attrs]\n" + attrs + "\n"
	}
	return "edition = 1\nname = \"nested\"\ndoc = \"A formula with nested expressions.\"\nformula = \"\"\"\n" + formula + "\n\"\"\"\n\n[dtypes]\nT = [\"f64\"]\n\n" + attrs +
		"[slots]\nx = { role = \"input\", type = \"T\", shape = [\"N\", \"K\"] }\n" + slots + "output = { role = \"output\", type = \"T\", shape = [\"N\", \"K\"] }\n\n" +
		"[tasks.forward]\n[tasks.backward]\n\n[[examples]]\nx = [3, 4]\n" + sizes
}

// checkTime is the time of a processor that a check may take. The race detector makes a check 8 times slower.
const checkTime = time.Second * instrumented

// checkFast runs opgen check on a spec, and reports if that takes more than a time of a processor, or more
// memory than 1 GiB, which is less than all that is allocated. A check that takes much longer ends the
// process, since nothing can stop it.
func checkFast(t testing.TB, text string, limit time.Duration) []string {
	t.Helper()
	p := checkAllFast(t, map[string]string{"nested": text}, limit)
	if fixed := strings.Replace(text, "[tasks.backward]\n", "[tasks.backward]\ngrads = { x = \"scatter\" }\n", 1); fixed != text && wantsScatter(p, "x") {
		return checkFast(t, fixed, limit)
	}
	if fixed := strings.Replace(text, "{ x = \"scatter\" }", "{ x = \"scatter\", v = \"scatter\" }", 1); fixed != text && wantsScatter(p, "v") {
		return checkFast(t, fixed, limit)
	}
	if fixed := strings.Replace(text, "[tasks.backward]\n", "[tasks.backward]\ngrads = { v = \"scatter\" }\n", 1); fixed != text && wantsScatter(p, "v") {
		return checkFast(t, fixed, limit)
	}
	var said []string
	for _, d := range p.Findings.Sorted() {
		said = append(said, string(d.Code)+" "+d.Message)
	}
	return said
}

// checkAllFast runs opgen check on specs, by name, as checkFast does on one.
func checkAllFast(t testing.TB, specs map[string]string, limit time.Duration) *driver.Project {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.mod":     "module example.com/nested\n\ngo 1.26\n\nrequire github.com/opgen/opgen v0.1.0\n",
		"opgen.toml": "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n",
	}
	all := ""
	for name, text := range specs {
		files["specs/"+name+".toml"] = text
		all += text
	}
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	stop := time.AfterFunc(30*limit, func() { panic("opgen check does not end:\n" + all) })
	defer stop.Stop()
	var before, after runtime.MemStats
	var p *driver.Project
	var took time.Duration
	// A processor whose other thread works is up to half as fast, so the fastest of three counts.
	for try := 0; try == 0 || took > limit && try < 3; try++ {
		runtime.ReadMemStats(&before)
		start := processorTime()
		var err error
		p, err = driver.Load(root)
		took = processorTime() - start
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
	}
	if took > limit {
		t.Errorf("opgen check takes %v, want at most %v:\n%s", took, limit, all)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 1<<30 {
		t.Errorf("opgen check takes up to %d MiB, want at most 1024:\n%s", made>>20, all)
	}
	return p
}

// processorTime returns how long processors have worked for this process: a clock that does not go where
// others use them.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func wantsScatter(p *driver.Project, slot string) bool {
	return slices.ContainsFunc(p.Findings.Sorted(), func(d *diag.Diagnostic) bool {
		return strings.Contains(d.Message, "the gradient of "+slot+" once according to the spec, but adds")
	})
}

// randomNest draws formulas of nested expressions from bytes.
type randomNest struct {
	data []byte
	left int // how many bytes the formula may still have
	over []string
	used int // how many indices have names
}

func (r *randomNest) next(n int) int {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return int(b) % n
}

// expression draws an expression that nests others to a depth, by the given ways.
func (r *randomNest) expression(ways, leaves []string, depth int) string {
	if depth == 0 || r.left < 0 {
		return leaves[r.next(len(leaves))]
	}
	way := ways[r.next(len(ways))]
	if len(r.over) > 0 && r.next(2) == 0 { // mostly a few ways, again and again
		way = r.over[r.next(len(r.over))]
	}
	r.used++
	level := r.used
	first := r.expression(ways, leaves, depth-1)
	out := ""
	for i, piece := range strings.Split(way, "~") {
		switch {
		case i == 0:
		case i == 1:
			out += first
		case r.next(3) == 0 && len(first) < 2000:
			out += first
		case r.next(3) == 0:
			out += r.expression(ways, leaves, depth/3)
		default:
			out += leaves[r.next(len(leaves))]
		}
		out += piece
	}
	out = nest(out, "", level)
	r.left -= len(way)
	if len(out) > 12000 {
		return leaves[0]
	}
	return out
}

// formula draws the lines of a formula, of which each may use those before it.
func (r *randomNest) formula() []string {
	var lines []string
	leaves := []string{"x[n, k]", "v[k]", "x[n, k]", "2.5"}
	total := 0
	add := func(target string) {
		var e string
		r.over = nil
		if r.next(3) == 0 {
			for range 1 + r.next(3) {
				r.over = append(r.over, places[r.next(len(places))])
			}
			e = "(x[n, " + r.expression(places, []string{"k", "n", "3", "idx[k]"}, 1+r.next(60)) + "] else v[k])"
		} else {
			for range 1 + r.next(3) {
				r.over = append(r.over, numbers[r.next(len(numbers))])
			}
			e = r.expression(numbers, leaves, 1+r.next(60))
		}
		if total += len(e); total > 15000 {
			e = leaves[len(leaves)-1]
		}
		lines = append(lines, target+" = "+e)
	}
	r.left = 6000
	for i := range r.next(8) {
		name := fmt.Sprintf("y%d[n, k]", i)
		add(name)
		leaves = append(leaves, name)
	}
	add("output[n, k]")
	for _, y := range leaves[4:] {
		lines[len(lines)-1] += " + " + y
	}
	return lines
}

// FuzzNested checks specs of which bytes draw the formula: each check ends in time, and within 1 GiB. Code
// that counts coverage is slower.
func FuzzNested(f *testing.F) {
	for seed := range uint64(40) {
		data := make([]byte, 400)
		s := rand.New(rand.NewPCG(seed, 61))
		for i := range data {
			data[i] = byte(s.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkFast(t, nested((&randomNest{data: data}).formula()...), 2*checkTime)
	})
}

// TestNested checks formulas that nest one way of holding an expression, up to the limits.
func TestNested(t *testing.T) {
	accepted := 0
	for _, way := range slices.Concat(numbers, places) {
		for _, depth := range []int{3, 10, 20, 90} {
			e := "x[n, k]"
			if slices.Contains(places, way) {
				e = "k"
			}
			for i := range depth {
				if e = nest(way, e, i); len(e) > 1<<14 {
					break
				}
			}
			if slices.Contains(places, way) {
				e = "(x[n, " + e + "] else 0)"
			}
			if len(e) > 1<<14 {
				break
			}
			if len(checkFast(t, nested("output[n, k] = "+e), checkTime)) == 0 {
				accepted++
			}
		}
	}
	if want := 2 * len(numbers); accepted < want {
		t.Errorf("want at least %d formulas without findings, got %d", want, accepted)
	}
	chain := []string{"y0[n, k] = x[n, k]"} // each line doubles what those before compute
	for i := range 200 {
		chain = append(chain, fmt.Sprintf("y%d[n, k] = y%d[n, k] * y%d[n, k] + max(y%d[n, k], 1)", i+1, i, i, i))
	}
	examples := strings.Repeat("\n[[examples]]\nx = [5, 7]\n", 5000)
	for _, text := range []string{
		nested(append(chain, "output[n, k] = y200[n, k]")...),
		nested("output[n, k] = x[n, k] * sigmoid(x[n, k])") + examples,
		nested("output[n, k] = "+strings.Repeat("x[n, k] + ", 150)+"1") + examples,
		nested("output[n, k] = " + strings.Repeat("x[n, k] * ", 160) + "1"),
		nested("output[n, k] = x[n, " + strings.Repeat("min(k, ", 60) + "k" + strings.Repeat(" / 2 + 1)", 60) + "]"),
	} {
		checkFast(t, text, checkTime)
	}
}

// TestApplied checks operators of which each applies the one before twice, so that the formulas double in
// size until a limit ends that.
func TestApplied(t *testing.T) {
	specs := map[string]string{}
	for i := range 12 {
		line := "output[n, k] = x[n, k] * tanh(x[n, k])"
		if i > 0 {
			line = fmt.Sprintf("output[n, k] = o%d(o%d(x))[n, k] + 1", i-1, i-1)
		}
		name := fmt.Sprint("o", i)
		specs[name] = strings.Replace(nested(line), "\"nested\"", strconv.Quote(name), 1)
	}
	said := checkAllFast(t, specs, 4*checkTime).Findings.Sorted()
	if len(said) != 3 || !strings.Contains(said[0].Message, "parts of the formula names") {
		t.Errorf("want that the gradients of three are too large, got %d findings: %v", len(said), said)
	}
}
