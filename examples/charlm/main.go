// Charlm trains a language model on Newton's Opticks, a transformer that predicts one character after the
// other, on the CPU or on a GPU, with operators that opgen generated from specs. It compares the model with a
// trigram model of the same text, and lets it write some lines.
//
// The last line of its output is "transformer=b.bbbb trigram=b.bbbb seconds=ss.s", with the bits that a
// character of the text for validation takes. The same seed gives the same losses, bit for bit, for any
// number of workers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/engines"
	"github.com/opgen/opgen/examples/internal/moves"
	"github.com/opgen/opgen/examples/internal/onnxfile"
	"github.com/opgen/opgen/examples/internal/opticks"
	"github.com/opgen/opgen/examples/internal/planpage"
	"github.com/opgen/opgen/examples/internal/trainlog"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/mesh/search"
	"github.com/opgen/opgen/runtime/mpi"
)

type options struct {
	seed    uint64
	workers int
	engine  string
	devices int
	mpi     bool
	// strategy is a file that says how tensors are divided among devices.
	strategy string
	mesh     *mesh.Strategy // what it says, or nil
	// search is for how many devices a strategy is sought, or 0.
	search int
	// The sizes of the network, and of a batch.
	context, width, heads, groups, layers, batch int
	// Training: the number of steps, the greatest learning rate, and what else changes gradients and weights.
	steps                      int
	rate, clip, decay, dropout float64
	// Files.
	curve, chart, page, training, serve, save, load, onnx string
	// checkpoints is a folder, every the steps between two of them.
	checkpoints string
	every       int
	resume      bool
	// recorded is how many training steps are recorded for the page and for pictures.
	recorded int
	// What the model writes.
	sample      int
	temperature float64
	prompt      string
	times       bool
	tiles       bool
}

// register makes flags of the options, with their defaults.
func (o *options) register(f *flag.FlagSet) {
	f.Uint64Var(&o.seed, "seed", 1, "decides the first weights, the order of the text and what is drawn")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many workers share the work")
	f.StringVar(&o.engine, "engine", "cpu", "what runs the programs: cpu; cuda, a GPU; or auto, a GPU if there is one")
	f.IntVar(&o.devices, "devices", 1, "among how many devices each batch is divided; all have memory of this machine, or of that of their rank")
	f.StringVar(&o.strategy, "strategy", "", "divide tensors among devices as this `file` says, in place of -devices")
	f.IntVar(&o.search, "search", 0, "find the strategy that is predicted to be the fastest for this many `devices`, and write it to the file of -strategy first")
	f.BoolVar(&o.mpi, "mpi", false, "run as a rank of MPI, under mpiexec; -devices are those of all ranks together, and the losses do not depend on the number of ranks")
	f.IntVar(&o.context, "context", 32, "how many characters a prediction may depend on")
	f.IntVar(&o.width, "width", 128, "features of a character")
	f.IntVar(&o.heads, "heads", 4, "heads of attention, a divisor of the width")
	f.IntVar(&o.groups, "groups", 0, "heads of keys, a divisor of the heads, of a network with rotary positions and gated MLPs, which examples/decode runs; 0 for a network with learned positions")
	f.IntVar(&o.layers, "layers", 2, "layers of attention and of the MLP behind it")
	f.IntVar(&o.batch, "batch", 32, "pieces of text in a training step")
	f.IntVar(&o.steps, "steps", 4500, "training steps; 0 with -load only writes a sample")
	f.Float64Var(&o.rate, "rate", 6e-3, "the greatest learning rate, which grows at first and then falls to 0")
	f.Float64Var(&o.clip, "clip", 1, "the greatest norm of the gradients of all weights; 0 for any")
	f.Float64Var(&o.decay, "decay", 0.1, "how fast weights, but not biases, are drawn towards 0")
	f.Float64Var(&o.dropout, "dropout", 0, "the share of features that are dropped in training, which helps if the text is seen often")
	f.StringVar(&o.curve, "curve", "", "write the loss of every step to this `file`, exactly")
	f.StringVar(&o.chart, "chart", "", "draw the loss of every step of this run to this `file`, as SVG")
	f.StringVar(&o.page, "page", "", "show the training plan to people: write its graph, its memory, what workers did and how near tasks are to the roofline to this `file`, as HTML")
	planpage.Flag(f, &o.recorded)
	f.StringVar(&o.serve, "serve", "", "show how this training goes, while it runs, in a browser on this machine, at this `address`, such as localhost:0")
	f.StringVar(&o.training, "training", "", "show how this training went, beside earlier ones that the page has, on the page in this `file`, as HTML")
	f.StringVar(&o.load, "load", "", "begin with the weights in this `file`")
	f.StringVar(&o.save, "save", "", "write the weights to this `file` at the end")
	f.StringVar(&o.onnx, "onnx", "", "write the network with its weights to this `file` at the end, which other systems run")
	f.StringVar(&o.checkpoints, "checkpoint", "", "write checkpoints to this `folder`, as -every says and when the training is interrupted")
	f.IntVar(&o.every, "every", 100, "how many `steps` lie between two checkpoints")
	f.BoolVar(&o.resume, "resume", false, "go on from the newest checkpoint of the folder; the losses are those of a training without interruption")
	f.IntVar(&o.sample, "sample", 400, "how many `characters` the model writes at the end")
	f.Float64Var(&o.temperature, "temperature", 0.7, "how freely it writes them: 1 as often as it predicts, below 1 more likely ones, at 0 the most likely")
	f.StringVar(&o.prompt, "prompt", "The Rays of Light ", "what they follow")
	f.BoolVar(&o.tiles, "tiles", false, "cut tasks into tiles that wait only for the tiles whose elements they touch; the losses are the same")
	f.BoolVar(&o.times, "times", false, "measure the time of each task")
}

