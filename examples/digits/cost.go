package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// writeCosts measures the operators of a graph, each by itself, and prints how long they take, how near that
// is to what this machine can do, and what memory they need.
func writeCosts(ctx context.Context, w io.Writer, g *graph.Graph, workers int) error {
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		return err
	}
	machine := cost.MeasureMachine(workers)
	meter := cost.NewMeter(&registry, cost.Config{Workers: workers, Warmup: 3, Runs: 10, Machine: machine})
	fmt.Fprintf(w, "\ncost of operators; at best this machine does %.1f GFLOP/s and moves %.1f GB/s\n", machine.F32/1e9, machine.Bandwidth/1e9)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "node\tforward us\t+-\tof best\tbackward us\t+-\tof best\tinputs\tweights\toutputs\tsaved\tscratch\tgradients\tstate KiB\t")
	for _, n := range g.Nodes() {
		c, err := meter.MeasureCost(ctx, n)
		if err != nil {
			return err
		}
		fmt.Fprintf(tw, "%s\t%s%s", n.Name, phaseText(&c.Forward), phaseText(&c.Backward))
		m := &c.Memory
		for _, bytes := range []int64{m.Inputs, m.Weights, m.Outputs, m.Saved, m.Scratch, m.Gradients, m.State} {
			fmt.Fprintf(tw, "%.1f\t", float64(bytes)/1024)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// phaseText returns the cells of a phase: mean, spread and the share of the roofline.
func phaseText(p *cost.Phase) string {
	if p.Time.Runs == 0 {
		return "-\t-\t-\t"
	}
	micros := func(d time.Duration) float64 { return d.Seconds() * 1e6 }
	return fmt.Sprintf("%.1f\t%.1f\t%.0f %%\t", micros(p.Time.Mean), micros(p.Time.Spread), 100*p.Share)
}
