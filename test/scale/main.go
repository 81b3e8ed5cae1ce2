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
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/project"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/simulate"
)

func main() {
	log.SetFlags(0)
	var s sizes
	var m machine
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
	flag.Float64Var(&m.link, "link", 25e9, "bytes a second of a message")
	flag.Float64Var(&m.latency, "latency", 5e-6, "seconds that a message takes besides")
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
func report(w io.Writer, s sizes, m machine) error {
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
	ran, err := m.run(p, parts, work)
	if err != nil {
		return err
	}
	lap("prediction")
	least, err := m.least(alone, ranks)
	if err != nil {
		return err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintf(w, "\n%d ranks, %d tasks, %d messages; %.2f GiB of memory of this process\n", ranks, len(p.Tasks), ran.messages, float64(memory.HeapInuse)/(1<<30))
	var most, all int64
	var busiest, bytes float64
	for rank, part := range parts {
		size := part.Plan.ArenaBytes + part.Plan.VariableBytes()
		most, all = max(most, size), all+size
		busiest, bytes = max(busiest, ran.sent[rank]), bytes+ran.sent[rank]
	}
	mib := float64(int64(1) << 20)
	fmt.Fprintf(w, "a rank has %.0f MiB of tensors, and at most %.0f\n", float64(all)/mib/float64(ranks), float64(most)/mib)
	fmt.Fprintf(w, "a rank sends %.1f messages and %.1f MiB, and at most %.1f MiB\n", float64(ran.messages)/float64(ranks), bytes/mib/float64(ranks), busiest/mib)
	fmt.Fprintf(w, "the step takes %.2f ms: %.0f %% is work, %.0f %% messages and %.0f %% waiting, of all ranks\n", 1e3*ran.seconds,
		100*ran.work/ran.seconds/float64(ranks), 100*ran.talk/ran.seconds/float64(ranks), 100*(1-(ran.work+ran.talk)/ran.seconds/float64(ranks)))
	fmt.Fprintf(w, "operations and bytes of one device, divided among all, take %.2f ms: %.0f %% of the step\n", 1e3*least, 100*least/ran.seconds)
	return nil
}

// machine is a model of ranks with a worker each.
type machine struct {
	simulate.Machine
	link, latency float64
}

// seconds returns the time of a task by the roofline.
func (m *machine) seconds(w simulate.Work) float64 { return max(w.Flops/m.Rate, w.Bytes/m.Bandwidth) }

// least returns the time of the tasks of a plan for one device, divided among ranks without messages.
func (m *machine) least(alone *graph.Program, ranks int) (float64, error) {
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
		sum += m.seconds(w)
	}
	return sum / float64(ranks), nil
}

// ran is what a run of all ranks takes.
type ran struct {
	seconds    float64 // to the end of the last rank
	work, talk float64 // of all ranks together
	messages   int
	sent       []float64 // bytes, by rank
}

// run runs the queues of all ranks by events. A message takes both ranks, from when the later one is there.
func (m *machine) run(whole *plan.Plan, parts []*plan.Part, work []simulate.Work) (*ran, error) {
	out := &ran{sent: make([]float64, len(parts))}
	now, at := make([]float64, len(parts)), make([]int, len(parts))
	next := func(rank int) (task int) {
		queue := parts[rank].Plan.Schedule.Queues[0]
		if at[rank] == len(queue) {
			return -1
		}
		_, task = queue[at[rank]].Decode()
		return task
	}
	ready := make([]int, len(parts))
	for rank := range ready {
		ready[rank] = rank
	}
	for len(ready) > 0 {
		rank := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for task := next(rank); task >= 0; task = next(rank) {
			p := parts[rank].Plan
			t := &p.Tasks[task]
			if !t.Talks() {
				took := m.seconds(work[parts[rank].Tasks[task]])
				if t.Builtin != nil && t.Builtin.Op == "all_reduce" { // perhaps of some elements
					took *= float64(t.Over) / float64(whole.Tasks[parts[rank].Tasks[task]].Over)
				}
				now[rank], out.work, at[rank] = now[rank]+took, out.work+took, at[rank]+1
				continue
			}
			peer := t.Builtin.Peer
			other := next(peer)
			if other < 0 || !parts[peer].Plan.Tasks[other].Talks() || parts[peer].Plan.Tasks[other].Builtin.Message != t.Builtin.Message {
				break // the peer comes to it later
			}
			bytes := float64(t.Over * p.Roots[t.Access[0].Root].Type.Size())
			took := m.latency + bytes/m.link
			end := max(now[rank], now[peer]) + took
			now[rank], now[peer], out.talk = end, end, out.talk+2*took
			at[rank], at[peer] = at[rank]+1, at[peer]+1
			from := rank
			if t.Builtin.Op == "receive" {
				from = peer
			}
			out.messages++
			out.sent[from] += bytes
			ready = append(ready, peer)
		}
	}
	for rank := range parts {
		if task := next(rank); task >= 0 {
			return nil, fmt.Errorf("rank %d waits for ever at %s", rank, parts[rank].Plan.Label(task))
		}
		out.seconds = max(out.seconds, now[rank])
	}
	return out, nil
}
