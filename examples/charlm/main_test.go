package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/interrupt"
	"github.com/opgen/opgen/examples/internal/opticks"
	"github.com/opgen/opgen/examples/internal/planpage"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/curves"
)

// interrupts is how many times TestInterrupt interrupts a training.
var interrupts = flag.Int("interrupts", 2, "how many times to interrupt a training")

var program = interrupt.Program{
	Variable: "OPGEN_TEST_CHARLM",
	Args: func(dir string) []string {
		return []string{"-workers", "1", "-context", "16", "-width", "16", "-heads", "2", "-layers", "2", "-batch", "8", "-steps", "40", "-dropout", "0.1",
			"-every", "7", "-sample", "20", "-checkpoint", filepath.Join(dir, "checkpoints"), "-resume", "-curve", filepath.Join(dir, "curve"),
			"-save", filepath.Join(dir, "end")}
	},
	Files: []string{"curve", "end"},
}

func TestMain(m *testing.M) { program.Main(m, main) }

// TestInterrupt kills trainings and interrupts them as users do, at random moments. Each goes on from its
// checkpoints until it ends, with the losses and the variables of one that nothing interrupts, bit for bit.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	program.Interrupt(t, *interrupts, os.Kill, os.Interrupt)
}

// small returns the options of a small network.
func small(t *testing.T, args ...string) options {
	t.Helper()
	var o options
	f := flag.NewFlagSet("charlm", flag.ContinueOnError)
	o.register(f)
	if err := f.Parse(append([]string{"-workers", "2", "-context", "16", "-width", "32", "-heads", "2", "-layers", "2", "-batch", "16", "-steps", "60",
		"-sample", "0"}, args...)); err != nil {
		t.Fatal(err)
	}
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	return o
}

// curveOf returns the losses in a file.
func curveOf(t *testing.T, path string) (out []float64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[1], 64)
		if err != nil || fields[0] != strconv.Itoa(len(out)+1) {
			t.Fatalf("%s: %q after %d losses, %v", path, line, len(out), err)
		}
		out = append(out, v)
	}
	return out
}

var lastLine = regexp.MustCompile(`\ntransformer=(\d\.\d{4}) trigram=(\d\.\d{4}) seconds=\d+\.\d\n$`)

// figures returns the figures of both models that a run has printed.
func figures(t *testing.T, out string) (own, counted float64) {
	t.Helper()
	m := lastLine.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("the last line has no figures:\n%s", out)
	}
	own, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	counted, err = strconv.ParseFloat(m[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	return own, counted
}

// TestDevices divides batches among three devices, unequally: the losses are those of one device, but for
// rounding.
func TestDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all [][]float64
	for _, devices := range []string{"1", "3"} {
		o := small(t, "-devices", devices, "-steps", "20", "-curve", filepath.Join(dir, devices))
		if err := run(t.Context(), o, io.Discard); err != nil {
			t.Fatal(err)
		}
		all = append(all, curveOf(t, o.curve))
	}
	for i, v := range all[0] {
		if d := math.Abs(v - all[1][i]); !(d < 1e-3) || len(all[0]) != len(all[1]) {
			t.Errorf("step %d: the loss is %g on one device and %g on three", i+1, v, all[1][i])
		}
	}
}

// orderOfStages is what pipeline.toml makes of a training step.
const orderOfStages = `
4 micro-batches in 2 stages; stages wait 20 % of the time if all take equally long
stage 0  F0 F1 .. B0 F2 B1 F3 B2 .. B3
stage 1  .. F0 B0 F1 B1 F2 B2 F3 B3 ..
`

