//go:build cuda

package cuda

import (
	"time"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/internal/cudadriver"
)

// timing measures when devices run tasks.
type timing struct {
	start    map[*device]cu.Event // of the run
	began    map[*device]time.Time
	events   map[int][2]cu.Event // before and after the task of a command
	enqueued map[int]time.Time
}

// makeTiming makes the events of a program that is observed.
func (p *program) makeTiming() (err error) {
	t := &timing{map[*device]cu.Event{}, map[*device]time.Time{}, map[int][2]cu.Event{}, map[int]time.Time{}}
	for _, l := range p.lanes {
		if t.start[l.device], err = p.event(l.device, cu.DefaultEvent); err != nil {
			return err
		}
	}
	for i := range p.steps {
		c := &p.steps[i]
		if c.kind != runTask {
			continue
		}
		if _, host := p.jobs[c.task].(*hostStep); host {
			continue
		}
		var pair [2]cu.Event
		for k := range pair {
			if pair[k], err = p.event(c.lane.device, cu.DefaultEvent); err != nil {
				return err
			}
		}
		t.events[i] = pair
	}
	p.timing = t
	return nil
}

// begin notes the time of the start. That of the device is not earlier than that of the host.
func (t *timing) begin(r *run) error {
	for d, e := range t.start {
		if err := r.enter(d); err != nil {
			return err
		}
		t.began[d] = time.Now()
		if err := e.Record(d.transfer); err != nil {
			return cudadriver.Wrap("cuEventRecord", err)
		}
		if err := d.transfer.Synchronize(); err != nil {
			return cudadriver.Wrap("cuStreamSynchronize", err)
		}
	}
	return nil
}

// record records the event before (0) or after (1) the task of a command.
func (t *timing) record(command, which int, s cu.Stream) error {
	if which == 0 {
		t.enqueued[command] = time.Now()
	}
	return cudadriver.Wrap("cuEventRecord", t.events[command][which].Record(s))
}

// report tells the observer of the tasks that devices ran, in the order in which they were enqueued. A task
// with several ranges ran them side by side, so each gets its share of the time.
func (r *run) report() error {
	t := r.timing
	took := map[int][2]time.Duration{} // of commands: when they began and ended, since the start
	var late time.Duration             // how much later than noted devices started
	for i := range r.steps {
		pair, ok := t.events[i]
		if !ok {
			continue
		}
		d := r.steps[i].lane.device
		if err := r.enter(d); err != nil {
			return err
		}
		var at [2]time.Duration
		for k, e := range pair {
			ms, err := t.start[d].Elapsed(e)
			if err != nil {
				return cudadriver.Wrap("cuEventElapsedTime", err)
			}
			at[k] = time.Duration(ms * float64(time.Millisecond))
		}
		took[i] = at
		// Both clocks are compared at the start of a run only, but no task begins before it is enqueued.
		late = max(late, t.enqueued[i].Sub(t.began[d].Add(at[0])))
	}
	for i := range r.steps {
		if at, ok := took[i]; ok {
			start := t.began[r.steps[i].lane.device].Add(late)
			r.observe(&r.steps[i], start.Add(at[0]), start.Add(max(at[0], at[1])))
		}
	}
	return nil
}

// observe reports a task with its ranges.
func (r *run) observe(c *command, begin, end time.Time) {
	t := &r.queues.Plan.Tasks[c.task]
	g := t.Grid()
	n := g.Tiles()
	event := engine.Event{Task: c.task, Worker: c.lane.queue, Step: r.step}
	if t.Tile > 0 {
		event.Range, event.Begin, event.End = g.Tile(t.Tile-1), begin, end
		r.queues.Observe(event)
		return
	}
	took := end.Sub(begin)
	for k := range n {
		event.Range = g.Tile(k)
		event.Begin, event.End = begin.Add(took*time.Duration(k)/time.Duration(n)), begin.Add(took*time.Duration(k+1)/time.Duration(n))
		r.queues.Observe(event)
	}
}
