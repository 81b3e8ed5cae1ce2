package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

var lastLine = regexp.MustCompile(`\ntest_accuracy=(0\.\d{4}) seconds=\d+\.\d\n$`)

// TestRun trains for an epoch, again with fusion and tasks by themselves, and in tiles, and checks that the
// curves are equal, and what is printed.
func TestRun(t *testing.T) {
	t.Parallel()
	curve := filepath.Join(t.TempDir(), "curve")
	var out bytes.Buffer
	if err := run(t.Context(), options{seed: 1, workers: 2, devices: 1, epochs: 1, batch: 32, rates: "constant", curve: curve}, &out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(curve)
	if err != nil {
		t.Fatal(err)
	}
	var losses []float64
	for line := range strings.Lines(string(data)) {
		v, err := strconv.ParseFloat(strings.Fields(line)[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, v)
	}
	if steps := 1437/32 + 1; len(losses) != steps {
		t.Fatalf("the curve has %d losses, want %d", len(losses), steps)
	}
	o := options{seed: 1, workers: 2, devices: 1, epochs: 1, batch: 32, rates: "constant", curve: curve, fuse: true, plain: true}
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	if fused, err := os.ReadFile(curve); err != nil || !bytes.Equal(fused, data) {
		t.Errorf("with fusion the losses are %s, %v, without %s", fused, err, data)
	}
	o = options{seed: 1, workers: 2, devices: 1, epochs: 1, batch: 32, rates: "constant", curve: curve, fuse: true, tiles: true}
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	if tiled, err := os.ReadFile(curve); err != nil || !bytes.Equal(tiled, data) {
		t.Errorf("in tiles the losses are %s, %v, without %s", tiled, err, data)
	}
	first, last := losses[0], losses[len(losses)-1]
	if !(math.Abs(first-math.Log(classes)) <= 0.5) || last > 0.75*first {
		t.Errorf("losses go from %g to %g; want about %g at first, and less than three quarters of it at last", first, last, math.Log(classes))
	}
	m := lastLine.FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("the last line is not the accuracy:\n%s", &out)
	}
	if accuracy, _ := strconv.ParseFloat(m[1], 64); accuracy < 0.7 {
		t.Errorf("test accuracy %g after an epoch", accuracy)
	}
	for _, part := range []string{"confusion matrix", "conv_2d.backward", "adam.update", "peak memory of tensors"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the output does not say %q:\n%s", part, &out)
		}
	}
}

// TestPictures writes the trace, the graph and the memory map of a short training.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options{seed: 1, workers: 2, devices: 1, epochs: 1, batch: 80, rates: "cosine", recorded: 10, trace: filepath.Join(dir, "trace"), dot: filepath.Join(dir, "dot"), memory: filepath.Join(dir, "memory"), chart: filepath.Join(dir, "chart"), cost: true}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{o.trace: `"name":"conv2: conv_2d.backward"`, o.dot: `label="conv2: conv_2d.backward`, o.memory: ">conv2.output<", o.chart: ">18</text>"} {
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: want %s in it, got %d bytes, %v", filepath.Base(path), want, len(data), err)
		}
	}
	for _, want := range []string{"mean and spread of 10 steps", "cost of operators; at best", "of best"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, &out)
		}
	}
	o = options{seed: 1, workers: 1, devices: 1, epochs: 1, batch: 700, rates: "constant", dot: filepath.Join(dir, "no", "dot")}
	if err := run(t.Context(), o, &out); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that cannot be made: %v", err)
	}
}

// asking asks for the pages of a training when the training says where they are.
type asking struct {
	bytes.Buffer
	pages string
}

func (a *asking) Write(text []byte) (int, error) {
	if url, _, ok := strings.Cut(string(text), " shows the training while it runs"); ok {
		for _, url := range []string{url, strings.Replace(url, "/?", "/2?", 1)} {
			answer, err := http.Get(url)
			if err != nil {
				return 0, err
			}
			defer answer.Body.Close()
			page, err := io.ReadAll(answer.Body)
			if err != nil {
				return 0, err
			}
			a.pages += string(page)
		}
	}
	return a.Buffer.Write(text)
}