// check returns an error for options that do not fit together.
func (o *options) check() error {
	for _, c := range []struct {
		bad  bool
		want string
	}{
		{o.workers < 1, "-workers of at least 1"},
		{!slices.Contains(engines.Names, o.engine), "-engine of " + strings.Join(engines.Names, ", ")},
		{o.context < 1 || o.width < 1 || o.heads < 1 || o.layers < 0 || o.batch < 1, "-context, -width, -heads and -batch of at least 1 and no negative -layers"},
		{o.devices < 1 || o.devices > o.batch, "-devices of at least 1 and at most -batch"},
		{o.strategy != "" && o.devices != 1, "either -devices or -strategy"},
		{o.search < 0 || o.search > 0 && (o.strategy == "" || o.mpi), "no negative -search, and with it a -strategy and no -mpi"},
		{o.mpi && o.engine != "cpu", "-engine cpu with -mpi"},
		{o.heads > 0 && o.width%o.heads != 0, "-width that -heads divides"},
		{o.groups < 0 || o.groups > 0 && rotaryOf(o.sizes(&opticks.Corpus{Alphabet: []rune{' '}})).Check() != nil, "no negative -groups, -heads that they divide, and a -width that twice the heads divide"},
		{o.groups > 0 && o.dropout > 0, "no -dropout with -groups"},
		{o.steps < 0 || o.steps == 0 && o.load == "", "-steps of at least 1, or 0 with -load"},
		{!(o.rate >= 0 && o.clip >= 0 && o.decay >= 0), "no negative -rate, -clip or -decay"},
		{!(o.dropout >= 0 && o.dropout < 1), "-dropout of at least 0 and below 1"},
		{o.steps == 0 && (o.checkpoints+o.curve+o.chart+o.page+o.training+o.serve != "" || o.times), "-steps of at least 1 with -checkpoint, -curve, -chart, -page, -training, -serve and -times"},
		{o.every < 1, "-every of at least 1"},
		{o.recorded < 1, "-recorded of at least 1"},
		{o.resume && o.checkpoints == "", "-checkpoint with -resume"},
		{o.resume && o.load != "", "either -load or -resume"},
		{o.sample < 0 || !(o.temperature >= 0), "no negative -sample or -temperature"},
		{o.sample > 0 && o.prompt == "", "a -prompt, which the sample follows"},
	} {
		if c.bad {
			return fmt.Errorf("want %s", c.want)
		}
	}
	return nil
}

// fixed returns the options that a training must have again when it goes on.
func (o *options) fixed() map[string]string {
	fixed := map[string]string{"seed": fmt.Sprint(o.seed), "context": fmt.Sprint(o.context), "width": fmt.Sprint(o.width), "heads": fmt.Sprint(o.heads),
		"layers": fmt.Sprint(o.layers), "batch": fmt.Sprint(o.batch), "devices": fmt.Sprint(o.devices), "steps": fmt.Sprint(o.steps), "rate": fmt.Sprint(o.rate), "clip": fmt.Sprint(o.clip),
		"decay": fmt.Sprint(o.decay), "dropout": fmt.Sprint(o.dropout), "load": o.load}
	if o.groups > 0 { // checkpoints of networks without do not name it
		fixed["groups"] = fmt.Sprint(o.groups)
	}
	if o.strategy != "" {
		fixed["strategy"] = o.strategy
	}
	return fixed
}

// sizes returns the sizes of the network for a text.
func (o *options) sizes(c *opticks.Corpus) sizes {
	return sizes{alphabet: len(c.Alphabet), context: o.context, width: o.width, heads: o.heads, groups: o.groups, layers: o.layers, dropout: o.dropout}
}

// ranked is about what ranks on the processors of one machine do, as docs/ranks.md says.
var ranked = search.Machine{Rate: 40e9, Bandwidth: 10e9, Link: 2e9, Latency: 50e-6}

