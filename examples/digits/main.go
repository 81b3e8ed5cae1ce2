// Digits trains a small convolutional classifier on handwritten digits, on the CPU or on a GPU, with
// operators that opgen generated from specs.
//
// The last line of its output is "test_accuracy=0.xxxx seconds=ss.s". The same seed gives the same
// losses, bit for bit, for any number of workers.
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
	"github.com/opgen/opgen/examples/internal/planpage"
	"github.com/opgen/opgen/examples/internal/trainlog"
	"github.com/opgen/opgen/runtime/curves"
	"github.com/opgen/opgen/runtime/loader"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/mpi"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/timeline"
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
	dropout  float64
	epochs   int
	batch    int
	rates    string
	curve    string
	trace    string
	// Pictures of the training plan besides its graph and its memory, and a prediction of its run.
	timeline, tileGraph, prediction, page string
	training, serve                       string
	dot                                   string
	plan                                  string
	memory                                string
	clip                                  float64
	decay                                 float64
	average                               float64
	chart                                 string
	cost                                  bool
	fuse                                  bool
	plain                                 bool
	tiles                                 bool
	checked                               bool
	save                                  string
	load                                  string
	onnx                                  string
	// checkpoints is a folder, every the steps between two of them.
	checkpoints string
	every       int
	resume      bool
	// recorded is how many training steps are recorded for the page and for pictures.
	recorded int
}

// usualDropout is the share of features that are dropped if no flag says so.
const usualDropout = 0.3

// register makes flags of the options, with their defaults.
func (o *options) register(f *flag.FlagSet) {
	f.Uint64Var(&o.seed, "seed", 1, "decides the split, the first weights and the order of images")
	f.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many workers share the work")
	f.StringVar(&o.engine, "engine", "cpu", "what runs the programs: cpu; cuda, a GPU; or auto, a GPU if there is one")
	f.IntVar(&o.devices, "devices", 1, "among how many devices each batch is divided; all have memory of this machine")
	f.StringVar(&o.strategy, "strategy", "", "divide tensors among devices as this `file` says, in place of -devices")
	f.BoolVar(&o.mpi, "mpi", false, "run as a rank of MPI, under mpiexec; -devices are those of all ranks together, and the losses do not depend on the number of ranks")
	f.Float64Var(&o.dropout, "dropout", usualDropout, "the share of features that are dropped in training")
	f.IntVar(&o.epochs, "epochs", 20, "how often all images are seen")
	f.IntVar(&o.batch, "batch", 32, "images of a training step")
	f.StringVar(&o.rates, "schedule", "constant", "how the learning rate changes: "+strings.Join(schedules, ", "))
	f.Float64Var(&o.clip, "clip", 0, "the greatest norm of the gradients of all weights; 0 for any")
	f.Float64Var(&o.decay, "decay", 0, "how much of each weight, but not of biases, is added to its gradient")
	f.Float64Var(&o.average, "average", 0, "answer with moving averages of the weights, in which the values before have this share; 0 for the last weights")
	f.StringVar(&o.curve, "curve", "", "write the loss of every step to this `file`, exactly")
	f.StringVar(&o.chart, "chart", "", "draw the loss of every step of this run to this `file`, as SVG")
	f.StringVar(&o.training, "training", "", "show how this training went, beside earlier ones that the page has, on the page in this `file`, as HTML")
	f.StringVar(&o.serve, "serve", "", "show how this training goes, while it runs, in a browser on this machine, at this `address`, such as localhost:0")
	f.StringVar(&o.trace, "trace", "", "write what workers did in some training steps to this `file`, for Perfetto or chrome://tracing")
	f.StringVar(&o.timeline, "timeline", "", "draw what workers did and waited for in the fastest of some training steps to this `file`, as SVG")
	f.StringVar(&o.page, "page", "", "show the training plan to people: write its graph, its memory, what workers did and how near tasks are to the roofline to this `file`, as HTML")
	planpage.Flag(f, &o.recorded)
	f.StringVar(&o.prediction, "prediction", "", "predict the step from times of tasks and a model of this machine, and write it to this `file`, as -trace does")
	f.StringVar(&o.tileGraph, "tilegraph", "", "draw the training plan's tasks by layers, with what each waits for, to this `file`, as SVG")
	f.StringVar(&o.dot, "dot", "", "write the training plan's tasks to this `file`, for Graphviz")
	f.StringVar(&o.plan, "plan", "", "write the training plan to this `file`, in binary form")
	f.StringVar(&o.memory, "memory", "", "write a map of the training plan's memory to this `file`, as SVG")
	f.BoolVar(&o.cost, "cost", false, "measure each operator by itself, and compare it with what this machine can do")
	f.BoolVar(&o.fuse, "fuse", true, "fuse each activation into the operator before, which is faster and gives the same losses")
	f.BoolVar(&o.checked, "checked", false, "check that kernels do what their specs say, which takes many times longer")
	f.BoolVar(&o.plain, "plain", false, "give every tensor memory of its own and let every task run by itself, which is slower")
	f.BoolVar(&o.tiles, "tiles", false, "cut tasks into tiles that wait only for the tiles whose elements they touch; the losses are the same")
	f.StringVar(&o.load, "load", "", "begin with the weights in this `file`")
	f.StringVar(&o.save, "save", "", "write the weights to this `file` at the end")
	f.StringVar(&o.onnx, "onnx", "", "write the network with its weights to this `file` at the end, which other systems run")
	f.StringVar(&o.checkpoints, "checkpoint", "", "write checkpoints to this `folder`, after each epoch or as -every says")
	f.IntVar(&o.every, "every", 0, "how many `steps` lie between two checkpoints; 0 for those of an epoch")
	f.BoolVar(&o.resume, "resume", false, "go on from the newest checkpoint of the folder; the losses are those of a training without interruption")
}

