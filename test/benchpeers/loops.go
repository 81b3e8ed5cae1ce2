package main

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/taskbench"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

//go:embed programs/loops.c
var loopsSource string

// loop is a task of a formula, and the same in C: a loop of programs/loops.c.
type loop struct {
	title, op, attrs string
	shapes           map[string][]int
	kind             task.Kind
	// name is that of the loop in C. in are its inputs and out its results, in order: slots, or "grad." and a
	// slot.
	name    string
	in, out []string
}

// rowsOf are 4 Mi elements, in rows.
var rowsOf = shape(4096, 1024)

func unaryLoop(f string, kind task.Kind) loop {
	l := loop{title: strings.ToLower(f), op: "element_unary", attrs: fmt.Sprintf(`{"op_type": %q}`, f), shapes: one("input", 4*mi), kind: kind,
		name: strings.ToLower(f), in: []string{"input"}, out: []string{"output"}}
	return l.backward([]string{"input", "grad.output"}, "grad.input")
}

func rowLoop(op, attrs string, kind task.Kind, in ...string) loop {
	return loop{title: op, op: op, attrs: attrs, shapes: map[string][]int{"input": rowsOf}, kind: kind, name: op, in: in, out: []string{"output"}}
}

// row names the loop among the rows of all tables.
func (l loop) row() string { return "loop " + l.title }

// backward gives a loop the name, the inputs and the results that its gradient has, if it is one.
func (l loop) backward(in []string, out ...string) loop {
	if l.kind == task.KindBackward {
		l.title, l.name, l.in, l.out = l.title+" backward", l.name+"_backward", in, out
	}
	return l
}

// joined gives a gradient another loop in C, which goes through memory once.
func (l loop) joined() loop {
	l.title, l.name = l.title+", one way through memory in C", l.name+"_joined"
	return l
}

const (
	forward  = task.KindForward
	backward = task.KindBackward
)

var (
	layerNormBackward = rowLoop("layer_norm", `{"axes": [1]}`, backward).backward([]string{"input", "grad.output", "gamma", "center", "scale"},
		"grad.input", "grad.gamma", "grad.beta")
	rmsNormBackward = rowLoop("rms_norm", `{"axes": [1]}`, backward).backward([]string{"input", "grad.output", "gamma", "scale"}, "grad.input", "grad.gamma")
)

// loops are those that are measured beside C.
var loops = []loop{
	unaryLoop("GELU", forward), unaryLoop("GELU", backward), unaryLoop("SIGMOID", forward), unaryLoop("TANH", forward), unaryLoop("RELU", forward),
	unaryLoop("SILU", forward), unaryLoop("SILU", backward),
	{title: "adam", op: "adam", attrs: `{}`, shapes: map[string][]int{"weight": shape(4 * mi), "grad": shape(4 * mi)}, kind: task.KindUpdate,
		name: "adam", in: []string{"grad", "weight", "adam_m", "adam_v"}, out: []string{"grad", "weight", "adam_m", "adam_v"}},
	rowLoop("layer_norm", `{"axes": [1]}`, forward, "input", "gamma", "beta"),
	layerNormBackward, layerNormBackward.joined(),
	rowLoop("rms_norm", `{"axes": [1]}`, forward, "input", "gamma"),
	rmsNormBackward, rmsNormBackward.joined(),
	rowLoop("softmax", `{"dim": 1}`, forward, "input"),
	rowLoop("softmax", `{"dim": 1}`, backward).backward([]string{"output", "grad.output"}, "grad.input"),
	rowLoop("exponential_average", `{}`, forward, "input"),
	recurrence("wkv", "256 steps of 8 x 256", `{}`, map[string][]int{"key": shape(256, 8, 256), "value": shape(256, 8, 256), "decay": shape(256), "bonus": shape(256)},
		[]string{"key", "value", "decay", "bonus"}, "output", "sum_of", "share"),
	recurrence("selective_scan", "256 steps of 4 x 128 x 16", `{}`, map[string][]int{"input": shape(4, 256, 128), "delta": shape(4, 256, 128), "rate": shape(128, 16),
		"enter": shape(4, 256, 16), "leave": shape(4, 256, 16), "skip": shape(128)}, []string{"input", "delta", "rate", "enter", "leave", "skip"}, "output", "state"),
	recurrence("viterbi", "256 steps of 32 x 32", `{}`, map[string][]int{"input": shape(256, 32, 32), "transition": shape(32, 32)},
		[]string{"input", "transition"}, "score", "best"),
	recurrence("lstm", "64 steps of 32 x 128", `{"hidden_size": 128, "use_bias": false}`, map[string][]int{"input": shape(64, 32, 128), "hidden": shape(32, 128), "cell": shape(32, 128)},
		[]string{"input", "hidden", "cell", "weight_ih", "weight_hh"}, "output", "state"),
}

