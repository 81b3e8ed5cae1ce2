package tune

import (
	"flag"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

var table = flag.String("table", "../../tuned.toml", "the table whose entries BenchmarkTuned measures")

// BenchmarkTuned measures the entries of a table that are for this machine and one worker: each task in the
// number of ranges of its entry, beside the usual ranges, in turn. It does so at shapes of the entry's
// bucket, of which opgen tune measured one at most. A line has the median of the rounds: first at three
// quarters of the bucket, then at the others.
func BenchmarkTuned(b *testing.B) {
	for range b.N {
		measureTuned(b)
	}
}

func measureTuned(b *testing.B) {
	all, err := tuned.Read(*table)
	if err != nil {
		b.Fatal(err)
	}
	var registry task.Registry
	if err := catalogue.Register(&registry); err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t := &tuner{config: config{Workers: 1}, registry: &registry, on: tuned.Device{Processor: tuned.Processor(), Workers: 1}}
	faster, slowest, rows := map[string]bool{}, 0.0, 0
	for _, e := range all.Entries {
		if e.Device != t.on {
			continue
		}
		uses := bucket(e)
		if len(uses) == 0 {
			b.Errorf("%s: want shapes like %s, found none", e.Operator, e.Shapes)
			continue
		}
		u := uses[0]
		s := u.op.Signatures[slices.IndexFunc(u.op.Signatures, func(s *task.Signature) bool { return s.Task == e.Task })]
		ratio, err := t.other(b.Context(), u, s, e.Ranges)
		if err != nil {
			b.Fatal(err)
		}
		if ratio <= 0.9 {
			faster[e.Operator] = true
		}
		var held []string
		for _, o := range uses[1:] {
			r, err := t.other(b.Context(), o, s, e.Ranges)
			if err != nil {
				b.Fatal(err)
			}
			slowest = max(slowest, r)
			held = append(held, fmt.Sprintf("%.2f", r))
		}
		rows++
		fmt.Printf("%-14s %-9s %-28s in %2d: %.2f; held out: %s\n", e.Operator, e.Task, e.Shapes, e.Ranges, ratio, strings.Join(held, " "))
	}
	b.ReportMetric(float64(rows), "entries")
	b.ReportMetric(float64(len(faster)), "operators-10%-faster")
	b.ReportMetric(slowest, "slowest-held-out")
}

// bucket returns uses that share an entry. Their extents are 12, or else 16, sixteenths of those of the
// entry, and then other sixteenths, at which opgen tune does not look: it takes 9, 16, and the sizes of its
// argument. Where the operator does not take that, one extent stays at 12.
func bucket(e tuned.Entry) (out []*use) {
	for _, sixteenths := range []int{12, 16, 10, 11, 13, 14, 15} {
		if sixteenths == 16 && len(out) > 0 {
			continue
		}
		for keep := -1; keep < strings.Count(e.Shapes, "x")+strings.Count(e.Shapes, "="); keep++ {
			at := -1
			shapes := extent.ReplaceAllStringFunc(e.Shapes, func(text string) string {
				n, err := strconv.Atoi(text[1:])
				if at++; err != nil || n < 16 {
					return text
				}
				if at == keep {
					return text[:1] + strconv.Itoa(n/16*12)
				}
				return text[:1] + strconv.Itoa(n/16*sixteenths)
			})
			if found, err := parse(catalogue.Operators(), e.Operator+e.Attrs+" "+shapes); err == nil {
				out = append(out, found...)
				break
			}
		}
	}
	return out
}

// extent matches an extent of shapes such as input=64x1024, with what is in front of it.
var extent = regexp.MustCompile(`[=x][0-9]+`)
