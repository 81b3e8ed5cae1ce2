//go:build chromium

// Package page opens pages of plans in Chromium, which draws them without a window.
package page

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/elementunary"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/curves"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/timeline"
)

// wait is how long a page may take, on a machine that does much else.
const wait = 60 * time.Second

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

// opened opens a page, a file or an address, at a place and returns the document, after scripts ran. It fails
// if the browser reports an error, or if the page asks for anything but itself.
func opened(t *testing.T, file, place string, more ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	args := append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir(), "--window-size=1500,950",
		"--virtual-time-budget=20000", "--enable-logging=stderr", "--log-level=0", "--dump-dom"}, more...)
	if !strings.HasPrefix(file, "http://") {
		file = "file://" + file
	}
	cmd := exec.CommandContext(ctx, "chromium", append(args, file+place)...)
	cmd.WaitDelay = 5 * time.Second
	var out, logged bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &logged
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, logged.String())
	}
	for line := range strings.Lines(logged.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the browser says: %s", line)
		}
	}
	document := out.String()
	if failed := regexp.MustCompile(`<body[^>]*data-failed="([^"]*)"`).FindStringSubmatch(document); failed != nil {
		t.Fatalf("the page failed: %s", failed[1])
	}
	if !regexp.MustCompile(`<body[^>]*data-ready="`).MatchString(document) {
		t.Fatalf("the page was not ready in %v", wait)
	}
	return document
}

// TestPage opens the page of a plan at each view, with something selected: what the page says of it is what
// the plan says.
func TestPage(t *testing.T) {
	p := chain(t, 3)
	file := write(t, draw.Page{Plan: p, Timelines: []*timeline.Timeline{predicted(t, p, 1)}, Operators: []*task.Operator{&linear.Operator.Operator},
		Work: make([]simulate.Work, len(p.Tasks)), Machine: simulate.Machine{Rate: 1, Bandwidth: 1}})
	last := len(p.Tasks) - 1
	for place, want := range map[string][]string{
		"":                             {">proved<", "Nothing is selected", "layers that take most time", fmt.Sprintf("%d tasks, 2 workers", len(p.Tasks))},
		"#view=memory&root=0":          {"&lt;b&gt;x&lt;/b&gt;", "f32 [256, 64], 64.00 KiB"},
		fmt.Sprintf("#task=%d", last):  {fmt.Sprintf("task %d, tile", last), "waits for", "runs it for 1.000 µs"},
		"#view=facts&layer=0":          {"The plan is proved", "&lt;/script&gt;fc0: linear.forward", "pre[n, o] = sum(k: input[n, k] * weight[o, k])", "&quot;out_channels&quot;: 64"},
		"#view=roofline":               {"The page has no work of tasks"},
		"#view=nothing&layer=0&task=0": {"task 0, tile 1"},
	} {
		document := strings.ReplaceAll(opened(t, file, place), `"`, "&quot;")
		for _, text := range want {
			if !strings.Contains(document, strings.ReplaceAll(text, `"`, "&quot;")) {
				t.Errorf("at %q the page does not say %q", place, text)
			}
		}
		if strings.Contains(document, "<b>x") {
			t.Errorf("at %q a name became HTML", place)
		}
	}
}

// TestFault opens the page of a plan with a fault, which the page names.
func TestFault(t *testing.T) {
	p := *chain(t, 1)
	p.ArenaBytes--
	if document := opened(t, write(t, draw.Page{Plan: &p}), "#view=facts"); !strings.Contains(document, "has a fault") || !strings.Contains(document, "arena") {
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
	document := opened(t, file, "")
	for _, text := range []string{"&lt;b&gt;rate 1</td><td>100</td><td>0.04</td><td>-</td>", "rate 2</td><td>101</td><td>-</td><td>0.5</td>"} {
		if !strings.Contains(document, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	if n := strings.Count(document, "<canvas"); n != 2 {
		t.Errorf("the page has %d charts, want 2", n)
	}
}

// TestLive opens the page of a training that runs. When the page is there, the training measures something
// new, and more steps; then it goes on, or ends.
func TestLive(t *testing.T) {
	for _, ends := range []bool{false, true} {
		run := &curves.Run{Name: "now"}
		run.Curve("loss").Add(1, 4)
		live, err := curves.Serve("localhost:0", "Training", run)
		if err != nil {
			t.Fatal(err)
		}
		defer live.Close()
		at, err := url.Parse(live.URL())
		if err != nil {
			t.Fatal(err)
		}
		asked := 0 // for changes
		direct := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: at.Host})
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/runs" {
				if asked++; asked >= 4 && ends {
					panic(http.ErrAbortHandler)
				}
			}
			direct.ServeHTTP(w, r)
			if r.URL.Path == "/" {
				live.Update(func() {
					run.Curve("loss").Add(2, 2)
					run.Curve("late").Add(2, 0.25)
				})
			}
		}))
		document := opened(t, proxy.URL+"/?"+at.RawQuery, "")
		proxy.Close()
		for _, text := range []string{"now</td><td>2</td><td>2</td><td>0.25</td>", map[bool]string{false: "the training runs<", true: "the training ended<"}[ends]} {
			if !strings.Contains(document, text) {
				t.Errorf("the page does not say %q", text)
			}
		}
		if n := strings.Count(document, "<canvas"); n != 2 || asked < 3 || ends && asked > 8 {
			t.Errorf("the page has %d charts, want 2, and asked %d times for changes", n, asked)
		}
	}
}

// TestMillion opens a page with a million spans and more than 200 layers.
func TestMillion(t *testing.T) {
	p := chain(t, 150)
	file := write(t, draw.Page{Plan: p, Timelines: []*timeline.Timeline{predicted(t, p, 1_000_000)}})
	small := write(t, draw.Page{Plan: p})
	begin := time.Now()
	opened(t, small, "")
	without := time.Since(begin)
	document := opened(t, file, "#task=100")
	with := time.Since(begin) - without
	if !strings.Contains(document, "task 100, tile") || !strings.Contains(document, "200 of 300 boxes") {
		t.Error("the page shows too little")
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Chromium takes %v for a page of %d tasks, %v for that with a million spans, of %d bytes", without.Round(10*time.Millisecond), len(p.Tasks), with.Round(10*time.Millisecond), info.Size())
}