// TestStrategy divides training steps among four devices as files say. If they divide batches, the losses are
// those of -devices 4, bit for bit; if they divide weights or positions, too, they are near those of one
// device. The network that answers has the weights of all devices. A file that divides what an operator needs
// as a whole is refused.
func TestStrategy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all [][]float64
	var bits []float64
	for i, flags := range [][]string{{"-devices", "4"}, {"-strategy", "strategy.toml"}, {"-devices", "1"}, {"-strategy", "tensor.toml"}, {"-strategy", "sequence.toml"}, {"-strategy", "pipeline.toml"}} {
		var out bytes.Buffer
		o := small(t, append(flags, "-steps", "10", "-curve", filepath.Join(dir, strconv.Itoa(i)))...)
		if err := run(t.Context(), o, &out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), orderOfStages) != (o.strategy == "pipeline.toml") {
			t.Errorf("%v: want the order %q if there are stages, got %s", flags, orderOfStages, &out)
		}
		own, _ := figures(t, out.String())
		all, bits = append(all, curveOf(t, o.curve)), append(bits, own)
	}
	if len(all[0]) != 10 || !slices.Equal(all[0], all[1]) {
		t.Errorf("the losses are %v with -devices and %v with -strategy", all[0], all[1])
	}
	for i := range all {
		for step, loss := range all[2] {
			if d := math.Abs(all[i][step] - loss); !(d <= 1e-4) {
				t.Errorf("run %d, step %d: the loss is %v, on one device %v", i, step+1, all[i][step], loss)
			}
		}
		if d := math.Abs(bits[i] - bits[2]); !(d <= 2e-4) {
			t.Errorf("run %d: the network takes %v bits a character, trained on one device %v", i, bits[i], bits[2])
		}
	}
	for text, want := range map[string]string{
		`"layer1 attention.q_proj" = { 0 = "data" }`: "strategy.toml:5:31): operator multihead_attention, slot q_proj: want dimension 0 undivided",
		`"logits.weight" = { 0 = "data" }`:           "strategy.toml:5:21: logits.weight: want an axis whose size divides the extent 91",
	} {
		o := small(t, "-steps", "1", "-strategy", filepath.Join(dir, "strategy.toml"))
		if err := os.WriteFile(o.strategy, []byte("[mesh]\ndata = 4\n\n[divide]\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), o.strategy) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestSearch finds a strategy for two devices, and trains by it: the losses are near those of one device.
func TestSearch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all [][]float64
	for i, flags := range [][]string{{"-devices", "1"}, {"-search", "2", "-strategy", filepath.Join(dir, "found.toml")}} {
		var out bytes.Buffer
		o := small(t, append(flags, "-steps", "3", "-curve", filepath.Join(dir, strconv.Itoa(i)))...)
		if err := run(t.Context(), o, &out); err != nil {
			t.Fatal(err)
		}
		if i == 1 && !strings.Contains(out.String(), " strategies for 2 devices, the fastest is predicted to take ") {
			t.Errorf("got %s", &out)
		}
		all = append(all, curveOf(t, o.curve))
	}
	for step, loss := range all[0] {
		if d := math.Abs(all[1][step] - loss); !(d <= 1e-4) {
			t.Errorf("step %d: the loss is %v, on one device %v", step+1, all[1][step], loss)
		}
	}
}

// TestRun trains a small network, with one worker, with two, and in tiles: the losses are the same, and fall.
// It checks what is printed and written.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	o := small(t, "-curve", filepath.Join(dir, "curve"), "-chart", filepath.Join(dir, "chart"), "-save", filepath.Join(dir, "end"), "-sample", "30", "-times")
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	losses := curveOf(t, o.curve)
	if len(losses) != o.steps {
		t.Fatalf("the curve has %d losses, want %d", len(losses), o.steps)
	}
	first, last := losses[0], losses[len(losses)-1]
	if !(math.Abs(first-math.Log(91)) <= 1) || !(last < 0.8*first) {
		t.Errorf("losses go from %g to %g; want about %g at first, and less than 0.8 of it at last", first, last, math.Log(91))
	}
	if own, counted := figures(t, out.String()); !(own > 3 && own < 5) || !(math.Abs(counted-2.8396) <= 1e-4) {
		t.Errorf("%g and %g bits; want 3 to 5 after some steps, and 2.8396 for trigrams", own, counted)
	}
	for _, part := range []string{"509991 characters to train on, 56665 for validation, of 91 kinds", "\nstep    60/60  ", "adamw.update", "\nThe Rays of Light "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the output does not say %q:\n%s", part, &out)
		}
	}
	if chart, err := os.ReadFile(o.chart); err != nil || !strings.Contains(string(chart), ">60</text>") {
		t.Errorf("the chart: %v, %s", err, chart)
	}

	again := small(t, "-workers", "1", "-curve", filepath.Join(dir, "again"))
	if err := run(t.Context(), again, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if got := curveOf(t, again.curve); !slices.Equal(got, losses) {
		t.Errorf("with one worker the losses are %v, with two %v", got, losses)
	}

	tiled := small(t, "-tiles", "-curve", filepath.Join(dir, "tiled"), "-page", filepath.Join(dir, "page"), "-training", filepath.Join(dir, "training"), "-serve", "localhost:0")
	var served bytes.Buffer
	if err := run(t.Context(), tiled, &served); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^http://[^ ]+/\?token=\w+ shows the training while it runs$`).MatchString(served.String()) {
		t.Errorf("the output does not say where the training is shown:\n%s", &served)
	}
	if page, err := os.ReadFile(tiled.page); err != nil || !strings.Contains(string(page), "<title>Plan training</title>") {
		t.Errorf("the page has %d bytes, %v", len(page), err)
	}
	f, err := os.Open(tiled.training)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runs, err := curves.Read(f)
	if err != nil || len(runs) != 1 || len(runs[0].Curves) != 4 {
		t.Fatalf("the page of the training has %v, %v", runs, err)
	}
	for i, l := range losses {
		if got := float64(runs[0].Curve("loss").Values[i]); !(math.Abs(got-l/math.Ln2) <= 1e-12) {
			t.Errorf("step %d: the page has the loss %g, want %g bits", i+1, got, l/math.Ln2)
		}
		if rate, norm := runs[0].Curve("learning rate").Values[i], runs[0].Curve("norm of gradients").Values[i]; !(rate >= 0 && float64(rate) <= o.rate*(1+1e-6) && norm > 0) {
			t.Errorf("step %d: rate %g, norm %g", i+1, rate, norm)
		}
	}
	if got := curveOf(t, tiled.curve); !slices.Equal(got, losses) {
		t.Errorf("in tiles the losses are %v, without %v", got, losses)
	}

	var loaded bytes.Buffer
	if err := run(t.Context(), small(t, "-steps", "0", "-load", o.save, "-sample", "30"), &loaded); err != nil {
		t.Fatal(err)
	}
	sample := func(out string) string { return out[strings.Index(out, "The Rays"):][:len("The Rays of Light ")+30] }
	if got, want := sample(loaded.String()), sample(out.String()); got != want {
		t.Errorf("the loaded model writes %q, want %q", got, want)
	}
	own, _ := figures(t, out.String())
	if got, _ := figures(t, loaded.String()); got != own {
		t.Errorf("the loaded model takes %g bits, want %g", got, own)
	}
}