// TestReadme runs the commands of the README that write pictures, as they are written there, and reads what
// they write.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"trace.json": `"cat":"wait"`, "plan.dot": `label="conv2: conv_2d.backward`, "memory.svg": ">Memory of plan training<",
		"training.html": "<title>Training of digits</title>", "digits.html": "<title>Plan training</title>", "tiles.svg": "tile 1 of ", "timeline.svg": ">Timeline of plan training<", "prediction.json": `"name":"prediction of plan training"`}
	t.Chdir(t.TempDir())
	for _, command := range regexp.MustCompile(`(?m)^    go run ./examples/digits (.*)$`).FindAllStringSubmatch(string(readme), -1) {
		var o options
		f := flag.NewFlagSet("digits", flag.ContinueOnError)
		o.register(f)
		if err := f.Parse(strings.Fields(command[1])); err != nil {
			t.Fatal(err)
		}
		if err := o.check(f.Args()); err != nil {
			t.Fatal(err)
		}
		o.workers = 2 // so that there are waits
		var out asking
		if err := run(t.Context(), o, &out); err != nil {
			t.Fatal(err)
		}
		for _, title := range []string{"Training of digits", "Plan training"} {
			if served := strings.Contains(out.pages, "<title>"+title+"</title>"); served != (o.serve != "") {
				t.Errorf("%s: while it runs there is the page %s %t, %q", command[0], title, served, out.pages)
			}
		}
		if o.prediction != "" && !regexp.MustCompile(`\na step takes \d+\.\d us as predicted, and \d+\.\d us as measured; its critical path takes \d+\.\d us\nworker 0 waits for `).MatchString(out.String()) {
			t.Errorf("%s prints\n%s", command[0], &out.Buffer)
		}
	}
	for file, text := range want {
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), text) {
			t.Errorf("%s: want %s in it, got %d bytes, %v", file, text, len(data), err)
		}
	}
}

// TestWorkers takes a few steps with 1, 2 and 3 workers: the losses and what the network answers then
// are the same, bit for bit. Another seed gives others.
func TestWorkers(t *testing.T) {
	t.Parallel()
	const batch, steps = 32, 6
	train := func(seed uint64, workers int) (losses, logits []uint32) {
		training, test, err := loadDigits(1)
		if err != nil {
			t.Fatal(err)
		}
		s := newClassifier(openSession(t, workers), &options{seed: seed, devices: 1, dropout: usualDropout}, optimizerOf(t, "constant"))
		numbers := make([]int, batch)
		for step := range steps {
			for i := range numbers {
				numbers[i] = step*batch + i
			}
			loss, _, err := s.step(t.Context(), training.pick(numbers))
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, math.Float32bits(loss))
		}
		answers, err := s.logits(t.Context(), test)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			logits = append(logits, math.Float32bits(a))
		}
		return losses, logits
	}
	losses, logits := train(1, 1)
	for _, workers := range []int{2, 3} {
		l, a := train(1, workers)
		if !slices.Equal(l, losses) {
			t.Errorf("the losses with %d workers are %x, with one %x", workers, l, losses)
		}
		if !slices.Equal(a, logits) {
			t.Errorf("the answers with %d workers differ from those with one", workers)
		}
	}
	if l, _ := train(2, 1); slices.Equal(l, losses) {
		t.Errorf("two seeds give the same losses, %x", l)
	}
}

