// Package tune measures in how many ranges tasks of operators are fastest on this machine, for the command
// opgen tune.
//
// A choice is measured in a plan of its own, beside the plan without it: both run in turn, so that a busy
// machine is busy for both. With one worker, times are processor time of its thread where the system tells,
// so that other programs do not count. A round is the time that a tenth of its runs do not exceed. An entry
// is written where the choice is faster in each of several rounds, and in no other sizes of the bucket
// slower.
package tune

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/opgen/opgen/runtime/cost"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/internal/single"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// config says what is measured.
type config struct {
	// Operators are those that uses name.
	Operators []*graph.Operator
	// Uses are operators with the attributes and shapes to measure, such as softmax{"dim": 1} input=64x1024.
	// A name alone stands for the operator's examples at several sizes, and no use for all operators.
	Uses []string
	// Machine is what the machine can do at best, with this number of workers. Without it, nothing is known
	// to be at the roofline.
	Machine cost.Machine
	// Workers is the number of workers, 1 or more.
	Workers int
	// Budget is the time after which no further task is begun; 0 means no bound.
	Budget time.Duration
	// Period is how long a round takes; 0 means the usual one.
	Period time.Duration
	// Out gets a line for each task.
	Out io.Writer
}

// The numbers by which entries are made. An entry needs a median below leastGain and each round below
// surelyLess of the time without it. One for which another size of the bucket takes mostLoss is dropped.
const (
	leastGain  = 0.95
	surelyLess = 0.98
	mostLoss   = 1.02
	nearBound  = 0.9 // of the roofline, from which on nothing is to be gained
)

// rounds is how many rounds confirm a choice, and period is how long a round takes.
const (
	rounds = 5
	period = 30 * time.Millisecond
)

// outOfCache is from how many bytes on a task's tensors are surely in memory.
const outOfCache = 256 << 20

// candidates are numbers of ranges.
var candidates = []int{1, 2, 4, 8, 16, 32, 64}

// tuner measures.
type tuner struct {
	config
	registry *task.Registry
	on       tuned.Device
	table    *tuned.Table
	end      time.Time // zero without a budget
}

