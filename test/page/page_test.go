//go:build chromium

package page

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementbinary"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/curves"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/live"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/timeline"
)

// chain returns the plan of a chain of layers in tiles, with names that are no HTML.
func chain(t *testing.T, layers int) *plan.Plan {
	t.Helper()
	g := graph.New(1)
	input := g.Input("<b>x</b>", dtype.F32, 256, 64)
	x := input
	for i := range layers {
		x = linear.Apply(g, linear.Defaults(64), x, graph.Named(fmt.Sprintf("</script>fc%d", i)))
		x = elementunary.Tanh(g, x, graph.Named(fmt.Sprintf("tanh%d", i)))
	}
	s, err := opgen.Open(catalogue.Register, opgen.Workers(2), opgen.Tiled())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.Inference(context.Background(), g, x)
	if err != nil {
		t.Fatal(err)
	}
	return p.Plan()
}

// predicted returns a timeline of a plan with at least a number of spans: predictions of runs, one after the
// other.
func predicted(t *testing.T, p *plan.Plan, spans int) *timeline.Timeline {
	t.Helper()
	work := make([]simulate.Work, len(p.Tasks))
	for i := range work {
		work[i] = simulate.Work{Seconds: 1e-6, Flops: 1e5, Bytes: 1e4}
	}
	one, err := simulate.Plan(p, work, simulate.Machine{Wait: 1e-7, Latency: 1e-7})
	if err != nil {
		t.Fatal(err)
	}
	out := &timeline.Timeline{Name: "runs of " + p.Name, Plan: p, Workers: make([][]timeline.Span, len(one.Timeline.Workers))}
	for run := uint64(0); ; run++ {
		for w, line := range one.Timeline.Workers {
			for _, s := range line {
				s.Run, s.Begin, s.End = run, s.Begin+float64(run)*one.Seconds, s.End+float64(run)*one.Seconds
				out.Workers[w] = append(out.Workers[w], s)
			}
			spans -= len(line)
		}
		if spans <= 0 {
			return out
		}
	}
}

