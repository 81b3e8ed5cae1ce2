package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/moves"
	"github.com/opgen/opgen/examples/internal/opticks"
	"github.com/opgen/opgen/examples/internal/planpage"
	"github.com/opgen/opgen/examples/internal/trainlog"
	"github.com/opgen/opgen/runtime/curves"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/loader"
	"github.com/opgen/opgen/runtime/mesh"
	"github.com/opgen/opgen/runtime/profile"
)

// errInterrupted says that a training stopped before its end since the user wished so.
var errInterrupted = errors.New("interrupted")

// training trains a network on pieces of the text, with checkpoints.
type training struct {
	options  options
	corpus   *opticks.Corpus
	session  *opgen.Session
	nets     []*network    // one for each device, or one that is divided
	divided  *mesh.Divided // by a strategy, or nil
	step     *opgen.Program
	batches  *loader.Loader[batch]
	w        io.Writer
	chart    trainlog.Chart
	measured curves.Run
	recorder *profile.Recorder
	live     trainlog.Live  // the page of curves while the training runs
	newest   *planpage.Live // the page of the newest step, or nil
	watched  []graph.Tensor // the learning rate and, if gradients are clipped, their norm; none without a page
}

// batch holds pieces of the text, and for each of their characters the one that follows.
type batch struct{ text, next []int32 }

// newTraining loads the program of a training step.
func newTraining(ctx context.Context, o options, c *opticks.Corpus, s *opgen.Session, recorder *profile.Recorder, w io.Writer) (*training, error) {
	pieces := len(c.Train) - o.context // a piece begins at each character that has enough behind it
	if pieces < o.batch {
		return nil, fmt.Errorf("want a text for training of at least %d characters, got %d", o.context+o.batch, len(c.Train))
	}
	read := func(_ context.Context, samples []int) (b batch, err error) {
		for _, at := range samples {
			b.text = append(b.text, c.Train[at:at+o.context]...)
			b.next = append(b.next, c.Train[at+1:at+1+o.context]...)
		}
		return b, nil
	}
	perEpoch := pieces / o.batch
	batches, err := loader.New(loader.Config{Samples: pieces, Batch: o.batch, Epochs: (o.steps + perEpoch - 1) / perEpoch, Seed: o.seed, DropLast: true, Ahead: 1}, read)
	if err != nil {
		return nil, err
	}
	t := &training{options: o, corpus: c, session: s, batches: batches, recorder: recorder, w: w}
	var p *graph.Program
	if o.mesh == nil {
		p, err = t.replicas()
	} else {
		p, err = t.divide()
	}
	if err != nil {
		return nil, err
	}
	t.step, err = s.Load(ctx, p)
	return t, err
}

// replicas returns the program of a training step of a network for each device, which has a part of the
// batch.
func (t *training) replicas() (*graph.Program, error) {
	o, c := t.options, t.corpus
	var replicas []graph.Replica
	for device := range o.devices {
		n := newNetwork(o.sizes(c), (device+1)*o.batch/o.devices-device*o.batch/o.devices, o.seed, device)
		share := float64(n.batch) / float64(o.batch)
		t.nets, replicas = append(t.nets, n), append(replicas, graph.Replica{Loss: n.loss, Share: graph.Share{Loss: share, Aux: share}})
	}
	p, err := graph.DataParallel(replicas, o.optimizer(&t.watched))
	if err != nil {
		return nil, err
	}
	if t.watched = t.watched[:len(t.watched)/o.devices]; o.training+o.serve == "" { // those of all devices are alike
		t.watched = nil
	}
	p.Fetched = append(p.Fetched, t.watched...)
	return p, nil
}

// divide returns the program of a training step that the strategy divides.
func (t *training) divide() (*graph.Program, error) {
	o := t.options
	n := newNetwork(o.sizes(t.corpus), o.batch, o.seed, 0)
	p, err := graph.Training(n.graph, n.loss, o.optimizer(&t.watched))
	if err != nil {
		return nil, err
	}
	if o.training+o.serve == "" {
		t.watched = nil
	}
	p.Fetched = append(p.Fetched, t.watched...)
	if t.divided, err = mesh.Divide(p, o.mesh, moves.Parts); err != nil {
		return nil, err
	}
	fmt.Fprint(t.w, t.divided.Order())
	for i, w := range t.watched {
		t.watched[i] = t.divided.Parts(w)[0]
	}
	t.nets = []*network{n}
	return t.divided.Program, nil
}

