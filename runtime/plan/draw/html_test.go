package draw_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/live"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/timeline"
)

// head is a part of the JSON of a page.
type head struct {
	Name, Fault  string
	Tasks, Edges int
	Layers       []struct {
		Label, Node, Operator, Phase string
		First, End                   int
		Flops                        float64
		Access                       []struct {
			Perm string
			Root int
		}
	}
	Arrows    [][3]int
	Roots     []struct{ Name string }
	Operators map[string]struct{ Formula []string }
	Machine   *struct{ Rate, Bandwidth float64 }
	runs
}

// runs is the JSON about runs.
type runs struct {
	Facts     []draw.Fact
	Timelines []struct {
		Unit  float64
		Spans [][]int
	}
}

// decoded reads the data of a page: its JSON, and the numbers behind it.
func decoded(t *testing.T, page string) (h head, numbers []int32) {
	t.Helper()
	found := regexp.MustCompile(`(?s)<script type="application/octet-stream" id="data">(.*?)</script>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatal("the page has no data")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(found[1])))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	plan, rest := section(t, data, &h, func() int { return 2*h.Tasks + 1 + h.Edges })
	spans, rest := section(t, rest, &h.runs, h.spans)
	if len(rest) > 0 {
		t.Errorf("%d bytes lie behind the data", len(rest))
	}
	return h, append(plan, spans...)
}

// spans returns how many numbers the spans of all timelines take.
func (r *runs) spans() (n int) {
	for _, t := range r.Timelines {
		for _, worker := range t.Spans {
			for _, k := range worker {
				n += 4 * k
			}
		}
	}
	return n
}

// section reads JSON and as many numbers behind it as count says, and returns what follows.
func section(t *testing.T, data []byte, head any, count func() int) (numbers []int32, rest []byte) {
	t.Helper()
	n := int(binary.LittleEndian.Uint32(data))
	if err := json.Unmarshal(data[4:4+n], head); err != nil {
		t.Fatal(err)
	}
	data = data[4+(n+3)/4*4:]
	numbers = make([]int32, count())
	read, err := binary.Decode(data, binary.LittleEndian, numbers)
	if err != nil {
		t.Fatal(err)
	}
	return numbers, data[read:]
}

// TestHTML reads the data of a page: layers, arrows, dependencies and spans are those of the plan and of the
// timeline, and a name cannot end a script.
func TestHTML(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	work := make([]simulate.Work, len(p.Tasks))
	for i := range work {
		work[i].Flops = float64(i)
	}
	p.Name = "</script><b>"
	line, two := byHand(p), byHand(p)
	two.Workers[0][2].Run = 7
	var out bytes.Buffer
	if err := draw.HTML(&out, draw.Page{Plan: p, Timelines: []*timeline.Timeline{line, two}, Operators: []*task.Operator{&linear.Operator.Operator}, Work: work, Machine: simulate.Machine{Rate: 2, Bandwidth: 3}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "<b>") {
		t.Error("the name of the plan became HTML")
	}
	if outside := regexp.MustCompile(`(src|href)="(https?:|//)|sourceMappingURL|@import`).FindString(out.String()); outside != "" {
		t.Errorf("the page asks for what is not in it: %s", outside)
	}
	h, numbers := decoded(t, out.String())
	if !slices.EqualFunc(h.Timelines[1].Spans, [][]int{{1, 1}, {2, 0}}, slices.Equal) {
		t.Errorf("spans of two runs are %v", h.Timelines[1].Spans)
	}
	if h.Name != p.Name || h.Fault != "" || h.Tasks != len(p.Tasks) || h.Edges != p.Deps.Edges() || h.Machine == nil || h.Machine.Rate != 2*float64(len(p.Schedule.Queues)) || h.Machine.Bandwidth != 3 {
		t.Errorf("the page says %+v", h)
	}
	if len(h.Operators) != 1 || !slices.Equal(h.Operators["linear"].Formula, linear.Operator.Formula) {
		t.Errorf("operators are %v", h.Operators)
	}
	// The layers are all tasks, one behind the other.
	next := 0
	for i, l := range h.Layers {
		if l.First != next || l.End <= l.First || l.Label != p.Label(l.First) {
			t.Fatalf("layer %d is %+v, want one from task %d on", i, l, next)
		}
		flops := 0.0
		for task := l.First; task < l.End; task++ {
			if numbers[task] != int32(i) {
				t.Errorf("task %d is in layer %d, want %d", task, numbers[task], i)
			}
			flops += work[task].Flops
		}
		if l.Flops != flops {
			t.Errorf("layer %d has %v operations, want %v", i, l.Flops, flops)
		}
		next = l.End
	}
	if next != len(p.Tasks) {
		t.Errorf("the layers have %d tasks, want %d", next, len(p.Tasks))
	}
	// Each arrow leads from a layer that writes the tensor to one that reads it.
	if len(h.Arrows) == 0 {
		t.Error("the graph has no arrows")
	}
	touches := func(layer, root int, perms ...string) bool {
		for _, a := range h.Layers[layer].Access {
			if a.Root == root && slices.Contains(perms, a.Perm) {
				return true
			}
		}
		return false
	}
	for _, a := range h.Arrows {
		if a[0] >= a[1] || !touches(a[0], a[2], "write", "read_write", "reduce") || !touches(a[1], a[2], "read", "read_write", "reduce") {
			t.Errorf("an arrow leads from %s to %s by %s", h.Layers[a[0]].Label, h.Layers[a[1]].Label, h.Roots[a[2]].Name)
		}
	}
	numbers = numbers[len(p.Tasks):]
	if !slices.Equal(numbers[:len(p.Deps.Start)], p.Deps.Start) || !slices.Equal(numbers[len(p.Deps.Start):len(p.Deps.Start)+p.Deps.Edges()], p.Deps.Pred) {
		t.Error("the dependencies are not those of the plan")
	}
	numbers = numbers[len(p.Deps.Start)+p.Deps.Edges():]
	at := func(seconds float64) int32 { return int32(seconds / h.Timelines[0].Unit) }
	want := []int32{0, 0, 0, at(3), 0, 5, at(3.5), at(4), 2, 0, at(0.5), at(3.75), 0, 7, at(3.75), at(4)}
	if !slices.EqualFunc(h.Timelines[0].Spans, [][]int{{2}, {2}}, slices.Equal) || !slices.Equal(numbers, slices.Concat(want, want)) {
		t.Errorf("spans are %v: %v, want %v", h.Timelines[0].Spans, numbers, want)
	}
}

