package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
)

// chain returns a program of hops tasks that go from device to device: each adds 1 to the -width elements of
// the task before, which are copied to its device.
func (o *options) chain() (p *graph.Program, from, to graph.Tensor, err error) {
	if o.width < 1 || o.devices < 1 || o.steps < 1 || o.hops < 1 {
		return nil, from, to, fmt.Errorf("want -width, -devices, -steps and -hops of at least 1, got %+v", *o)
	}
	graphs, ends := make([]*graph.Graph, o.devices), make([]graph.Tensor, o.devices)
	for d := range graphs {
		graphs[d] = graph.OnDevice(1, d)
	}
	from = graphs[0].Input("from", dtype.F32, o.width)
	to = from
	var tensors []graph.Tensor
	var copies []graph.Step // before each task
	for k := range o.hops {
		d := k % o.devices
		in := graphs[d].Input(fmt.Sprint("copy", k), dtype.F32, o.width)
		copies = append(copies, graph.Step{Copy: &graph.Copy{To: in, From: to}})
		to = elementunary.ScalarAdd(graphs[d], in, 1)
		tensors, ends[d] = append(tensors, to), to
	}
	steps := map[graph.Tensor]graph.Step{} // by what they write
	for d, g := range graphs {
		if !ends[d].Valid() {
			continue // fewer tasks than devices
		}
		var outputs []graph.Tensor
		for _, t := range tensors {
			if t.Device() == d {
				outputs = append(outputs, t)
			}
		}
		whole, err := graph.Whole(g, outputs...)
		if err != nil {
			return nil, from, to, err
		}
		for _, s := range whole.Steps {
			steps[s.Invocation.Node.Tensor(int(elementunary.SlotOutput))] = s
		}
	}
	p = &graph.Program{Name: "chain", Fed: []graph.Tensor{from}, Fetched: []graph.Tensor{to}}
	for k, t := range tensors {
		p.Steps = append(p.Steps, copies[k], steps[t])
	}
	return p, from, to, nil
}

// pass runs the chain and prints the median time of a task on rank 0.
func (o *options) pass(w io.Writer, opts ...opgen.Option) error {
	prog, from, to, err := o.chain()
	if err != nil {
		return err
	}
	return opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx := context.Background()
		p, err := s.Load(ctx, prog)
		if err != nil {
			return err
		}
		var took []float64
		for step := range o.steps + 5 {
			start := time.Now()
			if err := p.Run(ctx, opgen.With(from, make([]float32, o.width))); err != nil {
				return err
			}
			if step >= 5 {
				took = append(took, 1e6*time.Since(start).Seconds()/float64(o.hops))
			}
			got, err := opgen.Fetch[float32](p, to)
			if err != nil {
				return err
			}
			if slices.Min(got) != float32(o.hops) || slices.Max(got) != float32(o.hops) {
				return fmt.Errorf("want %d at the end of the chain, got %g to %g", o.hops, slices.Min(got), slices.Max(got))
			}
		}
		slices.Sort(took)
		if rank, ranks := s.Rank(); rank == 0 {
			_, err = fmt.Fprintf(w, "opgen: %d ranks, %d elements: %.1f µs a task\n", ranks, o.width, took[len(took)/2])
		}
		return err
	}, append(opts, opgen.Devices(o.devices), opgen.Workers(1))...)
}
