package draw_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/draw"
	"github.com/opgen/opgen/runtime/planner"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/timeline"
)

// shape is an element of a picture, with its title.
type shape struct {
	kind        string
	x, y, width float64
	fill, title string
}

// shapes reads the rectangles and lines of a picture that have titles, and its texts.
func shapes(t *testing.T, picture []byte) (out []shape, texts []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(picture))
	var open []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return out, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
			if token.Name.Local != "rect" && token.Name.Local != "path" {
				continue
			}
			s := shape{kind: token.Name.Local}
			for _, a := range token.Attr {
				v, _ := strconv.ParseFloat(a.Value, 64)
				switch a.Name.Local {
				case "x":
					s.x = v
				case "y":
					s.y = v
				case "width":
					s.width = v
				case "fill":
					s.fill = a.Value
				}
			}
			out = append(out, s)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && open[len(open)-1] == "title" {
				out[len(out)-1].title = string(token)
			}
			if len(open) > 0 && open[len(open)-1] == "text" {
				texts = append(texts, string(token))
			}
		}
	}
}

// byHand returns a timeline of two workers. Worker 1 waits for the first task of worker 0 for most of the
// time.
func byHand(p *plan.Plan) *timeline.Timeline {
	return &timeline.Timeline{Name: "plan " + p.Name, Plan: p, Workers: [][]timeline.Span{
		{{Task: 0, Range: op.Range{Hi: 40}, Begin: 1, End: 4}, {Kind: timeline.Signal, Task: 0, Begin: 4, End: 4.5}, {Task: 5, Range: op.Range{Hi: 40}, Begin: 4.5, End: 5}},
		{{Kind: timeline.Wait, Task: 0, For: 0, Begin: 1.5, End: 4.75}, {Task: 7, Range: op.Range{Hi: 40}, Begin: 4.75, End: 5}},
	}}
}

// TestTimeline draws a timeline: rectangles lie where the times are, a wait has a color of its own and a
// label, and the sums of each worker stand below its lane.
func TestTimeline(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	line := byHand(p)
	var out bytes.Buffer
	if err := draw.Timeline(&out, line); err != nil {
		t.Fatal(err)
	}
	found, texts := shapes(t, out.Bytes())
	type drawn struct{ lane, begin, end float64 }
	var spans []drawn
	colors := map[string]string{}
	lanes := map[float64]int{}
	for _, s := range found {
		if s.title == "" {
			continue
		}
		if _, ok := lanes[s.y]; !ok {
			lanes[s.y] = len(lanes)
		}
		spans = append(spans, drawn{float64(lanes[s.y]), 1 + (s.x-84)/1180*4, 1 + (s.x+s.width-84)/1180*4})
		colors[strings.Split(s.title, ",")[0]] = s.fill
	}
	want := []drawn{{0, 1, 4}, {0, 4.5, 5}, {1, 1.5, 4.75}, {1, 4.75, 5}}
	if !slices.EqualFunc(spans, want, func(a, b drawn) bool {
		return a.lane == b.lane && math.Abs(a.begin-b.begin) < 1e-3 && math.Abs(a.end-b.end) < 1e-3
	}) {
		t.Errorf("spans lie at %v, want %v", spans, want)
	}
	wait := `waits for worker 0: a"b: linear.forward`
	if colors[wait] == "" || colors[wait] == colors[`a"b: linear.forward`] || colors[`a"b: linear.forward`] == colors["fc: linear.backward"] {
		t.Errorf("colors are %v", colors)
	}
	for _, text := range []string{"Timeline of plan training", "4 s, workers: 2", "worker 1", "runs for 250 ms, waits for 3.25 s", "runs for 3.5 s, waits for 0", wait, "waits", "forward", "update"} {
		if !slices.Contains(texts, text) {
			t.Errorf("the picture does not say %q, but %q", text, texts)
		}
	}
	out.Reset()
	if err := draw.Timeline(&out, &timeline.Timeline{Name: "nothing", Plan: p, Workers: make([][]timeline.Span, 2)}); err != nil {
		t.Error(err)
	}
	if _, texts := shapes(t, out.Bytes()); !slices.Contains(texts, "0, workers: 2") {
		t.Errorf("the picture of no spans says %q", texts)
	}
}