// TestLive serves the page of a plan, shows another run, and reads the page and its changes.
func TestLive(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	l, err := draw.NewLive(draw.Page{Plan: p, Facts: []draw.Fact{{Name: "step", Value: "0"}}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := live.Serve("localhost:0", l.Page)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	get := func(address string) string {
		t.Helper()
		a, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode != 200 {
			t.Fatalf("%s: %s, %v", address, a.Status, err)
		}
		return string(text)
	}
	line := byHand(p)
	for step, want := range [][]draw.Fact{{{Name: "step", Value: "0"}}, {{Name: "step", Value: "1"}, {Name: "loss", Value: "2.5"}}} {
		if step == 1 {
			if err := l.Show(want, line); err != nil {
				t.Fatal(err)
			}
		}
		page := get(server.URL())
		if !strings.Contains(page, fmt.Sprintf(`data-version="%d"`, step)) || !strings.Contains(page, `data-live="changes1?token=`) {
			t.Errorf("step %d: the page does not say what it follows", step)
		}
		h, numbers := decoded(t, page)
		if h.Tasks != len(p.Tasks) || !slices.Equal(h.Facts, want) || len(h.Timelines) != step {
			t.Errorf("step %d: the page has %+v", step, h.runs)
		}
		var changed runs
		spans, rest := section(t, []byte(get(strings.Replace(server.URL(), "/?", "/changes1?", 1))), &changed, changed.spans)
		if !reflect.DeepEqual(changed, h.runs) || len(rest) > 0 || !slices.Equal(spans, numbers[2*h.Tasks+1+h.Edges:]) || len(spans) != 16*step {
			t.Errorf("step %d: changes are %+v and %v, the page has %+v and %v", step, changed, spans, h.runs, numbers)
		}
	}
	line.Workers[0][0].Task = -1
	if err := l.Show(nil, line); err == nil || !strings.Contains(err.Error(), "want tasks of plan training") {
		t.Errorf("a timeline of another plan: %v", err)
	}
	if h, _ := decoded(t, get(server.URL())); len(h.Facts) != 2 {
		t.Errorf("behind the error the page has %+v", h.runs)
	}
	if _, err := draw.NewLive(draw.Page{}); err == nil {
		t.Error("no plan: want an error")
	}
}

// TestHTMLErrors refuses what does not belong to the plan, and shows a plan with a fault as such.
func TestHTMLErrors(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	beyond := &timeline.Timeline{Name: "other", Plan: p, Workers: [][]timeline.Span{{{Task: len(p.Tasks), Range: op.Range{Hi: 1}, End: 1}}}}
	back := byHand(p)
	back.Workers[0][0].Run = 1
	for name, page := range map[string]draw.Page{
		"worker 0: want runs one after the other, got run 0 behind 1": {Plan: p, Timelines: []*timeline.Timeline{back}},
		"want a plan, got none":                             {},
		"draw: plan training: want work of":                 {Plan: p, Work: make([]simulate.Work, 1)},
		"draw: timeline other: want tasks of plan training": {Plan: p, Timelines: []*timeline.Timeline{beyond}},
	} {
		if err := draw.HTML(io.Discard, page); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s", err, name)
		}
	}
	damaged := *p
	damaged.Roots = slices.Clone(p.Roots)
	damaged.Roots[0].Place.Bytes--
	var out bytes.Buffer
	if err := draw.HTML(&out, draw.Page{Plan: &damaged}); err != nil {
		t.Fatal(err)
	}
	if h, _ := decoded(t, out.String()); h.Fault == "" || h.Machine != nil {
		t.Errorf("the page says %q about a plan with a fault", h.Fault)
	}
}

// TestDagre checks that the script is the file of the package that its license is about.
func TestDagre(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("page/dagre.min.js")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != "54a503e346f93ca0bb10abe7999587e037262935687aca45eb4e4b0f64bbb578" {
		t.Errorf("dagre.min.js has the SHA-256 %s", got)
	}
}