// run trains from where the checkpoints stand, or from the beginning. If the context ends, it makes the
// present step and writes a checkpoint first.
func (t *training) run(ctx context.Context) (err error) {
	o := t.options
	checkpoints := opgen.Checkpoints{Dir: t.options.checkpoints}
	at, err := trainlog.Resume(t.w, t.session, checkpoints, t.options.resume, t.options.fixed(), t.options.steps)
	if err != nil {
		return err
	}
	t.measured.Name = trainlog.Name(o.fixed())
	t.measured.Curve("loss").Unit, t.measured.Curve("time of a step").Unit = "bits of a character", "ms"
	if o.serve != "" {
		if t.newest, err = planpage.NewLive(t.recorder, t.session, t.step, o.workers); err != nil {
			return err
		}
		if t.live, err = trainlog.Serve(t.w, o.serve, "Training of charlm", o.training, &t.measured, t.newest.Page); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, t.live.Close()) }()
	curve, err := trainlog.OpenCurve(o.curve, at.Step)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, curve.Close()) }()
	save := func(step int) error {
		if o.checkpoints == "" {
			return nil
		}
		if err := curve.Sync(); err != nil {
			return err
		}
		return checkpoints.Save(t.session, opgen.Position{Step: step, Notes: o.fixed()})
	}
	bar, start := trainlog.NewProgress(t.w, o.steps), time.Now()
	sum, seen := 0.0, 0 // of the losses since the last line
	for b, err := range t.batches.From(context.WithoutCancel(ctx), at.Step) {
		if err != nil {
			return err
		}
		if b.Step == o.steps {
			break
		}
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("%w after %d of %d steps", errInterrupted, b.Step, o.steps), save(b.Step))
		}
		began := time.Now()
		loss, err := t.take(b.Data)
		if err != nil {
			return err
		}
		step := b.Step + 1
		if err := t.measure(step, float64(loss), time.Since(began)); err != nil {
			return err
		}
		fmt.Fprintf(curve, "%d %x\n", step, loss)
		t.chart.Add(step, float64(loss))
		sum, seen = sum+float64(loss), seen+1
		mark := step%max(o.steps/20, 1) == 0 || step == o.steps
		bar.Update(step, mark, fmt.Sprintf("step %5d/%d  %.4f bits/character  %6.0f characters/s", step, o.steps, sum/float64(seen)/math.Ln2,
			float64((step-at.Step)*o.batch*o.context)/time.Since(start).Seconds()))
		if mark {
			sum, seen = 0, 0
		}
		if step%o.every == 0 || step == o.steps {
			if err := save(step); err != nil {
				return err
			}
		}
	}
	return nil
}

// take makes a training step and returns its loss. Nothing interrupts it, since that would leave some weights
// updated and others not.
func (t *training) take(b batch) (float32, error) {
	var values []opgen.Value
	if d := t.divided; d != nil {
		n := t.nets[0]
		text, next := mesh.Cut(d, n.text, b.text), mesh.Cut(d, n.next, b.next)
		for device := range text {
			values = append(values, opgen.With(d.Inputs(n.text)[device], text[device]), opgen.With(d.Inputs(n.next)[device], next[device]))
		}
		if err := t.step.Run(context.Background(), values...); err != nil {
			return 0, err
		}
		loss, err := opgen.Fetch[float32](t.step, d.Parts(n.loss)[0])
		if err != nil {
			return 0, err
		}
		return loss[0], nil
	}
	for _, n := range t.nets {
		size := n.batch * n.context
		values = append(values, opgen.With(n.text, b.text[:size]), opgen.With(n.next, b.next[:size]))
		b.text, b.next = b.text[size:], b.next[size:]
	}
	if err := t.step.Run(context.Background(), values...); err != nil {
		return 0, err
	}
	var loss float32
	for _, n := range t.nets {
		losses, err := opgen.Fetch[float32](t.step, n.loss)
		if err != nil {
			return 0, err
		}
		loss += losses[0] * (float32(n.batch) / float32(t.options.batch))
	}
	return loss, nil
}

// measure adds a step to the curves of the run.
func (t *training) measure(step int, loss float64, took time.Duration) error {
	var values []float64
	for _, w := range t.watched {
		value, err := fetched(t.step, w)
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	t.live.Update(func() {
		t.measured.Curve("loss").Add(step, loss/math.Ln2)
		t.measured.Curve("time of a step").Add(step, took.Seconds()*1e3)
		for i, name := range []string{"learning rate", "norm of gradients"}[:len(values)] {
			t.measured.Curve(name).Add(step, values[i])
		}
	})
	return t.newest.Show(step, fmt.Sprintf("%.4f bits of a character", loss/math.Ln2))
}

// fetched returns the value of a scalar after a step.
func fetched(p *opgen.Program, t graph.Tensor) (float64, error) {
	if t.Type() == dtype.F64 {
		v, err := opgen.Fetch[float64](p, t)
		if err != nil {
			return 0, err
		}
		return v[0], nil
	}
	v, err := opgen.Fetch[float32](p, t)
	if err != nil {
		return 0, err
	}
	return float64(v[0]), nil
}

// report prints the times of tasks and draws the losses, if the options say so.
func (t *training) report() error {
	if t.options.times {
		trainlog.WriteTimes(t.w, t.step.Timings())
	}
	if t.options.training != "" {
		if err := curves.Update(t.options.training, "Training of charlm", &t.measured); err != nil {
			return err
		}
	}
	return trainlog.WriteFile(t.options.chart, t.chart.Write)
}