// TestDevices trains on three devices, with one worker and with two: the losses are the same, bit for bit,
// and so are the weights of all devices. The losses are near those of one device, where dropout draws other
// masks.
func TestDevices(t *testing.T) {
	t.Parallel()
	const batch, steps = 32, 10
	training, _, err := loadDigits(1)
	if err != nil {
		t.Fatal(err)
	}
	train := func(workers, devices int) (losses []float32) {
		c := newClassifier(openSession(t, workers, opgen.Devices(devices)), &options{seed: 1, devices: devices, dropout: usualDropout}, optimizerOf(t, "cosine"))
		numbers := make([]int, batch)
		for step := range steps {
			for i := range numbers {
				numbers[i] = step*batch + i
			}
			loss, _, err := c.step(t.Context(), training.pick(numbers))
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, loss)
		}
		if devices > 1 {
			_, _, err := c.step(t.Context(), training.pick(numbers[:devices-1]))
			if err == nil || !strings.Contains(err.Error(), "want at least one image for each of 3 devices, got 2") {
				t.Errorf("two images: %v", err)
			}
		}
		checkReplicas(t, c, batch)
		return losses
	}
	one := train(1, 1)
	three := train(1, 3)
	for i := range three {
		if d := math.Abs(float64(three[i] - one[i])); !(d <= 0.1) {
			t.Errorf("loss %d on three devices is %g, on one %g", i, three[i], one[i])
		}
	}
	if two := train(2, 3); !slices.Equal(two, three) {
		t.Errorf("the losses with two workers are %v, with one %v", two, three)
	}
}

// checkReplicas checks that the weights of all devices are equal.
func checkReplicas(t *testing.T, c *classifier, batch int) {
	t.Helper()
	p, err := c.train.For(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range p.Net.networks[0].graph.Nodes() {
		for slot := range n.Op.Slots {
			v := n.Tensor(slot)
			if !v.Variable() {
				continue
			}
			want, err := opgen.Fetch[float32](p.Program, v)
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range p.Net.networks[1:] {
				twin := other.graph.Nodes()[i].Tensor(slot)
				if got, err := opgen.Fetch[float32](p.Program, twin); err != nil || !slices.Equal(got, want) {
					t.Errorf("%v differs from %v, %v", twin, v, err)
				}
			}
		}
	}
}

// TestSave trains for two epochs, and for one whose weights are saved and one that begins with them: the
// second begins where the first ended.
func TestSave(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weights")
	var first, second bytes.Buffer
	if err := run(t.Context(), options{seed: 1, workers: 1, devices: 1, epochs: 1, batch: 32, rates: "constant", fuse: true, save: path}, &first); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), options{seed: 1, workers: 1, devices: 1, epochs: 1, batch: 32, rates: "constant", fuse: true, load: path}, &second); err != nil {
		t.Fatal(err)
	}
	accuracy := func(b bytes.Buffer) float64 {
		m := lastLine.FindStringSubmatch(b.String())
		if m == nil {
			t.Fatalf("the last line is not the accuracy:\n%s", &b)
		}
		a, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a, b := accuracy(first), accuracy(second); b < a+0.02 {
		t.Errorf("test accuracy %g after an epoch, and %g after another", a, b)
	}
}

