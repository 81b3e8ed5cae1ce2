package tune

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// rangesOf says which tasks BenchmarkRanges measures.
var rangesOf = flag.String("ranges-of", "softmax{", "a part of the titles of the tasks that BenchmarkRanges measures; all for those of all operators")

// allTasks is the value of -ranges-of for tasks of all operators.
const allTasks = "all"

// BenchmarkRanges runs tasks of the catalogue as plans, with one worker and with two: in the usual ranges,
// beside one range and the best of some numbers of ranges. Tasks are those of the first example of each
// operator at several sizes, as far as they take some milliseconds at most, or those of all examples of which
// -ranges-of has a part of the title. The metrics are geometric means of the usual time divided by another.
// The tasks are listed, those that gain most from another number of ranges first.
func BenchmarkRanges(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for range b.N {
				measureRanges(b, workers, *rangesOf)
			}
		})
	}
}

// rangesRow is what BenchmarkRanges measured of a task.
type rangesRow struct {
	title     string
	tiles     int
	usual     time.Duration
	one, best float64 // of the usual time
	ranges    int     // of the best
}

// mostRows is how many tasks BenchmarkRanges lists at most.
const mostRows = 40

// longTask is how long a task takes whose operator is not measured at larger sizes.
const longTask = 5 * time.Millisecond

// errLong says that a task takes too long to be measured.
var errLong = errors.New("it takes too long")

func measureRanges(b *testing.B, workers int, only string) {
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t := &tuner{config: config{Workers: workers, Period: 2 * time.Millisecond}, registry: &registry, on: tuned.Device{Processor: "p", Workers: workers}}
	var rows []rangesRow
	for _, o := range catalogue.Operators() {
		long := false // whether a smaller use took long
		for k, u := range sized(o) {
			if k%len(sizes) == 0 {
				long = false
			} else if long {
				continue
			}
			if k >= len(sizes) && only == allTasks {
				break
			}
			n, err := u.node()
			if err != nil {
				b.Fatal(err)
			}
			for _, s := range o.Signatures {
				if s.Kind != task.KindForward && s.Kind != task.KindBackward && s.Kind != task.KindUpdate {
					continue
				}
				title, err := u.title(s, n)
				if err != nil {
					b.Fatal(err)
				}
				if only != allTasks && !strings.Contains(title, only) {
					continue
				}
				r, err := t.row(b, u, s)
				switch {
				case errors.Is(err, errNoTask):
					continue
				case errors.Is(err, errLong):
					long = true
					continue
				case err != nil:
					b.Errorf("%s: %v", title, err)
					continue
				}
				r.title = title
				long = long || r.usual > longTask
				rows = append(rows, *r)
			}
		}
	}
	slices.SortFunc(rows, func(x, y rangesRow) int { return cmp.Compare(x.best, y.best) })
	one, best, slow := 0.0, 0.0, 0
	for i, r := range rows {
		one, best = one+math.Log(r.one), best+math.Log(r.best)
		if r.best < 0.9 {
			slow++
		}
		if i < mostRows || only != allTasks {
			fmt.Printf("%8.1f us in %3d ranges; one takes %.2f, best (%d) %.2f: %s\n", float64(r.usual)/1000, r.tiles, r.one, r.ranges, r.best, r.title)
		}
	}
	b.ReportMetric(math.Exp(-one/float64(len(rows))), "usual/one")
	b.ReportMetric(math.Exp(-best/float64(len(rows))), "usual/best")
	b.ReportMetric(float64(slow), "slower-by-10%")
	b.ReportMetric(float64(len(rows)), "tasks")
}

// row measures a task of a use.
func (t *tuner) row(b *testing.B, u *use, s *task.Signature) (*rangesRow, error) {
	n, err := u.node()
	if err != nil {
		return nil, err
	}
	key, err := tuned.UseOf(s, n.Resolved)
	if err != nil {
		return nil, err
	}
	m, err := t.load(n, s, key, []int{1, 2, 4, 8})
	if err != nil {
		return nil, err
	}
	defer m.close()
	for i := range m.plans {
		begin := time.Now()
		if err := m.warm(b.Context(), i); err != nil {
			return nil, err
		}
		if time.Since(begin) > 20*longTask {
			return nil, errLong
		}
	}
	times := make([]time.Duration, len(m.plans))
	if err := m.turns(b.Context(), seq(len(m.plans)), times); err != nil {
		return nil, err
	}
	r := &rangesRow{tiles: m.plans[0].tiles, usual: times[0], one: 1, best: 1}
	for i := range times {
		ratio := float64(times[i]) / float64(times[0])
		if m.plans[i].ranges == 1 {
			r.one = ratio
		}
		if ratio < r.best {
			r.best, r.ranges = ratio, m.plans[i].ranges
		}
	}
	return r, nil
}
