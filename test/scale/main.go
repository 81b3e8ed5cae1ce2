// Command scale plans a training step of a transformer for many ranks in this one process, and prints what
// each stage of planning takes, what ranks send each other, and how long the step takes on a machine that
// flags describe. Nothing is computed, and the machine need not exist.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"time"

	"github.com/opgen/opgen/internal/printer"
	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/mesh/search"
	"github.com/opgen/opgen/runtime/plan/project"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
)

func main() {
	log.SetFlags(0)
	var s sizes
	var m search.Machine
	flag.IntVar(&s.layers, "layers", 8, "layers, a multiple of the stages")
	flag.IntVar(&s.width, "width", 1024, "features of a token")
	flag.IntVar(&s.heads, "heads", 16, "heads of attention, a multiple of the devices of -model")
	flag.IntVar(&s.context, "context", 1024, "tokens of a text")
	flag.IntVar(&s.tokens, "tokens", 32768, "kinds of tokens")
	flag.IntVar(&s.texts, "texts", 1, "texts of a micro-batch on a device")
	flag.IntVar(&s.stages, "stages", 2, "stages of the pipeline")
	flag.IntVar(&s.batches, "batches", 4, "micro-batches")
	flag.IntVar(&s.data, "data", 2, "devices among which a micro-batch is divided")
	flag.IntVar(&s.model, "model", 2, "devices among which heads and features are divided")
	flag.Float64Var(&m.Rate, "rate", 50e12, "operations a second of a device")
	flag.Float64Var(&m.Bandwidth, "memory", 2e12, "bytes a second from and to its memory")
	flag.Float64Var(&m.Link, "link", 25e9, "bytes a second of a message")
	flag.Float64Var(&m.Latency, "latency", 5e-6, "seconds that a message takes besides")
	flag.Parse()
	out := printer.New(os.Stdout)
	if err := report(out, s, m); err != nil {
		log.Fatal(err)
	}
	if err := out.Err(); err != nil {
		log.Fatal(err)
	}
}

// report plans a training step and prints a row for each stage of planning, and what follows from the plan.
func report(w io.Writer, s sizes, m search.Machine) error {
	start := time.Now()
	lap := func(what string) {
		fmt.Fprintf(w, "| %s | %.2f |\n", what, time.Since(start).Seconds())
		start = time.Now()
	}
	fmt.Fprint(w, "| stage | seconds |\n|---|---:|\n")
	divided, alone, err := s.build()
	if err != nil {
		return err
	}
	ranks := s.stages * s.data * s.model
	lap("program for all devices")
	p, err := planner.Build(divided.Program, planner.Workers(1))
	if err != nil {
		return err
	}
	lap("plan")
	owner, err := project.Owners(ranks, ranks)
	if err != nil {
		return err
	}
	workers := make([]int, ranks)
	for i := range workers {
		workers[i] = 1
	}
	parts, err := project.Ranks(p, owner, workers)
	if err != nil {
		return err
	}
	lap("parts of ranks")
	if err := verify.Ranks(p, owner, parts); err != nil {
		return err
	}
	lap("proof")
	work, err := cost.Work(divided.Program, p)
	if err != nil {
		return err
	}
	ran, err := m.Run(p, parts, work)
	if err != nil {
		return err
	}
	lap("prediction")
	least, err := least(&m, alone, ranks)
	if err != nil {
		return err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintf(w, "\n%d ranks, %d tasks, %d messages; %.2f GiB of memory of this process\n", ranks, len(p.Tasks), ran.Messages, float64(memory.HeapInuse)/(1<<30))
	var most, all int64
	var busiest, bytes float64
	for rank, part := range parts {
		size := part.Plan.ArenaBytes + part.Plan.VariableBytes()
		most, all = max(most, size), all+size
		busiest, bytes = max(busiest, ran.Sent[rank]), bytes+ran.Sent[rank]
	}
	mib := float64(int64(1) << 20)
	fmt.Fprintf(w, "a rank has %.0f MiB of tensors, and at most %.0f\n", float64(all)/mib/float64(ranks), float64(most)/mib)
	fmt.Fprintf(w, "a rank sends %.1f messages and %.1f MiB, and at most %.1f MiB\n", float64(ran.Messages)/float64(ranks), bytes/mib/float64(ranks), busiest/mib)
	fmt.Fprintf(w, "the step takes %.2f ms: %.0f %% is work and %.0f %% waiting for messages, of all ranks\n", 1e3*ran.Seconds,
		100*ran.Work/ran.Seconds/float64(ranks), 100*ran.Wait/ran.Seconds/float64(ranks))
	fmt.Fprintf(w, "operations and bytes of one device, divided among all, take %.2f ms: %.0f %% of the step\n", 1e3*least, 100*least/ran.Seconds)
	return nil
}

// least returns the time of the tasks of a plan for one device, divided among ranks without messages.
func least(m *search.Machine, alone *graph.Program, ranks int) (float64, error) {
	p, err := planner.Build(alone, planner.Workers(1))
	if err != nil {
		return 0, err
	}
	work, err := cost.Work(alone, p)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, w := range work {
		sum += m.Seconds(w)
	}
	return sum / float64(ranks), nil
}