// openSession opens a session that is closed at the end of a test.
func openSession(t testing.TB, workers int, opts ...opgen.Option) *opgen.Session {
	t.Helper()
	s, err := opgen.Open(catalogue.Register, append(opts, opgen.Workers(workers), opgen.Profile(), opgen.Fuse())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// optimizerOf returns the optimizer with a schedule over 20 steps.
func optimizerOf(t testing.TB, schedule string) graph.Optimizer {
	t.Helper()
	o, err := newOptimizer(schedule, 20, 0)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestSchedules takes training steps with each schedule. The rate differs between them, and so do the losses.
func TestSchedules(t *testing.T) {
	t.Parallel()
	training, _, err := loadDigits(1)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float32]string{}
	for _, schedule := range schedules {
		c := newClassifier(openSession(t, 1), &options{seed: 1, devices: 1, dropout: usualDropout}, optimizerOf(t, schedule))
		var loss float32
		for range 5 {
			if loss, _, err = c.step(t.Context(), training.pick([]int{0, 1, 2})); err != nil {
				t.Fatal(err)
			}
		}
		if other, ok := seen[loss]; ok && (schedule != "step" && other != "step") {
			t.Errorf("the schedules %s and %s give the same loss %v", schedule, other, loss)
		}
		seen[loss] = schedule
	}
	want := "schedule: want one of [constant cosine exponential linear step], got none"
	if _, err := newOptimizer("none", 20, 0); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestClipped trains with a bound of gradients that is never reached, which changes no bit, and with a small
// one.
func TestClipped(t *testing.T) {
	t.Parallel()
	training, _, err := loadDigits(1)
	if err != nil {
		t.Fatal(err)
	}
	losses := func(o graph.Optimizer) (out []float32) {
		c := newClassifier(openSession(t, 2), &options{seed: 1, devices: 1, dropout: usualDropout}, o)
		for range 4 {
			loss, _, err := c.step(t.Context(), training.pick([]int{0, 1, 2}))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, loss)
		}
		return out
	}
	plain := func() graph.Optimizer { return sgd.Optimizer(sgd.Defaults(0.1)) }
	free, loose, tight := losses(plain()), losses(bounded(1e6, plain())), losses(bounded(1e-3, plain()))
	if !slices.Equal(free, loose) {
		t.Errorf("without a bound %v, with one that is not reached %v", free, loose)
	}
	if !(tight[3] > free[3]) || tight[0] != free[0] {
		t.Errorf("without a bound %v, with a small one %v, want less progress", free, tight)
	}
}

// TestAverages takes steps with moving averages. The losses are those without. At the end weights get the
// averages, which the test computes by itself from the weights of each step.
func TestAverages(t *testing.T) {
	t.Parallel()
	training, _, err := loadDigits(1)
	if err != nil {
		t.Fatal(err)
	}
	const name, decay = "out.weight", 0.5
	batch := training.pick([]int{0, 1, 2})
	session, plain := openSession(t, 1), openSession(t, 1)
	means := averages{}
	c := newClassifier(session, &options{seed: 1, devices: 1, dropout: usualDropout}, means.of(decay, optimizerOf(t, "constant")))
	same := newClassifier(plain, &options{seed: 1, devices: 1, dropout: usualDropout}, optimizerOf(t, "constant"))
	var want []float32
	for step := range 4 {
		loss, _, err := c.step(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		if other, _, err := same.step(t.Context(), batch); err != nil || other != loss {
			t.Errorf("step %d: loss %v, want %v as without averages; %v", step, loss, other, err)
		}
		now := weightOf(t, session, name)
		if step == 0 {
			want = now
		}
		d := float32(min(decay, float64(1+step)/float64(10+step)))
		for i, w := range now {
			want[i] = d*want[i] + (1-d)*w
		}
	}
	if err := session.CopyVariables(means); err != nil {
		t.Fatal(err)
	}
	got := weightOf(t, session, name)
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= 1e-6) {
			t.Fatalf("element %d of the averages is %v, want %v", i, got[i], want[i])
		}
	}
}

// weightOf returns the values of a variable, which the session writes to a file.
func weightOf(t *testing.T, s *opgen.Session, name string) []float32 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weights")
	if err := s.SaveVariables(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	v, ok := f.Tensors[name]
	if !ok || len(v.Data) == 0 {
		t.Fatalf("there is no variable %s among %v", name, slices.Sorted(maps.Keys(f.Tensors)))
	}
	out := make([]float32, len(v.Data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(v.Data[4*i:]))
	}
	return out
}

// TestDecaying trains a step with a decay of weights: it changes weights of products, and no biases.
func TestDecaying(t *testing.T) {
	t.Parallel()
	training, _, err := loadDigits(1)
	if err != nil {
		t.Fatal(err)
	}
	weights := func(decay float64) (product, bias []float32) {
		s := openSession(t, 1)
		o, err := decaying("constant", 20, decay)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := newClassifier(s, &options{seed: 1, devices: 1, dropout: usualDropout}, o).step(t.Context(), training.pick([]int{0, 1, 2})); err != nil {
			t.Fatal(err)
		}
		return weightOf(t, s, "out.weight"), weightOf(t, s, "out.bias")
	}
	product, bias := weights(0)
	decayed, same := weights(10)
	if slices.Equal(product, decayed) || !slices.Equal(bias, same) {
		t.Errorf("with a decay, weights of products are the same: %v, biases: %v; want false and true", slices.Equal(product, decayed), slices.Equal(bias, same))
	}
}

// TestSplit checks that every image is either trained on or tested with.
func TestSplit(t *testing.T) {
	t.Parallel()
	training, test, err := loadDigits(3)
	if err != nil {
		t.Fatal(err)
	}
	if training.len() != 1437 || test.len() != 360 {
		t.Errorf("%d images to train on and %d to test, want 1437 and 360", training.len(), test.len())
	}
	count := func(sets ...dataset) map[[pixels + 1]float32]int {
		n := map[[pixels + 1]float32]int{}
		for _, d := range sets {
			for i, label := range d.labels {
				n[[pixels + 1]float32(append(slices.Clone(d.images[i*pixels:(i+1)*pixels]), float32(label)))]++
			}
		}
		return n
	}
	other, rest, err := loadDigits(4)
	if err != nil {
		t.Fatal(err)
	}
	a, b := count(training, test), count(other, rest)
	if !maps.Equal(a, b) {
		t.Error("two seeds do not split the same images")
	}
	if slices.Equal(training.labels, other.labels) {
		t.Error("two seeds split alike")
	}
}

// full is a disk without any space.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestFullOutput checks that a training of which the output is lost ends with an error.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), options{seed: 1, workers: 1, devices: 1, epochs: 1, batch: 200, rates: "constant"}, full{})
	if !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
}

