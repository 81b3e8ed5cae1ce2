package cost

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/opgen/opgen/runtime/internal/exec"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/simulate"
)

// MeasureModel measures a model of this machine, with which package simulate predicts runs of plans on a
// number of workers. It measures the rates of MeasureMachine for one worker and for all, and how long ranges,
// signals and waits of the CPU backend take, by programs of empty tasks. It takes about two seconds.
func MeasureModel(workers int) (simulate.Machine, error) {
	workers = max(workers, 1)
	one, all := MeasureMachine(1), MeasureMachine(workers)
	m := simulate.Machine{Rate: one.F32, EachBandwidth: one.Bandwidth, Bandwidth: max(all.Bandwidth, one.Bandwidth)}
	const n = 1000
	queue := func(times int, entries ...schedule.Op) (q []schedule.Op) {
		for range times {
			q = append(q, entries...)
		}
		return q
	}
	var failed error
	measure := func(s schedule.Schedule) float64 {
		took, err := fastest(s)
		if failed == nil {
			failed = err
		}
		return took
	}
	alone := func(q []schedule.Op) schedule.Schedule {
		return schedule.Schedule{Queues: [][]schedule.Op{q}, Waits: []schedule.Wait{{Worker: 0, Position: 1}}}
	}
	nothing := measure(alone(queue(1, 0)))
	m.Range = max(measure(alone(queue(n+1, 0)))-nothing, 0) / n
	m.Signal = max(measure(alone(queue(n+1, schedule.Signaling)))-nothing, 0) / n
	m.Wait = max(measure(alone(append([]schedule.Op{schedule.Signaling}, queue(n, schedule.WaitOf(0))...)))-nothing, 0) / n
	if workers > 1 {
		m.Start = max(measure(schedule.Schedule{Queues: [][]schedule.Op{nil, queue(1, 0)}})-nothing, 0)
		// Two workers that answer each other.
		s := schedule.Schedule{Queues: make([][]schedule.Op, 2)}
		for k := range n {
			for w := range 2 {
				if w == 1 || k > 0 {
					s.Queues[w] = append(s.Queues[w], schedule.WaitOf(len(s.Waits)))
					s.Waits = append(s.Waits, schedule.Wait{Worker: int32(1 - w), Position: int32(len(s.Queues[1-w]))})
				}
				s.Queues[w] = append(s.Queues[w], schedule.Signaling)
			}
		}
		// The wait itself is over when the answer comes, so the latency is what is left of the time but for
		// signals.
		m.Latency = max((measure(s)-nothing-m.Start)/(2*n)-m.Signal-m.Wait, 0)
	}
	return m, failed
}

// empty is a body that does nothing. Like generated bodies it is a pointer.
type empty struct{}

func (*empty) Run(*op.Ctx, op.Range) error { return nil }

// fastest returns the seconds of the fastest of several runs of a schedule whose only task is empty.
func fastest(s schedule.Schedule) (float64, error) {
	const rounds = 40
	s.Tasks = 1
	p, err := exec.NewProgram(&s, []exec.Task{{Body: &empty{}, Grid: op.Line(1, 1)}})
	if err != nil {
		return 0, fmt.Errorf("cost: %w", err)
	}
	pool := exec.NewPool(s.Workers())
	defer pool.Close()
	took := make([]float64, rounds)
	for i := range took {
		start := time.Now()
		if err := pool.Run(context.Background(), p, 0); err != nil {
			return 0, fmt.Errorf("cost: %w", err)
		}
		took[i] = time.Since(start).Seconds()
	}
	return slices.Min(took), nil
}