func main() {
	var o options
	o.register(flag.CommandLine)
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "digits: %v\nFlag -help lists the flags.\n", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "digits:", err)
		os.Exit(1)
	}
}

// check returns an error that names the first flag whose value is none, or that does not go with another.
func (o *options) check(args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("want flags only, got the argument %q", args[0])
	case o.workers < 1:
		return fmt.Errorf("-workers: want at least 1, got %d", o.workers)
	case !slices.Contains(engines.Names, o.engine):
		return fmt.Errorf("-engine: want one of %s, got %q", strings.Join(engines.Names, ", "), o.engine)
	case o.devices < 1:
		return fmt.Errorf("-devices: want at least 1, got %d", o.devices)
	case o.strategy != "" && o.devices != 1:
		return errors.New("-devices, -strategy: want one of them, as both say how many devices there are")
	case !(o.dropout >= 0 && o.dropout < 1):
		return fmt.Errorf("-dropout: want at least 0 and less than 1, got %v", o.dropout)
	case o.mpi && o.engine != "cpu":
		return fmt.Errorf("-mpi: want -engine cpu, got %q", o.engine)
	case o.epochs < 1:
		return fmt.Errorf("-epochs: want at least 1, got %d", o.epochs)
	case o.batch < 1:
		return fmt.Errorf("-batch: want at least 1, got %d", o.batch)
	case !slices.Contains(schedules, o.rates):
		return fmt.Errorf("-schedule: want one of %s, got %q", strings.Join(schedules, ", "), o.rates)
	case !(o.clip >= 0): // so that NaN is refused, too
		return fmt.Errorf("-clip: want at least 0, got %v", o.clip)
	case !(o.decay >= 0):
		return fmt.Errorf("-decay: want at least 0, got %v", o.decay)
	case !(o.average >= 0 && o.average < 1):
		return fmt.Errorf("-average: want at least 0 and less than 1, got %v", o.average)
	case o.recorded < 1:
		return fmt.Errorf("-recorded: want at least 1, got %d", o.recorded)
	case o.every < 0:
		return fmt.Errorf("-every: want at least 0, got %d", o.every)
	case o.checkpoints == "" && o.every > 0:
		return errors.New("-every: want -checkpoint, too, which says where checkpoints go")
	case o.checkpoints == "" && o.resume:
		return errors.New("-resume: want -checkpoint, too, which says where checkpoints are")
	case o.load != "" && o.resume:
		return errors.New("-load, -resume: want one of them, as both say which weights to begin with")
	}
	return nil
}

// run trains and tests the classifier, and prints what it does. It returns an error if not all can be
// printed.
func run(ctx context.Context, o options, w io.Writer) error {
	out := &trainlog.Output{W: w}
	return errors.Join(trainAndTest(ctx, o, out), out.Err)
}

