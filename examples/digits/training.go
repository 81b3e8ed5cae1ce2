package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/planpage"
	"github.com/opgen/opgen/examples/internal/trainlog"
	"github.com/opgen/opgen/runtime/curves"
	"github.com/opgen/opgen/runtime/loader"
	"github.com/opgen/opgen/runtime/profile"
)

// training trains a classifier on all batches, with checkpoints.
type training struct {
	options    options
	session    *opgen.Session
	classifier *classifier
	batches    *loader.Loader[dataset]
	w          io.Writer

	// Of the epoch so far: the sum of the losses of all images, how many answers were right, and the number
	// of images.
	losses        float64
	correct, seen int

	chart    trainlog.Chart
	measured curves.Run
	live     trainlog.Live  // the page of curves while the training runs
	newest   *planpage.Live // the page of the newest step, or nil
}

// serve shows the training to browsers while it runs, if the options say so.
func (t *training) serve(ctx context.Context, recorder *profile.Recorder) error {
	o := &t.options
	if o.serve == "" {
		return nil
	}
	usual, err := t.classifier.train.For(ctx, o.batch)
	if err != nil {
		return err
	}
	if t.newest, err = planpage.NewLive(recorder, t.session, usual.Program, o.workers); err != nil {
		return err
	}
	t.live, err = trainlog.Serve(t.w, o.serve, "Training of digits", o.training, &t.measured, t.newest.Page)
	return err
}

// run trains from where the checkpoints stand, or from the beginning.
func (t *training) run(ctx context.Context) (err error) {
	at, err := t.resume(ctx)
	if err != nil {
		return err
	}
	curve, err := trainlog.OpenCurve(t.options.curve, at.Step)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, curve.Close()) }()
	steps, every := t.batches.StepsPerEpoch(), t.options.every
	if every == 0 {
		every = steps
	}
	bar, start, samples := trainlog.NewProgress(t.w, t.batches.Steps()), time.Now(), 0
	for b, err := range t.batches.From(ctx, at.Step) {
		if err != nil {
			return err
		}
		if b.InEpoch == 0 {
			t.losses, t.correct, t.seen = 0, 0, 0
		}
		began := time.Now()
		loss, right, err := t.classifier.step(ctx, b.Data)
		if err != nil {
			return err
		}
		took := time.Since(began)
		t.live.Update(func() {
			t.measured.Curve("loss").Add(b.Step+1, float64(loss))
			t.measured.Curve("right answers of the batch").Add(b.Step+1, float64(right)/float64(b.Data.len()))
			t.measured.Curve("time of a step").Add(b.Step+1, took.Seconds()*1e3)
		})
		if b.Data.len() == t.options.batch { // the last one of an epoch, which may be smaller, has another plan
			if err := t.newest.Show(b.Step+1, fmt.Sprintf("%.4f", loss)); err != nil {
				return err
			}
		}
		fmt.Fprintf(curve, "%d %d %x\n", b.Epoch+1, b.InEpoch+1, loss)
		t.chart.Add(b.Step+1, float64(loss))
		t.losses += float64(loss) * float64(b.Data.len())
		t.correct += right
		t.seen += b.Data.len()
		samples += b.Data.len()
		bar.Update(b.Step+1, b.InEpoch+1 == steps, fmt.Sprintf("epoch %2d/%d  loss %.4f  accuracy %.4f  %6.0f samples/s", b.Epoch+1, t.options.epochs,
			t.losses/float64(t.seen), float64(t.correct)/float64(t.seen), float64(samples)/time.Since(start).Seconds()))
		if step := b.Step + 1; t.options.checkpoints != "" && (step%every == 0 || step == t.batches.Steps()) {
			if err := errors.Join(curve.Sync(), t.save(step)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkpoints returns the checkpoints of the training.
func (t *training) checkpoints() opgen.Checkpoints {
	return opgen.Checkpoints{Dir: t.options.checkpoints}
}

// fixed returns the options that a training must have again when it goes on.
func (t *training) fixed() map[string]string {
	o := t.options
	fixed := map[string]string{"seed": fmt.Sprint(o.seed), "batch": fmt.Sprint(o.batch), "devices": fmt.Sprint(o.devices), "epochs": fmt.Sprint(o.epochs),
		"schedule": o.rates, "clip": fmt.Sprint(o.clip), "decay": fmt.Sprint(o.decay), "average": fmt.Sprint(o.average), "load": o.load}
	if o.strategy != "" { // checkpoints of other trainings do not name it
		fixed["strategy"] = o.strategy
	}
	if o.dropout != usualDropout {
		fixed["dropout"] = fmt.Sprint(o.dropout)
	}
	return fixed
}

// save writes a checkpoint.
func (t *training) save(step int) error {
	notes := t.fixed()
	notes["losses"] = strconv.FormatFloat(t.losses, 'x', -1, 64)
	notes["correct"], notes["seen"] = strconv.Itoa(t.correct), strconv.Itoa(t.seen)
	return t.checkpoints().Save(t.session, opgen.Position{Step: step, Notes: notes})
}

// resume returns where the training begins, and takes up the epoch there.
func (t *training) resume(ctx context.Context) (at opgen.Position, err error) {
	if t.options.resume { // with the variables of the usual step
		if _, err := t.classifier.train.For(ctx, t.options.batch); err != nil {
			return at, err
		}
	}
	at, err = trainlog.Resume(t.w, t.session, t.checkpoints(), t.options.resume, t.fixed(), t.batches.Steps())
	if err != nil || at.Step == 0 {
		return at, err
	}
	t.losses, err = strconv.ParseFloat(at.Notes["losses"], 64)
	var errCorrect, errSeen error
	t.correct, errCorrect = strconv.Atoi(at.Notes["correct"])
	t.seen, errSeen = strconv.Atoi(at.Notes["seen"])
	return at, errors.Join(err, errCorrect, errSeen)
}
