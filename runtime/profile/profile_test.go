package profile_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen/generated/activation"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/generated/sgd"
	scce "github.com/opgen/opgen/generated/sparsecategoricalcrossentropy"
	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/timeline"
)

// training returns a training step of two layers, and the plan that initializes it.
func training(t *testing.T) (init, step *plan.Plan) {
	t.Helper()
	g := graph.New(1)
	x, label := g.Input("x", dtype.F32, 40, 3), g.Input("label", dtype.I32, 40, 1)
	at := linear.Defaults(5)
	at.Activation = activation.Relu
	h := linear.Apply(g, at, x, graph.Named(`a"b`))
	at.Activation = 0
	loss := scce.Apply(g, scce.Defaults(), scce.Logit(linear.Apply(g, at, h, graph.Named("fc"))), scce.Label(label), graph.Named("loss"))
	opt := sgd.Defaults(0.1)
	p, err := graph.Training(g, loss, sgd.Optimizer(opt))
	if err != nil {
		t.Fatal(err)
	}
	first, err := graph.Initialization(p)
	if err != nil {
		t.Fatal(err)
	}
	if init, err = planner.Build(first); err != nil {
		t.Fatal(err)
	}
	if step, err = planner.Build(p); err != nil {
		t.Fatal(err)
	}
	return init, step
}