// recurrence is the forward task of an operator that goes over steps.
func recurrence(op, size, attrs string, shapes map[string][]int, in []string, out ...string) loop {
	return loop{title: op + ", " + size, op: op, attrs: attrs, shapes: shapes, kind: forward, name: op, in: in, out: out}
}

// cFlags are those with which loops are vectorized while numbers that are not finite keep their meaning.
var cFlags = []string{"-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"}

// compileLoops compiles the loops in C.
func compileLoops(dir string) (program string, err error) {
	return compileSource(dir, "loops", loopsSource, cFlags...)
}

// compileSource compiles a program in C.
func compileSource(dir, name, text string, flags ...string) (program string, err error) {
	source, program := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		return "", err
	}
	if out, err := exec.Command("cc", slices.Concat(flags, []string{"-o", program, source, "-lm"})...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cc: %w\n%s", err, out)
	}
	return program, nil
}

// loop measures a loop and the program's in turn, after it has compared their results.
func (b *bench) loop(l loop, program string) (row, error) {
	i := slices.IndexFunc(catalogue.Operators(), func(o *graph.Operator) bool { return o.Name == l.op })
	o := catalogue.Operators()[i]
	use, err := taskbench.New(&o.Operator, l.attrs, l.shapes, -1, 1)
	if err != nil {
		return row{}, err
	}
	memory := func(name string) task.Buffer {
		slot, grad := strings.CutPrefix(name, "grad.")
		i := slices.IndexFunc(o.Slots, func(s task.Slot) bool { return s.Name == slot })
		return use.Memory(i, grad)[0]
	}
	if l.op == "adam" { // means of squares are not negative
		for i, data := 3, memory("adam_v").Bytes; i < len(data); i += 4 {
			data[i] &= 0x7f
		}
	}
	arguments := []string{l.name, fmt.Sprint(b.budget.Seconds()), filepath.Join(b.dir, "results")}
	for i, name := range l.in {
		file := filepath.Join(b.dir, fmt.Sprint("loop-", i))
		if err := os.WriteFile(file, memory(name).Bytes, 0o666); err != nil {
			return row{}, err
		}
		arguments = append(arguments, file)
	}
	number := slices.IndexFunc(o.Signatures, func(s *task.Signature) bool { return s.Kind == l.kind })
	steps, err := use.Bind(number, b.tasks)
	if err != nil {
		return row{}, err
	}
	if err := runAll(steps); err != nil {
		return row{}, err
	}
	var own []float32
	for _, name := range l.out {
		m := memory(name)
		if m.Type != dtype.F32 {
			return row{}, fmt.Errorf("%s is a tensor of %v", name, m.Type)
		}
		own = append(own, float32s(m.Bytes)...)
	}
	r := row{title: l.title, forward: figure{math.Inf(1), math.Inf(1)}}
	for range b.rounds {
		ns, err := runLoop(program, arguments)
		if err != nil {
			return row{}, err
		}
		if math.IsInf(r.forward.peer, 1) {
			if err := l.compare(own, arguments[2]); err != nil {
				return row{}, err
			}
		}
		mine, err := fastest(func() error { return runAll(steps) }, b.budget)
		if err != nil {
			return row{}, err
		}
		r.forward = figure{min(r.forward.own, mine), min(r.forward.peer, ns)}
	}
	return r, nil
}

// runLoop returns the nanoseconds of the program's fastest run.
func runLoop(program string, arguments []string) (ns float64, err error) {
	out, err := exec.Command(program, arguments...).Output()
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(out), &ns)
	return ns, err
}

// compare compares results with those of the program in a file: they differ by 1e-5 of the greatest one at
// most.
func (l loop) compare(own []float32, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	other := float32s(data)
	if len(other) != len(own) {
		return fmt.Errorf("%s: want %d numbers of the program in C, got %d", l.title, len(own), len(other))
	}
	var most, apart float64 // a NaN if there is one
	for i, v := range own {
		most = max(most, math.Abs(float64(v)))
		apart = max(apart, math.Abs(float64(v)-float64(other[i])))
	}
	if !(apart <= 1e-5*most) {
		return fmt.Errorf("%s: results differ from those in C by up to %v, where the greatest is %v", l.title, apart, most)
	}
	return nil
}

// float32s returns the numbers of little endian memory.
func float32s(data []byte) []float32 {
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}