// TestStops ends the context of a training when its first line is printed: it writes a checkpoint, and says
// that it was interrupted. From there another training goes on to the losses and the variables of one that
// nothing interrupts.
func TestStops(t *testing.T) {
	t.Parallel()
	files := func(args ...string) options {
		dir := t.TempDir()
		return small(t, append(args, "-dropout", "0.1", "-curve", filepath.Join(dir, "curve"), "-save", filepath.Join(dir, "end"))...)
	}
	whole := files()
	if err := run(t.Context(), whole, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := files("-checkpoint", filepath.Join(t.TempDir(), "checkpoints"))
	err := run(ctx, o, &stopper{stop: cancel})
	if !errors.Is(err, errInterrupted) || err.Error() != "interrupted after 3 of 60 steps" {
		t.Fatalf("got %v, want %v after 3 of 60 steps", err, errInterrupted)
	}
	o.resume = true
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	if want := "going on after step 3 of 60\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want %s in it", &out, want)
	}
	for _, pair := range [][2]string{{o.curve, whole.curve}, {o.save, whole.save}} {
		got, err := os.ReadFile(pair[0])
		want, errWant := os.ReadFile(pair[1])
		if err := errors.Join(err, errWant); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from that of a training without interruption, %v", filepath.Base(pair[0]), err)
		}
	}
}

