package randomformula

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// index is an index that something goes over.
type index struct {
	name string
	dim  string // the dimension over which it ranges, "" if it has a range of its own
	lo   string // the range, if it has one of its own
	hi   string
}

// writer writes a formula.
type writer struct {
	*rand.Rand
	c       *Case
	tensors []tensor // that can be read
	inside  []index  // the indices around
	open    int      // how many reductions are open
	deepest int      // how many may be
	budget  int      // how many more reductions the statement may have
	entered int      // where the indices of the innermost reduction begin
	within  bool     // in a branch, a condition or a reduction, where no order or scan stands
	calls   []function
	given   []statement // of the values of the formula's own
	// axes, perm and places are the attributes of kinds with runs, from the front.
	axes, perm, places []int
}

// statement is what a statement gives, and its indices.
type statement struct {
	text string
	vars []index
}

// longest is how long the text of a statement is that is written again.
const longest = 80

// tensor is what expressions may read.
type tensor struct {
	name  string
	kind  string   // real, whole or truth
	dims  []string // of each axis: a dimension, or a number
	below string   // of integers: the dimension whose indices they are, or ""
	// except is the integer that an element may be instead, or "".
	except string
}

// function is a function of the formula.
type function struct {
	name   string
	params int
}

// inputs are the slots that formulas may use.
var inputs = []struct {
	slot Slot
	kind string
}{
	{Slot{Name: "x", Type: "T", Shape: []string{"N", "K"}}, "real"},
	{Slot{Name: "w", Type: "T", Shape: []string{"N", "K"}}, "real"},
	{Slot{Name: "v", Type: "T", Shape: []string{"K"}}, "real"},
	{Slot{Name: "u", Type: "T", Shape: []string{"N"}}, "real"},
	{Slot{Name: "z", Type: "T", Shape: []string{"M", "K"}}, "real"},
	{Slot{Name: "e", Type: "T", Shape: []string{"3"}}, "real"},
	{Slot{Name: "limit", Type: "T", Shape: []string{}}, "real"},
	{Slot{Name: "cube", Type: "T", Shape: []string{"N", "K", "M"}}, "real"},
	{Slot{Name: "still", Type: "T", Shape: []string{"N", "K"}, Fixed: true}, "real"},
	{Slot{Name: "j", Type: "i64", Shape: []string{"N"}, Below: "K"}, "whole"},
	{Slot{Name: "jk", Type: "i32", Shape: []string{"K"}, Below: "K"}, "whole"},
	{Slot{Name: "label", Type: "i64", Shape: []string{"N"}, Below: "K", Except: "-1"}, "whole"},
	{Slot{Name: "mark", Type: "i32", Shape: []string{"K"}, Below: "N", Except: "-100"}, "whole"},
	{Slot{Name: "free", Type: "i64", Shape: []string{"N", "K"}}, "whole"},
	{Slot{Name: "short", Type: "i32", Shape: []string{"N", "K"}}, "whole"},
	{Slot{Name: "tiny", Type: "i8", Shape: []string{"K"}}, "whole"},
	{Slot{Name: "byte", Type: "u8", Shape: []string{"N", "K"}}, "whole"},
	{Slot{Name: "big", Type: "u64", Shape: []string{"N"}}, "whole"},
	{Slot{Name: "on", Type: "bool", Shape: []string{"N"}}, "truth"},
	{Slot{Name: "mask", Type: "bool", Shape: []string{"N", "K"}}, "truth"},
}

// New returns the random operator of a seed and a number.
func New(seed, number uint64) *Case {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, number))}
	w.c = &Case{Name: "op", Features: map[string]bool{}, Values: w.Uint64(), Type: w.pick("f32", "f64", "f64"), Few: w.IntN(3) == 0, Attrs: "{}"}
	w.extents()
	if w.one(2) {
		for _, d := range []string{"N", "K", "M"} {
			w.c.Dims[d] = max(w.c.Dims[d], 1)
		}
		w.c.Require = []string{"N >= 1", "K >= 1", "M >= 1"}
	}
	w.operator()
	w.run()
	for _, s := range w.c.Inputs {
		if s.Below != "" && w.c.Dims[s.Below] == 0 && !slices.Contains(w.c.Extents(s.Shape), 0) {
			w.c.Dims[s.Below] = 1 // no integer from 0 on lies below 0
		}
	}
	return w.c.half(number)
}