// write writes the page of a plan to a file.
func write(t *testing.T, page draw.Page) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	if err := cmp.Or(draw.HTML(w, page), w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPage opens the page of a plan at each view, with something selected: what the page says of it is what
// the plan says.
func TestPage(t *testing.T) {
	p := chain(t, 3)
	address := write(t, draw.Page{Plan: p, Timelines: []*timeline.Timeline{predicted(t, p, 1)}, Operators: []*task.Operator{&linear.Operator.Operator},
		Work: make([]simulate.Work, len(p.Tasks)), Machine: simulate.Machine{Rate: 1, Bandwidth: 1}})
	last := len(p.Tasks) - 1
	b := start(t)
	for place, want := range map[string][]string{
		"":                             {">proved<", "Nothing is selected", "layers that take most time", fmt.Sprintf("%d tasks, 2 workers", len(p.Tasks))},
		"#view=memory&root=0":          {"&lt;b&gt;x&lt;/b&gt;", "f32 [256, 64], 64.00 KiB"},
		fmt.Sprintf("#task=%d", last):  {fmt.Sprintf("task %d, tile", last), "waits for", "runs it for 1.000 µs<"},
		"#view=facts&layer=0":          {"The plan is proved", "&lt;/script&gt;fc0: linear.forward", "pre[n, o] = sum(k: input[n, k] * weight[o, k])", `"out_channels": 64`},
		"#view=roofline":               {"The page has no work of tasks"},
		"#view=nothing&layer=0&task=0": {"task 0, tile 1"},
	} {
		page := b.open(address+place, "light")
		document := page.document()
		for _, text := range want {
			if !strings.Contains(document, text) {
				t.Errorf("at %q the page does not say %q", place, text)
			}
		}
		if strings.Contains(document, "<b>x") {
			t.Errorf("at %q a name became HTML", place)
		}
		page.clean("")
		page.close()
	}
}

// TestRuns opens the page of two timelines of a plan: of a run, and of several that are alike. Each layer has
// the same times in both.
func TestRuns(t *testing.T) {
	p := chain(t, 3)
	one := predicted(t, p, 1)
	address := write(t, draw.Page{Plan: p, Timelines: []*timeline.Timeline{one, predicted(t, p, 10*len(p.Tasks))}})
	page := start(t).open(address+"#run=1&layer=0", "light")
	if got := page.text("[runs[0].count, runs[1].count > 2, [...runs[0].byLayer.keys()].every(i => ['byLayer', 'elapsed'].every(k => Math.abs(runs[0][k][i] - runs[1][k][i]) < 3e-9))].join()"); got != "1,true,true" {
		t.Errorf("the page has %s", got)
	}
	if document := page.document(); !strings.Contains(document, "in a run, as a mean of "+page.text("runs[1].count")) {
		t.Error("the page does not say that times are means of runs")
	}
	page.clean("")
}

// TestLayout opens the page of a plan whose first layer is read by all others: its arrows are curves, and
// boxes stand in a column. Layers of one name have labels of their own, and marks of times have round
// numbers.
func TestLayout(t *testing.T) {
	g := graph.New(1)
	first := elementunary.Tanh(g, g.Input("x", dtype.F32, 64, 64), graph.Named("first"))
	x := first
	for i := range 12 {
		x = elementbinary.Add(g, elementunary.Tanh(g, x, graph.Named(fmt.Sprintf("tanh%d", i))), first, graph.Named(fmt.Sprintf("sum%d", i)))
	}
	s, err := opgen.Open(catalogue.Register, opgen.Workers(2), opgen.Plain())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := s.Inference(context.Background(), g, x)
	if err != nil {
		t.Fatal(err)
	}
	page := start(t).open(write(t, draw.Page{Plan: p.Plan()}), "light")
	for script, want := range map[string]string{
		"graph.size.w < 700":                                                 "true",
		"document.querySelectorAll('.arrow.far').length":                     "10",
		"new Set(plan.layers.map(l => l.label)).size === plan.layers.length": "true",
		"ticks(0, 2.777e9 / 1.3, 1.3e-9).map(t => t.text).join()":            "0,0.5 s,1.0 s,1.5 s,2.0 s,2.5 s",
		"ticks(35, 1234, 1e-9).map(t => t.text).join()":                      "0.2 µs,0.4 µs,0.6 µs,0.8 µs,1.0 µs,1.2 µs",
		"[over('#f28e2b'), over('#4e79a7')].join()":                          "#1f2328,#fff",
	} {
		if got := page.text(script); got != want {
			t.Errorf("%s is %s, want %s", script, got, want)
		}
	}
	page.clean("")
}

// TestFault opens the page of a plan with a fault, which the page names.
func TestFault(t *testing.T) {
	p := *chain(t, 1)
	p.ArenaBytes--
	if document := start(t).open(write(t, draw.Page{Plan: &p})+"#view=facts", "light").document(); !strings.Contains(document, "has a fault") || !strings.Contains(document, "arena") {
		t.Error("the page does not name the fault")
	}
}

// TestTrainings opens a page with two runs, of which one diverges.
func TestTrainings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "training.html")
	for _, name := range []string{"<b>rate 1", "rate 2"} {
		r := &curves.Run{Name: name}
		for step := 1; step <= 100; step++ {
			r.Curve("loss").Add(step, 4/float64(step))
		}
		r.Curve("loss").Log = true
		if name == "rate 2" {
			r.Curve("loss").Add(101, math.NaN())
			r.Curve("rate").Add(1, 0.5)
		}
		if err := curves.Update(file, "Trainings", r); err != nil {
			t.Fatal(err)
		}
	}
	page := start(t).open(file, "light")
	document := page.document()
	page.clean("")
	for _, text := range []string{"&lt;b&gt;rate 1</td><td>100</td><td>0.04</td><td>-</td>", "rate 2</td><td>101</td><td>-</td><td>0.5</td>"} {
		if !strings.Contains(document, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	if n := strings.Count(document, "<canvas"); n != 2 {
		t.Errorf("the page has %d charts, want 2", n)
	}
}

// TestLive opens the pages of a training that runs, and of the plan of its step. The training makes another
// step, measures something new, and ends: the pages show that without being loaded again.
func TestLive(t *testing.T) {
	run := &curves.Run{Name: "now"}
	run.Curve("loss").Add(1, 4)
	training, err := curves.Live("Training", run)
	if err != nil {
		t.Fatal(err)
	}
	p := chain(t, 2)
	step, err := draw.NewLive(draw.Page{Plan: p, Work: slices.Repeat([]simulate.Work{{Flops: 1e5, Bytes: 1e4}}, len(p.Tasks)), Machine: simulate.Machine{Rate: 1e12, Bandwidth: 1e11}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := live.Serve("localhost:0", training, step.Page)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	root, _, _ := strings.Cut(server.URL(), "?")
	b := start(t)
	page := b.open(server.URL(), "light")
	page.text("mark = 'not loaded again'")
	training.Update(func() {
		run.Curve("loss").Add(2, 2)
		run.Curve("late").Add(2, 0.25)
	})
	page.until("document.body.innerText.includes('0.25') || ''")
	if document := page.document(); !strings.Contains(document, "now</td><td>2</td><td>2</td><td>0.25</td>") || strings.Count(document, "<canvas") != 2 || !strings.Contains(document, ">running<") {
		t.Errorf("the page says %s", page.text("document.body.innerText"))
	}
	page.clean(root)

	next := b.open(page.text("[...document.links].find(a => a.textContent.startsWith('Plan ')).href"), "light")
	next.text("mark = 'not loaded again'")
	next.text("show('roofline')")
	if hidden := next.text("$('time').hidden + $('noroofline').textContent"); !strings.HasPrefix(hidden, "trueThe page has no") {
		t.Errorf("before the first step the page has %s", hidden)
	}
	line := predicted(t, p, 1)
	for at, name := range []string{"first", "second"} {
		line.Name = name
		if err := step.Show([]draw.Fact{{Name: "step", Value: name}}, line); err != nil {
			t.Fatal(err)
		}
		next.until(fmt.Sprintf("$('newest').textContent === 'step %s' || ''", name))
		if at == 0 {
			next.text("select({task: 5}); setTime(1000, 3000)")
			for i := range line.Workers {
				for k := range line.Workers[i] {
					line.Workers[i][k].Begin *= 2
					line.Workers[i][k].End *= 2
				}
			}
		}
	}
	if got := next.text("[$('runs').textContent.split(',')[0], runs.length, roofline.points.length === plan.layers.length, selected.task, time.from, time.to, mark].join()"); got != "second,1,true,5,1000,3000,not loaded again" {
		t.Errorf("behind the second step the page has %s", got)
	}
	if document := next.document(); !strings.Contains(document, "runs it for 2.00") || !strings.Contains(document, "<td>step</td><td>second</td>") {
		t.Errorf("behind the second step the page says %s", next.text("document.body.innerText"))
	}
	next.clean(root)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*tab{page, next} {
		p.until("document.getElementById('live').textContent === 'ended' || ''")
		if p.text("mark") != "not loaded again" {
			t.Error("the page was loaded again")
		}
	}
}

// TestMillion opens a page with a million spans and more than 200 layers, all of which it shows, and looks at
// the page with another color scheme.
func TestMillion(t *testing.T) {
	p := chain(t, 150)
	file := write(t, draw.Page{Plan: p, Timelines: []*timeline.Timeline{predicted(t, p, 1_000_000)}})
	page := start(t).open(file+"#task=100", "dark")
	document := page.document()
	if !strings.Contains(document, "task 100, tile") || !strings.Contains(document, "200 of 300 boxes") {
		t.Error("the page shows too little")
	}
	page.clean("")
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the page of a plan with %d tasks and of a million spans has %d bytes, and is ready after %v", len(p.Tasks), info.Size(), page.took.Round(10*time.Millisecond))
}
