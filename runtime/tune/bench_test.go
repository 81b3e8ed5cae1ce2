package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// BenchmarkRanges runs tasks of the catalogue as plans, with one worker and with two: in the usual ranges,
// beside one range and the best of some numbers of ranges. Tasks are those of the first examples of each
// operator at several sizes; OPGEN_RANGES=REGEXP-FREE TEXT keeps those whose title contains the text. The
// metrics are geometric means of the usual time divided by another, and the log has the slowest rows.
func BenchmarkRanges(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for range b.N {
				measureRanges(b, workers, os.Getenv("OPGEN_RANGES"))
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
	all       []float64
}

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
			if k >= len(sizes) && only == "" {
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
				if !strings.Contains(title, only) {
					continue
				}
				r, err := t.row(b, u, s)
				switch {
				case errors.Is(err, errNoTask):
					continue
				case err != nil:
					long = true
					continue
				}
				r.title = title
				long = long || r.usual > 5*time.Millisecond
				if os.Getenv("OPGEN_STREAM") != "" {
					fmt.Printf("ROW\t%s\t%d\t%d\t%.3f\n", title, r.tiles, r.usual.Nanoseconds(), r.all)
				}
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
		if i < 2000 || only != "" {
			fmt.Printf("%8.1f us in %3d ranges; one takes %.2f, best (%d) %.2f, all %.2f: %s\n", float64(r.usual)/1000, r.tiles, r.one, r.ranges, r.best, r.all, r.title)
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
		if time.Since(begin) > 100*time.Millisecond {
			return nil, errors.New("takes too long")
		}
	}
	times := make([]time.Duration, len(m.plans))
	if err := m.turns(b.Context(), seq(len(m.plans)), times); err != nil {
		return nil, err
	}
	r := &rangesRow{tiles: m.plans[0].tiles, usual: times[0], one: 1, best: 1}
	for i := range times {
		ratio := float64(times[i]) / float64(times[0])
		r.all = append(r.all, float64(m.plans[i].ranges), ratio)
		if m.plans[i].ranges == 1 {
			r.one = ratio
		}
		if ratio < r.best {
			r.best, r.ranges = ratio, m.plans[i].ranges
		}
	}
	return r, nil
}