func (w *writer) pick(of ...string) string { return of[w.IntN(len(of))] }

// one reports true once in n times.
func (w *writer) one(n int) bool { return w.IntN(n) == 0 }

// note notes a feature that the formula has.
func (w *writer) note(feature string) { w.c.Features[feature] = true }

// thresholds are extents at which implementations change what they do.
var thresholds = []int{8, 16, 32, 64, 96, 128, 256, 1024, 4096}

// extents draws extents. Most are small; some lie around a threshold.
func (w *writer) extents() {
	small := func() int { return []int{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 9}[w.IntN(13)] }
	w.c.Dims = map[string]int{"N": small(), "K": small(), "M": small()}
	w.c.Example = map[string]int{"N": 3, "K": 4, "M": 2}
	if w.one(3) {
		w.c.Example = map[string]int{"N": 5, "K": 2, "M": 3}
	}
	w.deepest = 1 + w.IntN(3)
	around := func(most int) int {
		t := thresholds[w.IntN(len(thresholds))]
		for t > most {
			t = thresholds[w.IntN(len(thresholds))]
		}
		return t - 1 + w.IntN(3)
	}
	switch w.IntN(8) {
	case 0:
		w.c.Dims[w.pick("N", "K", "M")] = around(128)
		w.deepest = 1
	case 1:
		w.c.Dims = map[string]int{"N": 1 + w.IntN(3), "K": 1 + w.IntN(3), "M": 1 + w.IntN(2)}
		w.c.Dims[w.pick("N", "K", "K")] = around(4096)
		w.deepest = w.IntN(2)
	case 2:
		w.c.Dims = map[string]int{"N": around(64), "K": around(64), "M": 1 + w.IntN(2)}
		w.deepest = w.IntN(2)
	case 3:
		if w.one(4) { // more than a strip
			w.c.Dims = map[string]int{"N": 1 + w.IntN(3), "K": 1022 + w.IntN(5), "M": 1}
			w.deepest = w.IntN(2)
		}
	}
}

// operator writes the lines, and declares what they use.
func (w *writer) operator() {
	chosen := map[string]bool{"x": true}
	for range 1 + w.IntN(4) {
		chosen[inputs[w.IntN(len(inputs))].slot.Name] = true
	}
	for _, in := range inputs {
		if chosen[in.slot.Name] {
			w.tensors = append(w.tensors, tensor{in.slot.Name, in.kind, in.slot.Shape, in.slot.Below, in.slot.Except})
			w.c.Inputs = append(w.c.Inputs, in.slot)
		}
	}
	w.attributes()
	if w.one(4) {
		w.functions()
	}
	var lines []string
	if w.one(6) {
		lines = append(lines, w.corner()...)
	}
	for i := range w.IntN(4) {
		name := fmt.Sprintf("t%d", i)
		dims := w.dims()
		line, kind, below := w.statement(name, dims)
		lines = append(lines, line...)
		w.tensors = append(w.tensors, tensor{name, kind, dims, below, ""})
	}
	if w.one(10) {
		lines = append(lines, w.seam()...)
	}
	if len(lines) > 0 && strings.HasPrefix(lines[0], "trow") {
		w.c.Outputs = append(w.c.Outputs, Slot{Name: "y9", Type: "T", Shape: []string{"N", "K"}})
	}
	for i := range 1 + w.IntN(2) {
		name := fmt.Sprintf("y%d", i)
		lines = append(lines, w.output(name)...)
	}
	if w.one(8) {
		lines = append(lines, w.byHand()...)
	}
	lines = append(w.c.Lines, lines...)
	w.c.Lines = prune(lines)
	w.declare()
}

// plainN matches what stands around an index that is nothing but itself.
var plainN = regexp.MustCompile(`([\[(,] ?)n('*)([\],:]| [=if])`)