// find writes the strategy that is predicted to be the fastest, if one is sought.
func (o *options) find(c *opticks.Corpus, w io.Writer) error {
	if o.search == 0 {
		return nil
	}
	n := newNetwork(o.sizes(c), o.batch, o.seed, 0)
	var watched []graph.Tensor
	p, err := graph.Training(n.graph, n.loss, o.optimizer(&watched))
	if err != nil {
		return err
	}
	tried := 0
	best, err := search.Best(p, search.Config{Devices: o.search, Machine: ranked, Moves: moves.Parts, Each: func(*search.Found) { tried++ }})
	if err != nil {
		return err
	}
	text, err := best.Strategy.Encode()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "of %d strategies for %d devices, the fastest is predicted to take %v\n", tried, o.search, best)
	return os.WriteFile(o.strategy, text, 0o666)
}

// interruptedStatus is the exit status of shells for a program that a user interrupts.
const interruptedStatus = 130

func main() {
	var o options
	o.register(flag.CommandLine)
	flag.Parse()
	err := o.check()
	if flag.NArg() > 0 {
		err = fmt.Errorf("want no arguments but flags, got %q", flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "charlm:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	switch err := run(ctx, o, os.Stdout); {
	case errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "charlm:", err)
		os.Exit(interruptedStatus)
	case err != nil:
		fmt.Fprintln(os.Stderr, "charlm:", err)
		os.Exit(1)
	}
}

// run trains and compares the models, and prints what it does. It returns an error if not all can be printed.
func run(ctx context.Context, o options, w io.Writer) error {
	out := &trainlog.Output{W: w}
	return errors.Join(trainAndCompare(ctx, o, out), out.Err)
}

func trainAndCompare(ctx context.Context, o options, w io.Writer) (err error) {
	start := time.Now()
	c, err := opticks.Load()
	if err != nil {
		return err
	}
	prompt, err := c.Encode(o.prompt)
	if err != nil {
		return fmt.Errorf("the prompt: %w", err)
	}
	if err := o.find(c, w); err != nil {
		return err
	}
	if o.mesh, err = moves.Strategy(o.strategy, &o.devices); err != nil {
		return err
	}
	register, opts, err := engines.Choose(o.engine, o.workers, o.devices)
	if err != nil {
		return err
	}
	opts = append(opts, opgen.Fuse())
	if o.tiles {
		opts = append(opts, opgen.Tiled())
	}
	if o.times {
		opts = append(opts, opgen.Profile())
	}
	recorder := planpage.Recorder(o.recorded, o.serve != "")
	if o.page+o.serve != "" {
		opts = append(opts, opgen.Observe(recorder)) // which takes time
	}
	if o.mpi {
		opts = append(opts, opgen.MPI(mpi.Config{}))
	}
	session, err := opgen.Open(register, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	w = engines.First(session, w, &o.curve, &o.chart, &o.page, &o.training, &o.serve)

	const windows = 64 // of a batch for validation
	test, writer := newNetwork(o.sizes(c), windows, o.seed, 0), newNetwork(o.sizes(c), 1, o.seed, 0)
	if test.lead() > len(c.Train) {
		return fmt.Errorf("want a context of less than twice the %d characters to train on, got %d", len(c.Train), o.context)
	}
	fmt.Fprintf(w, "%d characters to train on, %d for validation, of %d kinds; %d weights; seed %d, workers: %d\n",
		len(c.Train), len(c.Valid), len(c.Alphabet), test.weights(), o.seed, o.workers)
	answer, err := session.Inference(ctx, test.graph, test.logits)
	if err != nil {
		return err
	}
	write, err := session.Inference(ctx, writer.graph, writer.logits)
	if err != nil {
		return err
	}
	var t *training
	if o.steps > 0 {
		if t, err = newTraining(ctx, o, c, session, recorder, w); err != nil {
			return err
		}
	}
	if o.load != "" {
		if err := session.LoadVariables(o.load); err != nil {
			return err
		}
	}
	if t != nil {
		if err := t.run(ctx); err != nil {
			return err
		}
		if err := moves.Gather(ctx, session, t.divided); err != nil {
			return err
		}
	}
	if o.save != "" {
		if err := session.SaveVariables(o.save); err != nil {
			return err
		}
	}
	if err := onnxfile.Write(o.onnx, session, writer.graph, writer.logits); err != nil {
		return err
	}
	own, err := test.bits(ctx, answer, slices.Concat(c.Train[len(c.Train)-test.lead():], c.Valid))
	if err != nil {
		return err
	}
	counted := newTrigram(len(c.Alphabet), c.Train).bits(slices.Concat(c.Train[len(c.Train)-2:], c.Valid))
	if o.sample > 0 {
		text, err := writer.continued(ctx, write, prompt, o.sample, o.temperature, o.seed)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s\n", c.Decode(text))
	}
	if t != nil {
		if err := t.report(); err != nil {
			return err
		}
		if err := trainlog.WriteFile(o.page, func(w io.Writer) error { return planpage.Write(w, recorder, t.step, o.workers) }); err != nil {
			return err
		}
		if o.page != "" {
			fmt.Fprintf(w, "\n%s shows the training step, in a browser\n", o.page)
		}
	}
	fmt.Fprintf(w, "\nbits a character of the text for validation takes; less is better\ntransformer=%.4f trigram=%.4f seconds=%.1f\n",
		own, counted, time.Since(start).Seconds())
	return nil
}
