// Command scaling trains a network of equal layers on ranks of MPI, or by itself, and prints the median time
// of a step. peer.py does the same with torch.distributed and its backend gloo. With -hops, it runs a chain
// of tasks that go from rank to rank, as starpu/chain.c does, and prints the median time of a task.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/meansquarederror"
	"github.com/opgen/opgen/generated/sgd"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mpi"
)

// options says what is trained, and how often.
type options struct{ width, layers, batch, devices, steps, hops int }

func main() {
	log.SetFlags(0)
	var o options
	flag.IntVar(&o.width, "width", 512, "features of each layer")
	flag.IntVar(&o.layers, "layers", 4, "layers")
	flag.IntVar(&o.batch, "batch", 64, "samples of a step, of all ranks together")
	flag.IntVar(&o.devices, "devices", 1, "parts of the batch, a multiple of the ranks")
	flag.IntVar(&o.steps, "steps", 50, "steps that are measured")
	flag.IntVar(&o.hops, "hops", 0, "run a chain of so many tasks on -width elements instead")
	ranked := flag.Bool("mpi", false, "run as a rank of MPI")
	flag.Parse()
	var opts []opgen.Option
	if *ranked {
		opts = append(opts, opgen.MPI(mpi.Config{}))
	}
	run := o.train
	if o.hops > 0 {
		run = o.pass
	}
	if err := run(os.Stdout, opts...); err != nil {
		log.Fatal(err)
	}
}

// program returns the training step, in which each device has a part of the batch.
func (o *options) program() (*graph.Program, error) {
	if o.width < 1 || o.layers < 1 || o.devices < 1 || o.steps < 1 || o.batch < 1 || o.batch%o.devices != 0 {
		return nil, fmt.Errorf("want -width, -layers, -devices and -steps of at least 1, and a -batch that -devices divides, got %+v", *o)
	}
	var replicas []graph.Replica
	for i := range o.devices {
		g := graph.OnDevice(1, i)
		x := g.Input("x", dtype.F32, o.batch/o.devices, o.width)
		y := x
		for range o.layers {
			y = elementunary.Relu(g, linear.Apply(g, linear.Defaults(o.width), y))
		}
		mean := meansquarederror.Defaults()
		mean.Reduction = meansquarederror.ReductionMean
		loss := meansquarederror.Apply(g, mean, meansquarederror.Logit(y), meansquarederror.Label(x))
		share := 1 / float64(o.devices)
		replicas = append(replicas, graph.Replica{Loss: loss, Share: graph.Share{Loss: share, Aux: share}})
	}
	return graph.DataParallel(replicas, sgd.Optimizer(sgd.Defaults(0.01)))
}

// train trains and prints the median time of a step on rank 0.
func (o *options) train(w io.Writer, opts ...opgen.Option) error {
	prog, err := o.program()
	if err != nil {
		return err
	}
	return opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		ctx := context.Background()
		p, err := s.Load(ctx, prog)
		if err != nil {
			return err
		}
		var values []opgen.Value
		for _, t := range prog.Fed {
			elements := make([]float32, t.Elements())
			for i := range elements {
				elements[i] = float32(i%17)/17 - 0.5
			}
			values = append(values, opgen.With(t, elements))
		}
		var took []float64
		for step := range o.steps + 5 {
			start := time.Now()
			if err := p.Run(ctx, values...); err != nil {
				return err
			}
			if step >= 5 { // the first steps fill caches
				took = append(took, 1e3*time.Since(start).Seconds())
			}
		}
		slices.Sort(took)
		if rank, ranks := s.Rank(); rank == 0 {
			_, err = fmt.Fprintf(w, "opgen: %d ranks, batch %d: %.2f ms a step\n", ranks, o.batch, took[len(took)/2])
		}
		return err
	}, append(opts, opgen.Devices(o.devices), opgen.Workers(1))...)
}
