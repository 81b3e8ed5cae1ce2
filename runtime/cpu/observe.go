package cpu

import (
	"time"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/op"
)

// observe returns a body that reports its ranges. What kind of body it is does not change.
func observe(task int, b op.Body, report func(engine.Event)) op.Body {
	o := observed{task, b, 0, report}
	if op.IsWhole(b) {
		o.alone = -1
	}
	switch b := b.(type) {
	case op.Phased:
		return &observedPhases{o, b}
	case op.Whole:
		return &observedWhole{o, b}
	}
	return &o
}

// observed is a body that reports its ranges.
type observed struct {
	task   int
	body   op.Body
	alone  int // the phase of what Run computes
	report func(engine.Event)
}

func (o *observed) Run(ctx *op.Ctx, r op.Range) error {
	begin := time.Now()
	err := o.body.Run(ctx, r)
	o.ran(ctx, r, o.alone, begin)
	return err
}

// ran reports a range of a phase that began at some time and has ended.
func (o *observed) ran(ctx *op.Ctx, r op.Range, phase int, begin time.Time) {
	o.report(engine.Event{Task: o.task, Worker: ctx.Worker, Step: ctx.Step, Range: r, Phase: phase, Begin: begin, End: time.Now()})
}

// observedWhole is observed for a body that may compute a step at once.
type observedWhole struct {
	observed
	whole op.Whole
}

func (o *observedWhole) Whole() bool { return o.whole.Whole() }

// observedPhases is observed for a body that computes a step in phases. A range is reported once for each
// phase.
type observedPhases struct {
	observed
	phased op.Phased
}

func (o *observedPhases) Whole() bool { return o.phased.Whole() }

func (o *observedPhases) Phases() int { return o.phased.Phases() }

func (o *observedPhases) RunPhase(ctx *op.Ctx, phase int, r op.Range) error {
	begin := time.Now()
	err := o.phased.RunPhase(ctx, phase, r)
	o.ran(ctx, r, phase, begin)
	return err
}