// run makes N a run of dimensions, if the formula uses its indices as they are.
func (w *writer) run() {
	text := strings.Join(w.c.Lines, "\n")
	rest := plainN.ReplaceAllString(plainN.ReplaceAllString(text, "$1$3"), "$1$3")
	if !w.one(2) || mentions(strings.ReplaceAll(rest, "'", " "), "n") || mentions(text, "N") {
		return
	}
	bound := false
	for _, s := range w.c.Inputs {
		bound = bound || slices.Contains(s.Shape, "N")
	}
	if !bound {
		return
	}
	w.note("run of dimensions")
	w.c.Run = [][]int{{}, {w.c.Dims["N"]}, {2, 3}, {1, 2, 2}, {w.c.Dims["N"], 1}, {3, 2}}[w.IntN(6)]
	w.c.Require = slices.DeleteFunc(w.c.Require, func(r string) bool { return strings.HasPrefix(r, "N") })
}

// dims draws the dimensions of a value.
func (w *writer) dims() []string {
	switch w.IntN(8) {
	case 0:
		return []string{"N"}
	case 1:
		return []string{"K"}
	case 2:
		return []string{}
	case 3:
		return []string{"K", "N"}
	case 4:
		return []string{"N", "M"}
	}
	return []string{"N", "K"}
}

// attributes gives the attributes values.
func (w *writer) attributes() {
	w.c.Attrs = fmt.Sprintf(`{"rate": %s, "size": %d, "flag": %v}`, w.pick("0.5", "0.25", "-1.5", "0.3"), 1+w.IntN(4), w.one(2))
}

// size makes the attribute size so great that its multiples, or what is added to it, wrap around.
func (w *writer) size() {
	great := uint64(1)<<[]int{31, 32, 40, 59, 60, 61, 63}[w.IntN(7)] + uint64(w.IntN(5)) - 2
	w.c.Attrs = sizeOf.ReplaceAllString(w.c.Attrs, fmt.Sprintf(`"size": %d`, min(great, uint64(math.MaxInt64))))
}

var sizeOf = regexp.MustCompile(`"size": \d+`)

// taps is an input of whose extent an attribute decides.
var taps = Slot{Name: "taps", Type: "T", Shape: []string{"size"}}

// sizeIs returns the value of the attribute size.
func (w *writer) sizeIs() (n int) {
	fmt.Sscanf(sizeOf.FindString(w.c.Attrs), `"size": %d`, &n)
	return n
}

// functions writes functions of one or two parameters.
func (w *writer) functions() {
	w.note("function")
	w.c.Lines = append(w.c.Lines, w.pick("f(p) = p * p - 1", "f(p) = tanh(p) + 0.5 * p", "f(p) = p > 0.3 ? p : 2 - p", "f(p) = max(p, 0.25)", "f(p) = sum(c < 3: p * c)"))
	w.calls = append(w.calls, function{"f", 1})
	if w.one(2) {
		w.c.Lines = append(w.c.Lines, w.pick("g(p, q) = p * q + f(p)", "g(p, q) = p > q ? p - q : f(q)", "g(p, q) = f(p) / (2 + q^2)"))
		w.calls = append(w.calls, function{"g", 2})
	}
}

