// Command predict measures ten programs on the CPUs of this machine, and prints beside each time what package
// simulate predicts. Nothing in a prediction is measured with the program as a whole: it takes the times of
// single tasks and of their ranges, from runs with one worker, and a model of the machine from programs of
// empty tasks.
//
// All times are the shortest of many runs. Run it with nothing else to do for the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/internal/printer"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/rng"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/task"
)

func main() {
	log.SetFlags(0)
	seconds := flag.Float64("seconds", 2, "how long each program runs for each of its times, in seconds")
	only := flag.String("only", "", "the `name` of the only program to measure")
	flag.Parse()
	out := printer.New(os.Stdout)
	if err := errors.Join(compare(out, programs, *only, time.Duration(*seconds*float64(time.Second))), out.Err()); err != nil {
		log.Fatal("predict: ", err)
	}
}

// compare prints times of programs that were measured and predicted, with 1 and with 2 workers.
func compare(w io.Writer, list []program, only string, each time.Duration) error {
	var models [3]simulate.Machine
	for workers := 1; workers <= 2; workers++ {
		m, err := cost.MeasureModel(workers)
		if err != nil {
			return err
		}
		models[workers] = m
		fmt.Fprintf(w, "model of %d workers: range %.1f ns, signal %.1f ns, wait %.1f ns, latency %.0f ns, start %.0f ns, %.0f GFLOP/s each, %.1f GB/s each, %.1f GB/s together\n",
			workers, m.Range*1e9, m.Signal*1e9, m.Wait*1e9, m.Latency*1e9, m.Start*1e9, m.Rate/1e9, m.EachBandwidth/1e9, m.Bandwidth/1e9)
	}
	fmt.Fprintf(w, "\n%-26s %7s %10s %12s %12s %8s %14s\n", "program", "workers", "tasks", "measured us", "predicted us", "off", "from specs us")
	found, within, all := false, 0, 0
	for _, p := range list {
		if only != "" && p.name != only {
			continue
		}
		found = true
		rows, err := p.compare(each, models)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, r := range rows {
			off := r.predicted/r.measured - 1
			if all++; math.Abs(off) <= 0.15 {
				within++
			}
			fmt.Fprintf(w, "%-26s %7d %10d %12.1f %12.1f %+7.1f%% %14.1f\n", p.name, r.workers, r.tasks, r.measured*1e6, r.predicted*1e6, 100*off, r.specs*1e6)
		}
	}
	if !found {
		return fmt.Errorf("want the name of a program, got %q", only)
	}
	fmt.Fprintf(w, "\n%d of %d predictions are within 15 %%\n", within, all)
	return nil
}

// row is a measurement beside predictions, in seconds: from times of tasks, and from what specs say.
type row struct {
	workers, tasks             int
	measured, predicted, specs float64
}

