package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/examples/internal/planpage"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/timeline"
)

// writeConfusion prints how often each digit was classified as each.
func writeConfusion(w io.Writer, labels []int32, answers []int) {
	var counts [classes][classes]int
	for i, a := range answers {
		counts[labels[i]][a]++
	}
	fmt.Fprintln(w, "\nconfusion matrix (rows: the digit; columns: the answer)")
	fmt.Fprint(w, "    ")
	for c := range classes {
		fmt.Fprintf(w, "%4d", c)
	}
	fmt.Fprintln(w)
	for r := range classes {
		fmt.Fprintf(w, "%4d", r)
		for c := range classes {
			if n := counts[r][c]; n > 0 {
				fmt.Fprintf(w, "%4d", n)
			} else {
				fmt.Fprint(w, "   .")
			}
		}
		fmt.Fprintln(w)
	}
}

// writeSpread prints how long the tasks of a step took, and how much that varied.
func writeSpread(w io.Writer, tasks []profile.Task) {
	if len(tasks) == 0 {
		return // there were fewer steps than are left out for warming up
	}
	fmt.Fprintf(w, "\ntime by task, mean and spread of %d steps\n", tasks[0].Elapsed.Runs)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "task\tranges\tus\t+-\tus of all workers\t")
	micros := func(d time.Duration) float64 { return d.Seconds() * 1e6 }
	for _, t := range tasks {
		fmt.Fprintf(tw, "%s\t%d\t%.1f\t%.1f\t%.1f\t\n", t.Label, t.Ranges, micros(t.Elapsed.Mean), micros(t.Elapsed.Spread), micros(t.Busy.Mean))
	}
	tw.Flush()
}

// predict predicts a step from the times of its tasks and a model of this machine, prints how long it takes
// beside how long the fastest recorded step took, and for what workers wait longest, and returns what workers
// do.
func predict(w io.Writer, r *profile.Recorder, step *opgen.Program, workers int) (*timeline.Timeline, error) {
	work, err := r.Work(step.Plan())
	if err != nil {
		return nil, err
	}
	machine, err := cost.MeasureModel(workers)
	if err != nil {
		return nil, err
	}
	got, err := simulate.Plan(step.Plan(), work, machine)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "\na step takes %.1f us as predicted, and %.1f us as measured; its critical path takes %.1f us\n", got.Seconds*1e6, planpage.Fastest(r, step).Seconds()*1e6, got.CriticalPath*1e6)
	for worker := range workers {
		fmt.Fprintf(w, "worker %d waits for %.1f us", worker, got.Waiting(worker)*1e6)
		if longest := got.Timeline.Longest(worker, timeline.Wait); longest != nil {
			fmt.Fprintf(w, ", longest, %.1f us: %s", longest.Seconds()*1e6, got.Timeline.Describe(longest))
		}
		fmt.Fprintln(w)
	}
	return got.Timeline, nil
}

// writeMemory prints what the tensors took, with a training step's part.
func writeMemory(w io.Writer, m opgen.Usage, step *opgen.Program) {
	p := step.Plan()
	kib := func(n int64) float64 { return float64(n) / 1024 }
	fmt.Fprintf(w, "\npeak memory of tensors %.0f KiB: training plan %.0f (lower bound %.0f), variables %.0f, the rest a smaller last batch, testing and scratch\n",
		kib(m.Peak), kib(p.ArenaBytes), kib(p.LowerBound()), kib(p.VariableBytes()))
}