// run measures the uses and changes the entries of a table for this machine and the number of workers. It
// returns how many tasks it measured and for how many the table has a choice. A task that cannot be measured
// is a line of the output. Its entry stays, and so does that of a task that the context interrupts. The error
// is about a use that is none, a task whose results depend on its ranges, or the context.
func run(ctx context.Context, registry *task.Registry, table *tuned.Table, c config) (measured, chosen int, err error) {
	if c.Workers < 1 {
		return 0, 0, fmt.Errorf("tune: want 1 worker or more, got %d", c.Workers)
	}
	all, err := uses(c.Operators, c.Uses)
	if err != nil {
		return 0, 0, fmt.Errorf("tune: %w", err)
	}
	t := &tuner{config: c, registry: registry, on: tuned.Device{Processor: tuned.Processor(), Workers: c.Workers}, table: table}
	if c.Budget > 0 {
		t.end = time.Now().Add(c.Budget)
	}
	runtime.LockOSThread() // whose time is measured
	defer runtime.UnlockOSThread()
	seen := map[tuned.Use]bool{}
	for _, u := range all {
		n, err := u.node()
		if err != nil {
			return measured, chosen, fmt.Errorf("tune: %w", err)
		}
		for _, s := range u.op.Signatures {
			if s.Kind != task.KindForward && s.Kind != task.KindBackward && s.Kind != task.KindUpdate {
				continue
			}
			key, err := tuned.UseOf(s, n.Resolved)
			if err != nil {
				return measured, chosen, err
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			if c.Budget > 0 && time.Now().After(t.end) {
				fmt.Fprintf(c.Out, "the time is over\n")
				return measured, chosen, nil
			}
			title, err := u.title(s, n)
			if err != nil {
				return measured, chosen, err
			}
			found, err := t.task(ctx, u, n, s, key)
			wrong := (*dependsError)(nil)
			switch {
			case ctx.Err() != nil:
				return measured, chosen, context.Cause(ctx)
			case errors.As(err, &wrong):
				return measured, chosen, fmt.Errorf("tune: %s: %w", title, err)
			case err != nil:
				fmt.Fprintf(c.Out, "%s: not measured: %v\n", title, err)
				continue
			}
			fmt.Fprintf(c.Out, "%s: %s\n", title, found)
			measured++
			t.table.Drop(t.on, key)
			if found.ranges > 0 {
				t.table.Set(tuned.Entry{Device: t.on, Use: key, Ranges: found.ranges})
				chosen++
			}
		}
	}
	return measured, chosen, nil
}

// finding is what was measured of a task.
type finding struct {
	took   time.Duration // without a choice
	usual  int           // number of ranges without a choice
	ranges int           // that are chosen; 0 for none
	ratio  float64       // of the time with the best other number of ranges and without
	others []float64     // the same for other sizes
	why    string        // nothing is chosen
}

func (f *finding) String() string {
	usual := fmt.Sprintf("%v in ranges: %d", f.took.Round(100*time.Nanosecond), f.usual)
	if f.ranges == 0 {
		return fmt.Sprintf("%s; %s", usual, f.why)
	}
	out := fmt.Sprintf("%s; in %d it takes %.2f of that", usual, f.ranges, f.ratio)
	if len(f.others) > 0 {
		out += fmt.Sprintf(", and at other sizes of the bucket %.2f", f.others)
	}
	return out
}

// task measures a task of a use.
func (t *tuner) task(ctx context.Context, u *use, n *graph.Node, s *task.Signature, key tuned.Use) (*finding, error) {
	m, err := t.load(n, s, key, candidates)
	if err != nil {
		return nil, err
	}
	defer m.close()
	f := &finding{usual: m.plans[0].tiles}
	best := 0
	for i := range m.plans {
		if err := m.warm(ctx, i); err != nil {
			return nil, err
		}
	}
	if len(m.plans) == 1 {
		f.why = "no other number of ranges changes it"
		f.took, err = m.round(ctx, 0)
		return f, err
	}
	times := make([]time.Duration, len(m.plans))
	if err := m.turns(ctx, seq(len(m.plans)), times); err != nil {
		return nil, err
	}
	f.took = times[0]
	if bound := t.bound(n, s); bound > 0 && bound <= f.took && float64(bound) > nearBound*float64(f.took) {
		f.why = "that is the roofline"
		return f, nil
	}
	for i := range times {
		if times[i] < times[best] {
			best = i
		}
	}
	if f.ratio = float64(times[best]) / float64(times[0]); best == 0 || f.ratio > leastGain {
		f.why = "no other number of ranges takes less"
		return f, nil
	}
	ratios, err := m.ratios(ctx, best, rounds)
	if err != nil {
		return nil, err
	}
	f.ratio = ratios[len(ratios)/2]
	if !sure(ratios) {
		f.why = fmt.Sprintf("%d ranges take %.2f to %.2f of that, which is not sure", m.plans[best].ranges, ratios[0], ratios[len(ratios)-1])
		return f, nil
	}
	ranges := m.plans[best].ranges
	for _, o := range u.others() {
		ratio, err := t.other(ctx, o, s, ranges)
		if err != nil {
			return nil, err
		}
		if f.others = append(f.others, ratio); slower(ratio) {
			f.why = fmt.Sprintf("%d ranges take %.2f of that, but %.2f at another size of the bucket", ranges, f.ratio, ratio)
			return f, nil
		}
	}
	f.ranges = ranges
	return f, nil
}

// sure reports whether a choice is faster beyond the noise, given its times in several rounds, sorted,
// divided by those without it.
func sure(ratios []float64) bool {
	return ratios[len(ratios)/2] <= leastGain && ratios[len(ratios)-1] <= surelyLess
}

// slower reports whether a choice is too slow at another size of the bucket.
func slower(ratio float64) bool { return ratio > mostLoss }

// other measures a choice at another size of the bucket, and returns the time with it divided by that
// without.
func (t *tuner) other(ctx context.Context, u *use, s *task.Signature, ranges int) (float64, error) {
	n, err := u.node()
	if err != nil {
		return 0, err
	}
	key, err := tuned.UseOf(s, n.Resolved)
	if err != nil {
		return 0, err
	}
	m, err := t.load(n, s, key, []int{ranges})
	if err != nil {
		return 0, err
	}
	defer m.close()
	for i := range m.plans {
		if err := m.warm(ctx, i); err != nil {
			return 0, err
		}
	}
	if len(m.plans) == 1 {
		return 1, nil
	}
	ratios, err := m.ratios(ctx, 1, rounds)
	if err != nil {
		return 0, err
	}
	return ratios[len(ratios)/2], nil
}

// bound returns the shortest time that the machine allows; 0 if it is not known. Memory bounds what no cache
// holds.
func (t *tuner) bound(n *graph.Node, s *task.Signature) time.Duration {
	spent := n.Resolved.Cost(slices.Index(n.Op.Signatures, s))
	if !spent.Known || t.Machine.F32 <= 0 || t.Machine.Bandwidth <= 0 {
		return 0
	}
	bytes := spent.Bytes
	if bytes == 0 {
		for _, p := range s.Params {
			for _, o := range n.Resolved.Operands(p.Slot) {
				bytes += float64(o.Bytes())
			}
		}
	}
	seconds := spent.Flops / t.Machine.F32
	if bytes > outOfCache {
		seconds = max(seconds, bytes/t.Machine.Bandwidth)
	}
	return time.Duration(seconds * float64(time.Second))
}

// measurement is a program of one task in plans that differ in its ranges, each of them loaded.
type measurement struct {
	program *single.Program
	engine  *engine.Engine
	init    *engine.Instance  // gives variables their first values; nil if there are none
	plans   []loaded          // the first one without a choice
	want    map[string][]byte // what the first one gives
	workers int
	period  time.Duration
}

// loaded is a plan that is ready to run.
type loaded struct {
	*engine.Instance
	ranges int // the choice, or 0
	tiles  int // of the task's steps
}

// load makes plans for numbers of ranges. It leaves out those with the grids of an earlier one.
func (t *tuner) load(n *graph.Node, s *task.Signature, key tuned.Use, ranges []int) (m *measurement, err error) {
	m = &measurement{workers: t.Workers, period: cmp.Or(t.Period, period), want: map[string][]byte{}}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	if m.program, err = single.New(n, s.Kind == task.KindBackward); err != nil {
		return m, err
	}
	m.engine = engine.New(t.registry, cpu.New(cpu.Config{Workers: t.Workers}), engine.Config{})
	if len(m.program.Variables) > 0 {
		init, err := graph.Initialization(m.program.Program)
		if err != nil {
			return m, err
		}
		if m.init, err = m.instance(init); err != nil {
			return m, err
		}
	}
	var seen [][]op.Grid
	for _, r := range append([]int{0}, ranges...) {
		var choice tuned.Table
		if r > 0 {
			choice.Set(tuned.Entry{Device: t.on, Use: key, Ranges: r})
		}
		in, err := m.instance(m.program.Program, planner.Tuned(choice.For(t.on)))
		if err != nil {
			return m, err
		}
		x := loaded{Instance: in, ranges: r}
		m.plans = append(m.plans, x)
		var grids []op.Grid
		found := false
		for i := range in.Plan().Tasks {
			task := &in.Plan().Tasks[i]
			g := task.Grid()
			grids = append(grids, g)
			if task.Call >= 0 && in.Plan().Calls[task.Call].ID == s.ID {
				m.plans[len(m.plans)-1].tiles, found = max(m.plans[len(m.plans)-1].tiles, g.Tiles()), true
			}
		}
		if !found {
			return m, errNoTask
		}
		if slices.ContainsFunc(seen, func(other []op.Grid) bool {
			return slices.EqualFunc(grids, other, func(a, b op.Grid) bool { return a.Equal(&b) })
		}) {
			m.plans = m.plans[:len(m.plans)-1]
			if err := in.Close(); err != nil {
				return m, err
			}
		}
		seen = append(seen, grids)
	}
	return m, nil
}

// errNoTask says that a program does without the task that is to be measured.
var errNoTask = errors.New("its program has no such task")

// instance plans a program and loads it, each task by itself.
func (m *measurement) instance(p *graph.Program, opts ...planner.Option) (*engine.Instance, error) {
	plan, err := planner.Build(p, slices.Concat(m.engine.Options(), []planner.Option{planner.Plain()}, opts)...)
	if err != nil {
		return nil, err
	}
	return m.engine.Load(plan)
}

func (m *measurement) close() {
	if m.engine != nil {
		m.engine.Close() // which closes the instances
	}
}

// dependsError says that results depend on ranges, which is a mistake in a kernel by hand.
type dependsError struct {
	Tensor string
	Ranges int
}

func (e *dependsError) Error() string {
	return fmt.Sprintf("want results that do not depend on ranges, got other bits of %s in %d ranges", e.Tensor, e.Ranges)
}

// feed feeds a plan.
func (m *measurement) feed(i int) error {
	for k, t := range m.program.Fed {
		if err := m.program.Feed(m.plans[i].Instance, t, uint64(k)); err != nil {
			return err
		}
	}
	return nil
}

// warm feeds a plan and runs it. Its results must be those of the first plan.
func (m *measurement) warm(ctx context.Context, i int) error {
	x := &m.plans[i]
	if err := errors.Join(ctx.Err(), m.feed(i)); err != nil {
		return err
	}
	if m.init != nil {
		if err := m.init.Run(context.Background()); err != nil {
			return err
		}
	}
	x.SetStep(1)
	if err := x.Run(context.Background()); err != nil {
		return err
	}
	for _, t := range m.program.Fetched {
		if !x.Uses(t.Name()) {
			continue
		}
		got, err := x.FetchBytes(t.Name())
		if err != nil {
			continue // a fed tensor that is updated in place, or one that a count shortens
		}
		if i == 0 {
			m.want[t.Name()] = got
		} else if !bytes.Equal(m.want[t.Name()], got) {
			return &dependsError{t.Name(), x.ranges}
		}
	}
	return nil
}

// round returns the time that a tenth of the runs of a plan do not exceed.
func (m *measurement) round(ctx context.Context, i int) (time.Duration, error) {
	times := make([]time.Duration, 1)
	err := m.turns(ctx, []int{i}, times)
	return times[0], err
}

// turns runs plans in turn for a period for each of them, and gives for each the time that a tenth of its
// runs do not exceed.
func (m *measurement) turns(ctx context.Context, plans []int, out []time.Duration) error {
	samples := make([][]time.Duration, len(plans))
	begin := time.Now()
	for n := 0; ctx.Err() == nil && (n < 3 || time.Since(begin) < m.period*time.Duration(len(plans)) && n < 10000); n++ {
		for k, i := range plans {
			if err := m.feed(i); err != nil {
				return err
			}
			start := now(m.workers)
			if err := m.plans[i].Run(context.Background()); err != nil { // a context that may end takes time in each range
				return err
			}
			samples[k] = append(samples[k], now(m.workers)-start)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for k := range samples {
		slices.Sort(samples[k])
		out[k] = max(samples[k][len(samples[k])/10], 1)
	}
	return nil
}

// ratios returns the time of a plan divided by that of the first one, in each of several rounds, sorted.
func (m *measurement) ratios(ctx context.Context, i, rounds int) ([]float64, error) {
	out := make([]float64, rounds)
	times := make([]time.Duration, 2)
	for r := range out {
		if err := m.turns(ctx, []int{0, i}, times); err != nil {
			return nil, err
		}
		out[r] = float64(times[1]) / float64(times[0])
	}
	slices.Sort(out)
	return out, nil
}

// seq returns 0 to n-1.
func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