// compare measures and predicts a program.
func (p *program) compare(each time.Duration, models [3]simulate.Machine) ([]row, error) {
	prog, err := p.graph()
	if err != nil {
		return nil, err
	}
	made, specs, err := p.fromSpecs(1)
	if err != nil {
		return nil, err
	}
	work, err := record(prog, made, each)
	if err != nil {
		return nil, err
	}
	sharing := *made
	share(&sharing)
	apart, err := record(prog, &sharing, each)
	if err != nil {
		return nil, err
	}
	for i := range work {
		work[i].Ranges = apart[i].Ranges
	}
	var rows []row
	for workers := 1; workers <= 2; workers++ {
		used, took, err := run(prog, made, workers, each, nil)
		if err != nil {
			return nil, err
		}
		r := row{workers: workers, tasks: len(used.Tasks), measured: took}
		for _, c := range []struct {
			work []simulate.Work
			to   *float64
		}{{work, &r.predicted}, {specs, &r.specs}} {
			got, err := simulate.Plan(used, c.work, models[workers])
			if err != nil {
				return nil, err
			}
			*c.to = got.Seconds
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// record returns what the tasks of a plan for one worker take.
func record(prog *graph.Program, p *plan.Plan, each time.Duration) ([]simulate.Work, error) {
	recorder := profile.New(profile.Config{Warmup: 2, Runs: math.MaxInt32})
	used, _, err := run(prog, p, 1, each, recorder)
	if err != nil {
		return nil, err
	}
	return recorder.Work(used)
}

// share lets the worker of a plan take ranges of tasks as workers that share them do, phase by phase.
func share(p *plan.Plan) {
	s := schedule.Schedule{Tasks: len(p.Tasks), Queues: make([][]schedule.Op, 1)}
	for t := range p.Tasks {
		if p.Tasks[t].Tile > 0 {
			s.Queues[0] = append(s.Queues[0], schedule.Op(t))
			continue
		}
		s.Shared = append(s.Shared, int32(t))
		s.Queues[0] = append(s.Queues[0], schedule.ShareOf(int32(t)), schedule.WaitSharedOf(int32(t)))
	}
	p.Schedule = s
}

// fromSpecs returns the program's plan for a number of workers, and what its tasks take as specs say.
func (p *program) fromSpecs(workers int) (*plan.Plan, []simulate.Work, error) {
	prog, err := p.graph()
	if err != nil {
		return nil, nil, err
	}
	opts := []planner.Option{planner.Workers(workers)}
	if p.tiled {
		opts = append(opts, planner.Tiled())
	}
	made, err := planner.Build(prog, opts...)
	if err != nil {
		return nil, nil, err
	}
	work, err := cost.Work(prog, made)
	return made, work, err
}

// run runs a plan for a while, and returns the plan that the engine ran and the seconds of the shortest run.
func run(prog *graph.Program, p *plan.Plan, workers int, each time.Duration, observer engine.Observer) (_ *plan.Plan, shortest float64, err error) {
	var r task.Registry
	if err := catalogue.Register(&r); err != nil {
		return nil, 0, err
	}
	e := engine.New(&r, cpu.New(cpu.Config{Workers: workers}), engine.Config{})
	if observer != nil {
		e = engine.New(&r, cpu.New(cpu.Config{Workers: workers}), engine.Config{Observer: observer})
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	ctx := context.Background()
	if len(prog.Variables) > 0 {
		init, err := graph.Initialization(prog)
		if err != nil {
			return nil, 0, err
		}
		first, err := planner.Build(init)
		if err != nil {
			return nil, 0, err
		}
		in, err := e.Load(first)
		if err != nil {
			return nil, 0, err
		}
		if err := errors.Join(in.Run(ctx), in.Close()); err != nil {
			return nil, 0, err
		}
	}
	// Inputs live in memory that the plan reads without a copy, so nothing happens between two runs, and no
	// worker falls asleep.
	var inputs []engine.Outside
	for i, t := range prog.Fed {
		n, source := shape.Prod(t.Shape()), rng.New(1, uint64(i))
		if t.Type() == dtype.I32 {
			numbers := engine.Aligned[int32](n)
			for k := range numbers {
				numbers[k] = int32(k % 10)
			}
			inputs = append(inputs, engine.At(t.Name(), numbers))
			continue
		}
		numbers := engine.Aligned[float32](n)
		for k := range numbers {
			numbers[k] = float32(2*source.Uniform(uint64(k)) - 1)
		}
		inputs = append(inputs, engine.At(t.Name(), numbers))
	}
	in, err := e.Load(p, inputs...)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	shortest = math.Inf(1)
	start := time.Now()
	for n := 0; n < 20 || time.Since(start) < each; n++ {
		begin := time.Now()
		if err := in.Run(ctx); err != nil {
			return nil, 0, err
		}
		if n > 2 {
			shortest = min(shortest, time.Since(begin).Seconds())
		}
	}
	return in.Plan(), shortest, nil
}
