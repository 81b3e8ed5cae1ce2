package sched

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/opgen/opgen/runtime/internal/deps"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/schedule"
)

// graph returns n tasks, of which each comes after those of preds.
func graph(t *testing.T, n int, preds func(i int) []int) *schedule.Graph {
	t.Helper()
	b := deps.NewBuilder(n, n)
	for i := range n {
		if _, err := b.Task([]deps.Access{{Root: int32(i), Perm: perm.Write}}, preds(i)...); err != nil {
			t.Fatal(err)
		}
	}
	return b.Graph()
}

func none(int) []int { return nil }

func line(i int) []int {
	if i == 0 {
		return nil
	}
	return []int{i - 1}
}

// text formats queues: r runs a task, s shares one, w waits for a worker's position and d
// for a shared task to be done, ! signals.
func text(s *schedule.Schedule) (out []string) {
	for _, q := range s.Queues {
		line := ""
		for _, op := range q {
			switch kind, n := op.Decode(); kind {
			case schedule.Run:
				line += fmt.Sprintf("r%d ", n)
			case schedule.Share:
				line += fmt.Sprintf("s%d ", n)
			case schedule.WaitFor:
				line += fmt.Sprintf("w%d:%d ", s.Waits[n].Worker, s.Waits[n].Position)
			case schedule.WaitShared:
				line += fmt.Sprintf("d%d ", n)
			case schedule.Signal:
				line += "! "
			}
		}
		out = append(out, line)
	}
	return out
}

// times returns the same time for n tasks.
func times(n int, ns float64) []float64 { return slices.Repeat([]float64{ns}, n) }

func TestNew(t *testing.T) {
	t.Parallel()
	diamond := func(i int) []int { return [][]int{nil, {0}, {0}, {1, 2}}[i] }
	for name, tt := range map[string]struct {
		g       *schedule.Graph
		workers int
		costs   Costs
		want    []string
	}{
		"one worker":             {graph(t, 3, none), 1, Costs{}, []string{"r0 r1 r2 "}},
		"too short to divide":    {graph(t, 4, line), 3, Costs{}, []string{"r0 r1 r2 r3 ", "", ""}},
		"independent":            {graph(t, 4, none), 2, Costs{Time: times(4, 1e4)}, []string{"r0 r2 ", "r1 r3 "}},
		"a chain stays":          {graph(t, 3, line), 2, Costs{Time: times(3, 1e4)}, []string{"r0 r1 r2 ", ""}},
		"diamond":                {graph(t, 4, diamond), 2, Costs{Time: times(4, 1e4)}, []string{"r0 ! r1 ! ", "w0:2 r2 w0:4 r3 "}},
		"ranges, but too short":  {graph(t, 2, none), 2, Costs{Time: times(2, 1e3), Ranges: []int{8, 8}}, []string{"r0 ", "r1 "}},
		"shared":                 {graph(t, 2, line), 2, Costs{Time: times(2, 1e5), Ranges: []int{8, 8}}, []string{"s0 d0 s1 ", "s0 d0 s1 "}},
		"shared, then one alone": {graph(t, 2, line), 2, Costs{Time: times(2, 1e5), Ranges: []int{8, 1}}, []string{"s0 d0 r1 ", "s0 "}},
		"no tasks":               {graph(t, 0, none), 2, Costs{}, []string{"", ""}},
	} {
		s, err := New(tt.g, tt.workers, tt.costs)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := text(s); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back schedule.Schedule
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(text(&back), text(s)) {
			t.Errorf("%s: came back as %q, %v", name, text(&back), err)
		}
	}
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	g := graph(t, 2, none)
	for want, f := range map[string]func() (*schedule.Schedule, error){
		"sched: want at least one worker, got 0":                 func() (*schedule.Schedule, error) { return New(g, 0, Costs{}) },
		"sched: want at most 32767 workers, got 32768":           func() (*schedule.Schedule, error) { return New(g, 32768, Costs{}) },
		"sched: want costs of 2 tasks, got 1 times and 0 ranges": func() (*schedule.Schedule, error) { return New(g, 1, Costs{Time: times(1, 1)}) },
		"sched: want costs of 2 tasks, got 0 times and 3 ranges": func() (*schedule.Schedule, error) { return New(g, 1, Costs{Ranges: make([]int, 3)}) },
	} {
		if s, err := f(); s != nil || err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// TestWaitsAreFew checks that a worker does not wait for a position that is over for it already. The rows of
// a grid belong to two workers. One wait serves several tasks that need the row above.
func TestWaitsAreFew(t *testing.T) {
	t.Parallel()
	const side = 60
	g := graph(t, side*side, func(i int) (preds []int) {
		if i >= side {
			preds = append(preds, i-side)
		}
		if i%side > 0 {
			preds = append(preds, i-1)
		}
		return preds
	})
	s, err := New(g, 2, Costs{Time: times(side*side, 150)})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Queues[1]) == 0 || len(s.Waits) == 0 || len(s.Waits) > side*side/4 {
		t.Errorf("%d tasks on the second worker, %d waits", len(s.Queues[1]), len(s.Waits))
	}
}