// tiled returns a plan of three layers. The middle one is cut into three tiles, of which each waits for the
// first layer.
func tiled() *plan.Plan {
	p := &plan.Plan{Name: "tiled", Calls: []plan.Call{{Node: "a", Operator: "x", Task: "forward", Phase: "forward"}, {Node: "b", Operator: "x", Task: "backward", Phase: "backward"}}}
	p.Tasks = []plan.Task{{Call: 0, Over: 9, Grain: 9}, {Call: 1, Over: 9, Grain: 3, Tile: 1}, {Call: 1, Over: 9, Grain: 3, Tile: 2}, {Call: 1, Over: 9, Grain: 3, Tile: 3}, {Call: 1, Step: 1, Over: 9, Grain: 9}}
	p.Deps = schedule.Graph{Start: []int32{0, 0, 1, 2, 4, 5}, Pred: []int32{0, 0, 0, 2, 3}}
	p.Schedule = schedule.Schedule{Tasks: 5, Queues: [][]schedule.Op{{0, 1, 2, 3, 4}}}
	return p
}

// TestTiles draws the graph of a plan's tiles: a box for each task, those of a layer in one row, and a line
// for each dependency.
func TestTiles(t *testing.T) {
	t.Parallel()
	_, whole := training(t)
	for _, p := range []*plan.Plan{whole, tiled()} {
		var out bytes.Buffer
		if err := draw.Tiles(&out, p); err != nil {
			t.Fatal(err)
		}
		found, texts := shapes(t, out.Bytes())
		rows := map[int]float64{}
		edges := map[string]int{}
		for _, s := range found {
			if s.kind == "path" {
				edges[s.title]++
			} else if m := regexp.MustCompile(`^task (\d+): `).FindStringSubmatch(s.title); m != nil {
				number, _ := strconv.Atoi(m[1])
				rows[number] = s.y
			}
		}
		if len(rows) != len(p.Tasks) || len(edges) != p.Deps.Edges() {
			t.Errorf("plan %s: %d boxes and %d lines, want %d and %d", p.Name, len(rows), len(edges), len(p.Tasks), p.Deps.Edges())
		}
		for i := range p.Tasks {
			for _, v := range p.Deps.Preds(i) {
				if edges[fmt.Sprintf("%d before %d", v, i)] != 1 {
					t.Errorf("plan %s: lines %v, want one from %d to %d", p.Name, edges, v, i)
				}
			}
			if i > 0 {
				same := p.Tasks[i].Call >= 0 && p.Tasks[i].Call == p.Tasks[i-1].Call && p.Tasks[i].Step == p.Tasks[i-1].Step
				if same != (rows[i] == rows[i-1]) || rows[i] < rows[i-1] {
					t.Errorf("plan %s: task %d is in row %v, the one before in row %v", p.Name, i, rows[i], rows[i-1])
				}
			}
		}
		if p.Name == "tiled" {
			title := "task 2: b: x.backward\ntile 2 of 3, [3, 6)"
			if !slices.ContainsFunc(found, func(s shape) bool { return s.title == title }) || !slices.Contains(texts, "layers: 3, tasks: 5, dependencies: 5") {
				t.Errorf("no box has the title %q, or no text the sums: %q", title, texts)
			}
		} else if !slices.ContainsFunc(found, func(s shape) bool { return strings.Contains(s.title, "\nwrite fc.output [0 0] to [40 5]") }) {
			t.Errorf("no box says what its task writes: %+v", found)
		}
	}
	loose := tiled()
	loose.Deps = schedule.Graph{}
	if err := draw.Tiles(io.Discard, loose); err == nil || !strings.Contains(err.Error(), "want predecessors of 5 tasks, got those of 0") {
		t.Errorf("a plan without dependencies: %v", err)
	}
}

// TestPictureErrors writes pictures to a full disk.
func TestPictureErrors(t *testing.T) {
	t.Parallel()
	_, p := training(t)
	for name, write := range map[string]func(io.Writer) error{
		"timeline": func(w io.Writer) error { return draw.Timeline(w, byHand(p)) },
		"tiles":    func(w io.Writer) error { return draw.Tiles(w, p) },
	} {
		if err := write(fullDisk{}); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

var errFull = errors.New("the disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// A prediction of a plan on two workers as a picture, and the plan's tiles.
func ExampleTimeline() {
	p, err := planner.Reschedule(tiled(), planner.Workers(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := simulate.Plan(p, make([]simulate.Work, len(p.Tasks)), simulate.Machine{Range: 1e-6})
	if err != nil {
		fmt.Println(err)
		return
	}
	var picture bytes.Buffer
	if err := errors.Join(draw.Timeline(&picture, got.Timeline), draw.Tiles(io.Discard, p)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(os.Stdout, regexp.MustCompile(`>(Timeline of [^<]*)<`).FindStringSubmatch(picture.String())[1])
	// Output: Timeline of prediction of plan tiled
}