// stopper calls a function when the first step is done.
type stopper struct {
	bytes.Buffer
	stop func()
}

func (s *stopper) Write(b []byte) (int, error) {
	if strings.HasPrefix(string(b), "step ") {
		s.stop()
	}
	return s.Buffer.Write(b)
}

// TestResume checks what -resume demands.
func TestResume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := small(t, "-steps", "2", "-checkpoint", dir)
	if err := run(t.Context(), o, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	divided := small(t, "-steps", "2", "-strategy", "tensor.toml", "-checkpoint", t.TempDir())
	if err := run(t.Context(), divided, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*options){
		"has a checkpoint of step 2":                        func(*options) {},
		"the checkpoint of step 2 has seed = 1, want 2":     func(o *options) { o.resume, o.seed = true, 2 },
		"the checkpoint of step 2 has rate = 0.006, want 1": func(o *options) { o.resume, o.rate = true, 1 },
		"the checkpoint of step 2 has strategy = tensor.toml, want sequence.toml": func(o *options) {
			o.resume, o.checkpoints, o.strategy = true, divided.checkpoints, "sequence.toml"
		},
		"no such file": func(o *options) { o.resume, o.curve = true, filepath.Join(dir, "curve") },
		"want characters that the text for training has, got": func(o *options) { o.prompt = "λ" },
	} {
		o := o
		change(&o)
		if err := run(t.Context(), o, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestCheck refuses options that do not fit together.
func TestCheck(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*options){
		"-workers of at least 1":           func(o *options) { o.workers = 0 },
		"-engine of auto, cpu, cuda":       func(o *options) { o.engine = "tpu" },
		"-context, -width":                 func(o *options) { o.context = 0 },
		"either -devices or -strategy":     func(o *options) { o.devices, o.strategy = 2, "a" },
		"no negative -search, and with it": func(o *options) { o.search = 2 },
		"-width that -heads divides":       func(o *options) { o.heads = 3 },
		"-steps of at least 1":             func(o *options) { o.steps = 0 },
		"-steps of at least 1 with -ch":    func(o *options) { o.steps, o.load, o.chart = 0, "a", "b" },
		"no negative -rate":                func(o *options) { o.rate = math.NaN() },
		"-dropout of at least 0":           func(o *options) { o.dropout = 1 },
		"-recorded of at least 1":          func(o *options) { o.recorded = 0 },
		"-every of at least 1":             func(o *options) { o.every = 0 },
		"-checkpoint with -resume":         func(o *options) { o.resume = true },
		"either -load or -resume":          func(o *options) { o.resume, o.checkpoints, o.load = true, "a", "b" },
		"no negative -sample":              func(o *options) { o.temperature = -1 },
		"a -prompt, which the sample fol":  func(o *options) { o.sample, o.prompt = 1, "" },
	} {
		o := small(t)
		change(&o)
		if err := o.check(); err == nil || !strings.HasPrefix(err.Error(), "want "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// full is a disk without any space.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestFullOutput checks that a training of which the output is lost ends with an error.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), small(t, "-steps", "1"), full{}); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
}

// BenchmarkStep measures a training step of the usual size.
func BenchmarkStep(b *testing.B) {
	c, err := opticks.Load()
	if err != nil {
		b.Fatal(err)
	}
	var o options
	o.register(flag.NewFlagSet("charlm", flag.ContinueOnError))
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		t, err := newTraining(b.Context(), o, c, s, planpage.Recorder(1, false), &bytes.Buffer{})
		if err != nil {
			return err
		}
		characters := c.Train[:o.batch*o.context]
		for b.Loop() {
			if _, err := t.take(batch{characters, characters}); err != nil {
				return err
			}
		}
		b.ReportMetric(float64(len(t.step.Plan().Tasks)), "tasks")
		return nil
	}, opgen.Workers(1), opgen.Fuse())
	if err != nil {
		b.Fatal(err)
	}
}
