package mesh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/graph"
)

// place puts steps on stages. Nodes of the network are on the stage that began last before them. An update is
// on the stage of its weight or, without one, of the first tensor that it reads. Other steps are where their
// tensors are used next, or were written last.
func (pl *pipeline) place(stages []Stage) error {
	at := map[*graph.Node]int{}
	now := 0
	for i := range pl.source.Steps {
		s := &pl.source.Steps[i]
		if s.Invocation == nil || s.Phase != graph.Forward {
			continue
		}
		n := s.Invocation.Node
		if k := slices.IndexFunc(stages, func(s Stage) bool { return s.Node == n.Name }); k == now {
			now++
		} else if k > now {
			return stages[now].errorf("want a node of the network before node %s, with which the next stage begins, got %q", stages[k].Node, stages[now].Node)
		}
		at[n] = now
	}
	if now < len(stages) {
		return stages[now].errorf("want a node of the network behind the stage before, got %q", stages[now].Node)
	}
	home, last := map[graph.Tensor]int{}, map[graph.Tensor]int{}
	var later []int
	for i := range pl.steps {
		s := &pl.steps[i]
		stage, known := at[s.node]
		if s.node != nil && !known { // an update
			for _, of := range []map[graph.Tensor]int{home, last} {
				s.Each(func(t graph.Tensor, _ bool) {
					if on, ok := of[t]; ok && !known {
						stage, known = on, true
					}
				})
			}
			at[s.node] = stage
		}
		if s.Add != nil && s.node == nil {
			stage = last[s.Add.From.Root()]
		}
		if s.stage = stage; s.Fill != nil {
			later = append(later, i)
			continue
		}
		s.Each(func(t graph.Tensor, writes bool) {
			if _, ok := home[t]; !ok && t.Variable() {
				home[t] = stage
			}
			if writes {
				last[t] = stage
			}
		})
	}
	next := map[graph.Tensor]int{}
	for i := len(pl.steps) - 1; i >= 0; i-- {
		s := &pl.steps[i]
		if s.Fill != nil {
			s.stage = next[s.Fill.Tensor.Root()]
			continue
		}
		s.Each(func(t graph.Tensor, _ bool) { next[t] = s.stage })
	}
	return nil
}

// errorf returns an error of a stage, with its place.
func (s Stage) errorf(format string, args ...any) error {
	at := "mesh: "
	if s.At != "" {
		at = s.At + ": "
	}
	return fmt.Errorf(at+"stages: "+format, args...)
}

// unit is what a stage computes of a micro-batch at a time: forward or backward, between two places where all
// micro-batches meet.
type unit struct {
	stage, batch, level int
	backward            bool
}

// unit returns the unit of a step of a micro-batch.
func (s *piped) unit() unit { return unit{s.stage, s.batch, s.level, s.Phase != graph.Forward} }

// String returns F or B, and the number of the micro-batch.
func (u unit) String() string {
	if u.backward {
		return fmt.Sprintf("B%d", u.batch)
	}
	return fmt.Sprintf("F%d", u.batch)
}

// order puts steps in the order one forward, one backward (1F1B, as PipeDream-Flush has it): a stage first
// computes forward for as many micro-batches as stages follow, then one more forward and one backward in
// turn, and at last the backward that is left. So it holds results of few micro-batches at a time. Steps that
// depend on each other stay in order. Stages begin a unit together, when what it reads is there.
func (pl *pipeline) order() error {
	before := pl.dependencies()
	units := map[unit][]int{}
	var common []int
	levels := 0
	for i := range pl.steps {
		if s := &pl.steps[i]; s.batch == every {
			common = append(common, i)
		} else {
			units[s.unit()] = append(units[s.unit()], i)
			levels = max(levels, s.level+1)
		}
	}
	queues := make([][]unit, pl.stages)
	for stage := range queues {
		put := func(u unit) {
			if len(units[u]) > 0 {
				queues[stage] = append(queues[stage], u)
			}
		}
		ahead := min(pl.stages-1-stage, pl.batches)
		for level := range levels {
			for batch := range ahead {
				put(unit{stage, batch, level, false})
			}
			for batch := range pl.batches {
				if ahead+batch < pl.batches {
					put(unit{stage, ahead + batch, level, false})
				}
				put(unit{stage, batch, level, true})
			}
		}
	}
	done := make([]bool, len(pl.steps))
	var out []piped
	emit := func(i int) { done[i], out = true, append(out, pl.steps[i]) }
	for len(out) < len(pl.steps) {
		common = slices.DeleteFunc(common, func(i int) bool {
			ready := !slices.ContainsFunc(before[i], func(k int) bool { return !done[k] })
			if ready {
				emit(i)
			}
			return ready
		})
		ready := func(u unit) bool {
			return !slices.ContainsFunc(units[u], func(i int) bool {
				return slices.ContainsFunc(before[i], func(k int) bool {
					s := &pl.steps[k]
					return !done[k] && (s.batch == every || u != s.unit())
				})
			})
		}
		now := make([]bool, pl.stages)
		for stage, queue := range queues {
			now[stage] = len(queue) > 0 && ready(queue[0])
		}
		if !slices.Contains(now, true) {
			if len(out) < len(pl.steps) {
				return fmt.Errorf("mesh: want stages that need results of those before, got some that need each other, at %v", queues)
			}
			break
		}
		for len(pl.chart) < pl.stages {
			pl.chart = append(pl.chart, nil)
		}
		for stage := range now {
			if !now[stage] {
				pl.chart[stage] = append(pl.chart[stage], "")
				continue
			}
			u := queues[stage][0]
			queues[stage] = queues[stage][1:]
			pl.chart[stage] = append(pl.chart[stage], u.String())
			for _, i := range units[u] {
				emit(i)
			}
		}
	}
	pl.steps = out
	return nil
}

// dependencies returns the steps that each step follows: the last writer of what it accesses and, if it
// writes, those that read it since.
func (pl *pipeline) dependencies() [][]int {
	out := make([][]int, len(pl.steps))
	writer, readers := map[graph.Tensor]int{}, map[graph.Tensor][]int{}
	for i := range pl.steps {
		pl.steps[i].Each(func(t graph.Tensor, writes bool) {
			if w, ok := writer[t]; ok && w != i {
				out[i] = append(out[i], w)
			}
			if !writes {
				readers[t] = append(readers[t], i)
				return
			}
			for _, r := range readers[t] {
				if r != i {
					out[i] = append(out[i], r)
				}
			}
			writer[t], readers[t] = i, nil
		})
	}
	return out
}

// Order shows what each stage computes when, if forward and backward of a micro-batch take equally long on
// all: F and B with the number of the micro-batch, and dots where it waits. It is empty without stages.
func (d *divider) Order() string {
	if d.pipeline == nil {
		return ""
	}
	pl := d.pipeline
	width, idle, all := 2, 0, 0
	for _, row := range pl.chart {
		for _, cell := range row {
			width, all = max(width, len(cell)), all+1
			if cell == "" {
				idle++
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d micro-batches in %d stages; stages wait %.0f %% of the time if all take equally long\n", pl.batches, pl.stages, 100*float64(idle)/float64(max(all, 1)))
	for stage, row := range pl.chart {
		fmt.Fprintf(&b, "stage %d ", stage)
		for _, cell := range row {
			if cell == "" {
				cell = strings.Repeat(".", width)
			}
			fmt.Fprintf(&b, " %-*s", width, cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