// TestTooLargeBatch checks that a batch larger than the training set is refused.
func TestTooLargeBatch(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), options{seed: 1, workers: 1, devices: 1, epochs: 1, batch: 2000}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "1437") {
		t.Errorf("error %v, want one that says how many images there are", err)
	}
}

// TestChecked takes a training step in checked mode. The loss is that of a step without it.
func TestChecked(t *testing.T) {
	t.Parallel()
	training, _, err := loadDigits(1)
	if err != nil {
		t.Fatal(err)
	}
	var losses [2]float64
	for i, opts := range [][]opgen.Option{nil, {opgen.Checked()}} {
		loss, _, err := newClassifier(openSession(t, 2, opts...), &options{seed: 1, devices: 1, dropout: usualDropout}, optimizerOf(t, "cosine")).step(t.Context(), training.pick([]int{0, 1, 2}))
		if err != nil {
			t.Fatal(err)
		}
		losses[i] = float64(loss)
	}
	if losses[0] != losses[1] {
		t.Errorf("the loss is %v, checked %v", losses[0], losses[1])
	}
}

// BenchmarkStep measures a training step of the usual size: with memory in place and fused tasks, and
// without.
func BenchmarkStep(b *testing.B) {
	training, _, err := loadDigits(1)
	if err != nil {
		b.Fatal(err)
	}
	const batch = 32
	numbers := make([]int, batch)
	for i := range numbers {
		numbers[i] = i
	}
	images := training.pick(numbers)
	for _, plain := range []bool{true, false} {
		var opts []opgen.Option
		name := "fused"
		if plain {
			name, opts = "plain", []opgen.Option{opgen.Plain()}
		}
		b.Run(name, func(b *testing.B) {
			s := newClassifier(openSession(b, 1, opts...), &options{seed: 1, devices: 1, dropout: usualDropout}, optimizerOf(b, "constant"))
			t, err := s.train.For(b.Context(), batch)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := s.step(b.Context(), images); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(t.Plan().Tasks)), "tasks")
			b.ReportMetric(float64(t.Plan().ArenaBytes)/1024, "arena-KiB")
		})
	}
}