func trainAndTest(ctx context.Context, o options, w io.Writer) (err error) {
	start := time.Now()
	train, test, err := loadDigits(o.seed)
	if err != nil {
		return err
	}
	if o.batch > train.len() {
		return fmt.Errorf("a batch of %d, but only %d images to train on", o.batch, train.len())
	}
	if o.mesh, err = moves.Strategy(o.strategy, &o.devices); err != nil {
		return err
	}
	register, engine, err := engines.Choose(o.engine, o.workers, o.devices)
	if err != nil {
		return err
	}
	opts := append(engine, opgen.Profile())
	recorder := planpage.Recorder(o.recorded, o.serve != "")
	if o.trace+o.timeline+o.prediction+o.page+o.serve != "" {
		opts = append(opts, opgen.Observe(recorder)) // which takes time
	}
	if o.fuse {
		opts = append(opts, opgen.Fuse())
	}
	if o.plain {
		opts = append(opts, opgen.Plain())
	}
	if o.tiles {
		opts = append(opts, opgen.Tiled())
	}
	if o.checked {
		opts = append(opts, opgen.Checked())
	}
	if o.mpi {
		opts = append(opts, opgen.MPI(mpi.Config{}))
	}
	session, err := opgen.Open(register, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	w = engines.First(session, w, &o.curve, &o.chart, &o.trace, &o.timeline, &o.prediction, &o.tileGraph, &o.dot, &o.plan, &o.memory, &o.page, &o.training, &o.serve)
	batches, err := loader.New(loader.Config{Samples: train.len(), Batch: o.batch, Epochs: o.epochs, Seed: o.seed, DropLast: o.mesh != nil, Ahead: 1},
		func(_ context.Context, samples []int) (dataset, error) { return train.pick(samples), nil })
	if err != nil {
		return err
	}
	optimizer, err := decaying(o.rates, batches.Steps(), o.decay)
	if err != nil {
		return err
	}
	if o.clip > 0 {
		optimizer = bounded(o.clip, optimizer)
	}
	means := averages{}
	if o.average > 0 {
		optimizer = means.of(o.average, optimizer)
	}
	s := newClassifier(session, &o, optimizer)
	fmt.Fprintf(w, "%d images to train on, %d to test; seed %d, batches of %d, workers: %d\n", train.len(), test.len(), o.seed, o.batch, o.workers)
	if o.load != "" {
		if _, err := s.train.For(ctx, o.batch); err != nil {
			return err
		}
		if err := session.LoadVariables(o.load); err != nil {
			return err
		}
	}
	t := &training{options: o, session: session, classifier: s, batches: batches, w: w}
	t.measured.Name = trainlog.Name(t.fixed())
	t.measured.Curve("loss").Log, t.measured.Curve("time of a step").Unit = true, "ms"
	if err := t.serve(ctx, recorder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.live.Close()) }()
	if err := t.run(ctx); err != nil {
		return err
	}
	usual, err := s.train.For(ctx, o.batch)
	if err != nil {
		return err
	}
	if err := moves.Gather(ctx, session, usual.Net.divided); err != nil {
		return err
	}
	if err := session.CopyVariables(means); err != nil {
		return err
	}
	if o.save != "" {
		if err := session.SaveVariables(o.save); err != nil {
			return err
		}
	}
	alone := newNetwork(1, o.seed, 0, o.dropout)
	if err := onnxfile.Write(o.onnx, session, alone.graph, alone.logits); err != nil {
		return err
	}
	answers, err := s.answers(ctx, test)
	if err != nil {
		return err
	}
	right := 0
	for i, a := range answers {
		if a == int(test.labels[i]) {
			right++
		}
	}
	writeConfusion(w, test.labels, answers)
	step := usual.Plan()
	trainlog.WriteTimes(w, usual.Timings())
	writeMemory(w, session.Memory(), usual.Program)
	if o.trace+o.timeline+o.prediction+o.page != "" {
		writeSpread(w, recorder.Tasks(step))
	}
	var predicted []*timeline.Timeline
	if o.prediction != "" {
		prediction, err := predict(w, recorder, usual.Program, o.workers)
		if err != nil {
			return err
		}
		predicted = append(predicted, prediction)
	}
	if o.cost {
		if err := writeCosts(ctx, w, usual.Net.networks[0].graph, o.workers); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{o.trace, recorder.WriteTrace},
		{o.timeline, func(w io.Writer) error { return draw.Timeline(w, planpage.Fastest(recorder, usual.Program)) }},
		{o.prediction, func(w io.Writer) error { return timeline.WriteTrace(w, predicted...) }},
		{o.page, func(w io.Writer) error { return planpage.Write(w, recorder, usual.Program, o.workers, predicted...) }},
		{o.tileGraph, func(w io.Writer) error { return draw.Tiles(w, step) }},
		{o.dot, func(w io.Writer) error { return draw.DOT(w, step) }},
		{o.plan, func(w io.Writer) error { return writePlan(w, step) }},
		{o.chart, t.chart.Write},
		{o.memory, func(w io.Writer) error { return draw.MemoryMap(w, step) }},
	} {
		if err := trainlog.WriteFile(f.path, f.write); err != nil {
			return err
		}
	}
	if o.training != "" {
		if err := curves.Update(o.training, "Training of digits", &t.measured); err != nil {
			return err
		}
	}
	if o.page != "" {
		fmt.Fprintf(w, "\n%s shows the training step, in a browser\n", o.page)
	}
	fmt.Fprintf(w, "\ntest_accuracy=%.4f seconds=%.1f\n", float64(right)/float64(test.len()), time.Since(start).Seconds())
	return nil
}

// writePlan writes a plan in binary form, which plan.Decode reads.
func writePlan(w io.Writer, p interface{ EncodeBinary() ([]byte, error) }) error {
	data, err := p.EncodeBinary()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}