// left enters the indices of a left side, and returns them.
func (w *writer) left(dims []string) string {
	w.inside = nil
	used := map[string]int{}
	var names []string
	for _, d := range dims {
		name := strings.ToLower(d) + strings.Repeat("'", used[d])
		used[d]++
		w.inside = append(w.inside, index{name: name, dim: d})
		names = append(names, name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// statement writes a statement that gives a value of the formula's own. It returns its kind, and the bound of
// integers.
func (w *writer) statement(name string, dims []string) (lines []string, kind, below string) {
	at := w.left(dims)
	if len(dims) == 0 && w.one(2) {
		at = ""
	}
	w.budget = 3
	switch w.IntN(12) {
	case 0, 3:
		return []string{name + at + " = " + w.position()}, "whole", "K"
	case 1:
		w.note("whole value")
		return []string{name + at + " = " + w.whole(2)}, "whole", ""
	case 2:
		w.note("truth value")
		return []string{name + at + " = " + w.condition(2)}, "truth", ""
	}
	x := w.top()
	if len(x) <= longest {
		w.given = append(w.given, statement{x, slices.Clone(w.inside)})
	}
	return []string{name + at + " = " + x}, "real", ""
}

// output writes the statements of an output.
func (w *writer) output(name string) []string {
	dims := w.dims()
	slot := Slot{Name: name, Type: "T", Shape: dims}
	at := w.left(dims)
	w.budget = 3
	var x string
	switch w.IntN(9) {
	case 0:
		slot.Type = w.pick("i64", "i32", "i8", "u8", "i64")
		x = w.whole(2)
		w.note("whole output")
	case 1:
		slot.Type = "bool"
		x = w.condition(2)
		w.note("truth output")
	default:
		x = w.top()
	}
	w.c.Outputs = append(w.c.Outputs, slot)
	if len(dims) > 0 && w.one(16) {
		last := dims[len(dims)-1]
		lower := strings.ToLower(last)
		if i := strings.Index(at, lower); w.one(2) && len(dims) > 0 {
			_ = i
			at = "[#(" + strings.Trim(at, "[]") + ")]"
			w.note("left by number")
		}
	}
	if w.one(12) {
		w.note("when")
		y := w.top()
		if slot.Type != "T" {
			y = w.whole(1)
		}
		if slot.Type == "bool" {
			y = w.condition(1)
		}
		return []string{name + at + " = " + x + " when flag", name + at + " = " + y + " when !flag"}
	}
	return []string{name + at + " = " + x}
}

// byHand writes the gradient of an input by hand.
func (w *writer) byHand() []string {
	var out *Slot
	for i := range w.c.Outputs {
		if w.c.Outputs[i].Type == "T" && len(w.c.Outputs[i].Shape) == 2 {
			out = &w.c.Outputs[i]
		}
	}
	var in *Slot
	for i := range w.c.Inputs {
		if w.c.Inputs[i].Type == "T" && !w.c.Inputs[i].Fixed {
			in = &w.c.Inputs[i]
		}
	}
	if out == nil || in == nil || w.c.Dims["N"]*w.c.Dims["K"]*w.c.Dims["M"] > 500 {
		return nil // the gradient adds up all elements for each
	}
	w.note("by hand")
	w.tensors = append(w.tensors, tensor{"grad." + out.Name, "real", out.Shape, "", ""})
	at := w.left(in.Shape)
	if in.Shape == nil || len(in.Shape) == 0 || in.Name == "e" {
		return nil
	}
	w.budget = 2
	return []string{"grad." + in.Name + at + " = " + w.real(2) + " + " + w.sumOf("grad."+out.Name, out.Shape) + " as surrogate"}
}

// sumOf writes the sum of a tensor's elements over all indices that are not around.
func (w *writer) sumOf(name string, dims []string) string {
	var at, over []string
	for _, d := range dims {
		i := strings.ToLower(d) + "''''"
		at, over = append(at, i), append(over, i)
	}
	return fmt.Sprintf("sum(%s: %s[%s])", strings.Join(over, ", "), name, strings.Join(at, ", "))
}

// prune leaves out the values that nothing reads.
func prune(lines []string) []string {
	for {
		kept := lines[:0:0]
		for i, l := range lines {
			name := l[:strings.IndexAny(l, " [(")]
			used := !strings.HasPrefix(name, "t") && name != "f" && name != "g"
			for j, m := range lines { // also above it, in a recurrence
				used = used || j != i && (strings.Contains(m, name+"[") || strings.Contains(m, name+"(") || mentions(m, name))
			}
			if used {
				kept = append(kept, l)
			}
		}
		if len(kept) == len(lines) {
			return kept
		}
		lines = kept
	}
}

// mentions reports whether a line has a name.
func mentions(line, name string) bool {
	for at := 0; ; {
		i := strings.Index(line[at:], name)
		if i < 0 {
			return false
		}
		i += at
		at = i + len(name)
		letter := func(b byte) bool {
			return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		}
		if (i == 0 || !letter(line[i-1])) && (at == len(line) || !letter(line[at])) {
			return true
		}
	}
}

// declare declares what the lines use.
func (w *writer) declare() { w.c.Tidy() }