// record runs a training step several times and returns its plan.
func record(t *testing.T, r *profile.Recorder, workers, runs int) *plan.Plan {
	t.Helper()
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		t.Fatal(err)
	}
	e := engine.New(&registry, cpu.New(cpu.Config{Workers: workers}), engine.Config{Observer: r})
	defer e.Close()
	init, step := training(t)
	first, err := e.Load(init)
	if err == nil {
		err = first.Run(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	in, err := e.Load(step)
	if err != nil {
		t.Fatal(err)
	}
	for range runs {
		if err := errors.Join(engine.Feed(in, "x", make([]float32, 120)), engine.Feed(in, "label", make([]int32, 40)), in.Run(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	return in.Plan()
}

// trace is what WriteTrace writes.
type trace struct{ TraceEvents []traceEvent }

type traceEvent struct {
	Name, Cat, Ph string
	Ts, Dur       float64
	Pid, Tid      int
	Args          map[string]any
}

// TestRecorder records 3 runs after 2 others: every range of every task is there in each of them, ranges of a
// worker follow each other, and the statistics tell the same as the trace.
func TestRecorder(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		r := profile.New(profile.Config{Warmup: 2, Runs: 3, Newest: true})
		p := record(t, r, workers, 7)
		var out bytes.Buffer
		if err := r.WriteTrace(&out); err != nil {
			t.Fatal(err)
		}
		var tr trace
		if err := json.Unmarshal(out.Bytes(), &tr); err != nil {
			t.Fatalf("%v:\n%s", err, &out)
		}
		names, waits := map[string]bool{}, 0
		ends := map[int]float64{} // of the last range of a worker
		ranges := map[[2]int]map[string]bool{}
		busy := make([]float64, len(p.Tasks))
		slices.SortStableFunc(tr.TraceEvents, func(a, b traceEvent) int { return cmp.Compare(a.Ts, b.Ts) })
		for _, e := range tr.TraceEvents {
			if e.Ph == "M" {
				names[e.Args["name"].(string)] = true
				continue
			}
			if e.Cat == "wait" {
				if e.Tid >= workers || int(e.Args["worker"].(float64)) >= workers || !strings.HasPrefix(e.Name, "waits for ") {
					t.Errorf("wait %+v", e)
				}
				waits++
				continue
			}
			number, run := int(e.Args["task"].(float64)), int(e.Args["run"].(float64))
			if e.Pid != 1 || e.Tid >= workers || run > 2 || e.Name != p.Label(number) {
				t.Errorf("event %+v", e)
			}
			if e.Ts < ends[e.Tid]-0.002 {
				t.Errorf("worker %d runs two ranges at a time: %+v begins before %v", e.Tid, e, ends[e.Tid])
			}
			ends[e.Tid] = e.Ts + e.Dur
			k := [2]int{run, number}
			if ranges[k] == nil {
				ranges[k] = map[string]bool{}
			}
			ranges[k][e.Args["range"].(string)] = true
			busy[number] += e.Dur
		}
		if serial := !slices.ContainsFunc(p.Schedule.Queues[1:], func(q []schedule.Op) bool { return len(q) > 0 }); serial != (waits == 0) {
			t.Errorf("%d waits of %d workers, whose queues are %v", waits, workers, p.Schedule.Queues)
		}
		line := r.Timeline(p, 2)
		if shown := len(line.Workers[0]); line.Plan != p || len(line.Workers) != workers || shown < 1 || line.Workers[0][shown-1].Run != 2 {
			t.Errorf("the timeline of the last run is %+v", line)
		}
		var parts [][]timeline.Span // of each worker
		for run := range 3 {
			for w, spans := range r.Timeline(p, run).Workers {
				if run == 0 {
					parts = append(parts, nil)
				}
				parts[w] = append(parts[w], spans...)
			}
		}
		if whole := r.Whole(p); whole.Plan != p || !slices.EqualFunc(whole.Workers, parts, slices.Equal) {
			t.Errorf("the timeline of all runs is %+v, want %+v", whole, parts)
		}
		newest, ran := r.Newest(p), 0
		for _, spans := range newest.Workers {
			for _, s := range spans {
				if s.Run != 6 || s.Begin < line.Workers[0][0].End {
					t.Errorf("the newest run has %+v", s)
				}
				if s.Kind == timeline.Run {
					ran++
				}
			}
		}
		want := 0
		for i := range p.Tasks {
			want += p.Tasks[i].Ranges()
		}
		if ran != want {
			t.Errorf("the newest run has %d ranges, want %d", ran, want)
		}
		work, err := r.Work(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := simulate.Plan(p, work, simulate.Machine{}); err != nil || got.Seconds < got.CriticalPath || got.CriticalPath <= 0 {
			t.Errorf("predicted %+v, %v", got, err)
		}
		known := 0
		for i, task := range r.Tasks(p) {
			if want := task.Busy.Shortest.Seconds(); work[i].Seconds != want {
				t.Errorf("%s takes %v s, want %v", task.Label, work[i].Seconds, want)
			}
			sum, n := 0.0, 0
			for _, phase := range work[i].Ranges {
				for _, v := range phase {
					sum, n = sum+v, n+1
				}
			}
			if known += n; n > 0 && (n != task.Ranges || !(math.Abs(sum-work[i].Seconds) < 1e-9)) {
				t.Errorf("%s: %d ranges take %v s, want %d in %v", task.Label, n, sum, task.Ranges, work[i].Seconds)
			}
		}
		if known == 0 {
			t.Error("the times of no ranges are known")
		}
		for _, want := range []string{"plan initialization", "plan training", "worker 0", "worker " + strconv.Itoa(workers-1)} {
			if !names[want] {
				t.Errorf("no lane is named %q", want)
			}
		}
		tasks := r.Tasks(p)
		if len(tasks) != len(p.Tasks) {
			t.Fatalf("times of %d tasks, want %d", len(tasks), len(p.Tasks))
		}
		for i, task := range tasks {
			want := p.Tasks[i].Ranges()
			for run := range 3 {
				if got := len(ranges[[2]int{run, i}]); got != want {
					t.Errorf("run %d of %s has %d ranges, want %d", run, p.Label(i), got, want)
				}
			}
			if task.Number != i || task.Label != p.Label(i) || task.Ranges != want || task.Busy.Runs != 3 || task.Elapsed.Runs != 3 {
				t.Errorf("times %+v, want 3 runs of %d ranges", task, want)
			}
			if sum := task.Busy.Mean.Seconds() * 3e6; sum < busy[i]-0.1 || sum > busy[i]+0.1 {
				t.Errorf("%s was busy for %v us, the trace has %v", task.Label, sum, busy[i])
			}
			if workers == 1 && task.Elapsed.Mean < task.Busy.Mean {
				t.Errorf("%s: one worker was busy for %v within %v", task.Label, task.Busy.Mean, task.Elapsed.Mean)
			}
		}
	}
}

// TestNothingRecorded writes a trace of runs that were all left out, and one of no plan at all.
func TestNothingRecorded(t *testing.T) {
	t.Parallel()
	r := profile.New(profile.Config{Warmup: 9})
	p := record(t, r, 2, 2)
	if _, err := r.Work(p); err == nil || !strings.Contains(err.Error(), `task 0, a"b: linear.forward: want a recorded run, got none`) {
		t.Errorf("what tasks take: %v", err)
	}
	if tasks := r.Tasks(p); len(tasks) != 0 {
		t.Errorf("recorded %+v", tasks)
	}
	for _, r := range []*profile.Recorder{r, profile.New(profile.Config{})} {
		var out bytes.Buffer
		var tr trace
		if err := errors.Join(r.WriteTrace(&out), json.Unmarshal(out.Bytes(), &tr)); err != nil {
			t.Errorf("%v:\n%s", err, &out)
		}
		for _, e := range tr.TraceEvents {
			if e.Ph != "M" {
				t.Errorf("event %+v", e)
			}
		}
	}
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	if got := profile.Summarize([]time.Duration{2, 4, 4, 4, 5, 5, 7, 9}); got != (profile.Time{Runs: 8, Mean: 5, Spread: 2, Shortest: 2, Longest: 9}) {
		t.Errorf("got %+v", got)
	}
	if got := profile.Summarize(nil); got != (profile.Time{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// full fails after some bytes, as a full disk does.
type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	r := profile.New(profile.Config{Runs: 3})
	record(t, r, 1, 3)
	for name, write := range map[string]func(io.Writer) error{
		"trace": r.WriteTrace,
	} {
		f := full(100)
		if err := write(&f); err == nil || err.Error() != "disk full" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