// TestFlags checks that what is wrong with a flag is said by its name.
func TestFlags(t *testing.T) {
	t.Parallel()
	good := options{workers: 1, devices: 1, epochs: 1, batch: 1, engine: "cpu", rates: "constant", recorded: 1}
	if err := good.check(nil); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*options){
		"-workers: want at least 1, got 0":                                           func(o *options) { o.workers = 0 },
		`-engine: want one of auto, cpu, cuda, got "gpu"`:                            func(o *options) { o.engine = "gpu" },
		"-devices: want at least 1, got -1":                                          func(o *options) { o.devices = -1 },
		"-epochs: want at least 1, got 0":                                            func(o *options) { o.epochs = 0 },
		"-batch: want at least 1, got 0":                                             func(o *options) { o.batch = 0 },
		`-schedule: want one of constant, step, exponential, linear, cosine, got ""`: func(o *options) { o.rates = "" },
		"-clip: want at least 0, got NaN":                                            func(o *options) { o.clip = math.NaN() },
		"-decay: want at least 0, got -1":                                            func(o *options) { o.decay = -1 },
		"-average: want at least 0 and less than 1, got 1":                           func(o *options) { o.average = 1 },
		"-recorded: want at least 1, got 0":                                          func(o *options) { o.recorded = 0 },
		"-every: want at least 0, got -1":                                            func(o *options) { o.every = -1 },
		"-every: want -checkpoint, too, which says where checkpoints go":             func(o *options) { o.every = 1 },
		"-resume: want -checkpoint, too, which says where checkpoints are":           func(o *options) { o.resume = true },
		"-load, -resume: want one of them, as both say which weights to begin with":  func(o *options) { o.load, o.resume, o.checkpoints = "w", true, "c" },
	} {
		o := good
		change(&o)
		if err := o.check(nil); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := good.check([]string{"20"}); err == nil || err.Error() != `want flags only, got the argument "20"` {
		t.Errorf("an argument: got %v", err)
	}
}

// TestStrategy divides trainings among devices as files say. If they divide batches alone, the losses are
// those of -devices 4, bit for bit; others are near those of one device. The classifier that answers has the
// weights of all devices.
func TestStrategy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all [][]float64
	for i, flags := range [][]string{{"-devices", "1"}, {"-devices", "4"}, {"-strategy", "strategy.toml"}, {"-strategy", "tensor.toml"}, {"-strategy", "pipeline.toml"}} {
		var o options
		f := flag.NewFlagSet("digits", flag.ContinueOnError)
		o.register(f)
		if err := f.Parse(append(flags, "-dropout", "0", "-epochs", "3", "-workers", "2", "-curve", filepath.Join(dir, strconv.Itoa(i)))); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := run(t.Context(), o, &out); err != nil {
			t.Fatalf("%v: %v", flags, err)
		}
		_, last, _ := strings.Cut(out.String(), "\ntest_accuracy=")
		var accuracy float64
		if _, err := fmt.Sscan(strings.Fields(last + " ")[0], &accuracy); err != nil || accuracy < 0.9 {
			t.Errorf("%v: the accuracy is %v, %v", flags, accuracy, err)
		}
		if _, epoch, _ := strings.Cut(out.String(), "epoch  3/3 "); !strings.Contains(epoch[:40], "accuracy 0.9") {
			t.Errorf("%v: want 9 of 10 images right in training, got %s", flags, epoch[:40])
		}
		text, err := os.ReadFile(o.curve)
		if err != nil {
			t.Fatal(err)
		}
		var losses []float64
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if words[1] == "45" {
				continue // the last images of an epoch, which no strategy divides
			}
			loss, err := strconv.ParseFloat(words[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, loss)
		}
		all = append(all, losses)
	}
	first := 44 // of an epoch, before -devices has other images
	for i, losses := range all {
		if len(losses) != 3*first {
			t.Fatalf("run %d has %d losses", i, len(losses))
		}
		for step, loss := range losses[:first] {
			if d := math.Abs(loss - all[0][step]); !(d <= 1e-4) || i == 2 && loss != all[1][step] {
				t.Errorf("run %d, step %d: the loss is %v, on one device %v, with -devices 4 %v", i, step+1, loss, all[0][step], all[1][step])
			}
		}
	}
	for args, want := range map[string]string{
		"-devices 2 -strategy a": "-devices, -strategy: want one of them",
		"-dropout 1":             "-dropout: want at least 0 and less than 1, got 1",
	} {
		var o options
		f := flag.NewFlagSet("digits", flag.ContinueOnError)
		o.register(f)
		if err := f.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		if err := o.check(nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}
