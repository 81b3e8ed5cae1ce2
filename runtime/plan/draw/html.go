package draw

import (
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/live"
	"github.com/opgen/opgen/runtime/plan"
	"github.com/opgen/opgen/runtime/plan/verify"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/simulate"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/timeline"
)

// Page is the content of an HTML page about a plan.
type Page struct {
	Plan *plan.Plan
	// Timelines holds runs of the plan, measured or predicted. The page shows the first one first.
	Timelines []*timeline.Timeline
	// Operators describes operators of the plan, whose formulas the page shows. Others may be among them.
	Operators []*task.Operator
	// Work holds the operations and bytes of each task, and Machine the rates of the machine. With both, and
	// with a timeline, the page compares the tasks with the roofline of the machine.
	Work    []simulate.Work
	Machine simulate.Machine
	// Facts are further facts that the page shows, such as the loss of the step in the first timeline. The
	// first two stand in its head.
	Facts []Fact
}

// Fact is what is known about a plan or its runs.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// dagre computes where the boxes of a graph lie, by layers (Sugiyama's method). It is version 3.1.3 of
// npm's @dagrejs/dagre; the file dagre.LICENSE beside it is its license.
//
//go:embed page/dagre.min.js
var pageDagre string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// HTML writes a page about a plan: one file that needs no network and no other file. It shows the graph of
// the plan's layers, what workers did and waited for, the memory over time, the layers in the machine's
// roofline, and what package verify proves of the plan. A selection in one view is shown in all views. A
// layer is a step of a call, with all its tiles, or a built-in operation.
//
// HTML returns an error if a timeline is that of another plan, or if there is work for another number of
// tasks.
func HTML(w io.Writer, page Page) error {
	fixed, err := page.fixed()
	if err != nil {
		return err
	}
	runs, err := page.runs()
	if err != nil {
		return err
	}
	return document(w, page.Plan.Name, nil, fixed, runs)
}

// document writes a page, which follows a program that serves it if at is not nil.
func document(w io.Writer, plan string, at *live.Place, fixed, runs *section) error {
	data, err := compressed(fixed, runs)
	if err != nil {
		return err
	}
	return pageTemplate.Execute(w, struct {
		Title             string
		Live              *live.Place
		CSS               template.CSS
		Dagre, Follow, JS template.JS
		Compressed        template.HTML
	}{"Plan " + plan, at, template.CSS(pageCSS), template.JS(withoutSourceMap(pageDagre)), live.Script, template.JS(pageJS), template.HTML(data)})
}

// withoutSourceMap returns a script without the comment that names its source map, for which browsers would
// look.
func withoutSourceMap(script string) string {
	before, _, _ := strings.Cut(script, "//# sourceMappingURL=")
	return before
}

// The JSON of the sections of a page's data.
type (
	pageHead struct {
		Name      string                  `json:"name"`
		Hash      string                  `json:"hash"`
		Target    string                  `json:"target"`
		Tasks     int                     `json:"tasks"`
		Edges     int                     `json:"edges"`
		Workers   int                     `json:"workers"`
		Arena     int64                   `json:"arena"`
		Lower     int64                   `json:"lower"`
		Variables int64                   `json:"variables"`
		Fault     string                  `json:"fault"` // that verify.Plan found; "" if the plan is proved
		Layers    []pageLayer             `json:"layers"`
		Arrows    [][3]int                `json:"arrows"` // layers and the root that leads from the first to the second
		Roots     []pageRoot              `json:"roots"`
		Kinds     []pageKind              `json:"kinds"`
		Colors    map[string]string       `json:"colors"` // of phases
		Operators map[string]pageOperator `json:"operators"`
		Machine   *pageMachine            `json:"machine,omitempty"`
	}
	pageRuns struct {
		Facts     []Fact         `json:"facts"`
		Timelines []pageTimeline `json:"timelines"`
	}
	pageLayer struct {
		Label    string       `json:"label"`
		Node     string       `json:"node,omitempty"`
		Operator string       `json:"operator,omitempty"`
		Phase    string       `json:"phase"`
		Attrs    string       `json:"attrs,omitempty"`
		First    int          `json:"first"` // its tasks
		End      int          `json:"end"`
		Grid     string       `json:"grid"`
		Access   []pageAccess `json:"access"`
		Flops    float64      `json:"flops,omitempty"`
		Bytes    float64      `json:"bytes,omitempty"`
	}
	pageAccess struct {
		Perm string `json:"perm"`
		Root int    `json:"root"`
	}
	pageRoot struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Shape []int  `json:"shape"`
		Kind  int    `json:"kind"`
		Use   string `json:"use"`
		Arena bool   `json:"arena"`
		Off   int64  `json:"off"`
		Bytes int64  `json:"bytes"`
		First int    `json:"first"`
		Last  int    `json:"last"`
	}
	pageKind struct {
		Name  string `json:"name"`
		Color string `json:"color"`
	}
	pageOperator struct {
		Doc     string   `json:"doc"`
		Formula []string `json:"formula"`
	}
	pageTimeline struct {
		Name  string  `json:"name"`
		Unit  float64 `json:"unit"`  // seconds of a step of the numbers of its spans
		Spans [][]int `json:"spans"` // how many each worker has in each run
	}
	pageMachine struct {
		Rate      float64 `json:"rate"`      // operations a second, of all workers
		Bandwidth float64 `json:"bandwidth"` // bytes a second, of all workers
	}
)

// section is a part of a page's data: JSON and integers.
type section struct {
	head    any
	numbers []int32
}

// write writes the length of the JSON, the JSON, zeros up to a multiple of 4 bytes, and the integers.
func (s *section) write(w io.Writer) error {
	text, err := json.Marshal(s.head)
	if err != nil {
		return err
	}
	begin := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	begin = append(append(begin, text...), make([]byte, -len(text)&3)...)
	if _, err := w.Write(begin); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, s.numbers)
}

// fixed returns what the page says about the plan. The integers are, of each task, its layer; where the
// predecessors of each task begin, and the predecessors.
func (page *Page) fixed() (*section, error) {
	p := page.Plan
	if p == nil {
		return nil, errors.New("draw: want a plan, got none")
	}
	if n := p.Deps.Len(); n != len(p.Tasks) {
		return nil, fmt.Errorf("draw: plan %s: want predecessors of %d tasks, got those of %d", p.Name, len(p.Tasks), n)
	}
	if len(page.Work) > 0 && len(page.Work) != len(p.Tasks) {
		return nil, fmt.Errorf("draw: plan %s: want work of %d tasks, got that of %d", p.Name, len(p.Tasks), len(page.Work))
	}
	hash, err := p.Hash()
	if err != nil {
		return nil, err
	}
	layers := layersOf(p)
	head := pageHead{
		Name: p.Name, Hash: hash, Target: string(p.Target), Tasks: len(p.Tasks), Edges: p.Deps.Edges(), Workers: len(p.Schedule.Queues),
		Arena: p.ArenaBytes, Lower: p.LowerBound(), Variables: p.VariableBytes(),
		Layers: make([]pageLayer, len(layers)), Arrows: arrowsOf(p, layers), Roots: make([]pageRoot, len(p.Roots)),
		Colors: phaseColors, Operators: map[string]pageOperator{},
	}
	if err := verify.Plan(p); err != nil {
		head.Fault = err.Error()
	}
	for _, k := range kinds {
		head.Kinds = append(head.Kinds, pageKind{k.name, k.color})
	}
	for i, k := range kindsOf(p) {
		r := &p.Roots[i]
		head.Roots[i] = pageRoot{r.Name, r.Type.String(), r.Shape, int(k), r.Use.String(), inArena(r), r.Place.Off, r.Place.Bytes, r.First, r.Last}
	}
	used := map[string]bool{}
	var numbers []int32
	for i, l := range layers {
		head.Layers[i] = page.layer(l)
		used[head.Layers[i].Operator] = true
		for range l.end - l.first {
			numbers = append(numbers, int32(i))
		}
	}
	for _, o := range page.Operators {
		if used[o.FullName()] {
			head.Operators[o.FullName()] = pageOperator{o.Doc, o.Formula}
		}
	}
	numbers = append(append(numbers, p.Deps.Start...), p.Deps.Pred...)
	if m := page.Machine; len(page.Work) > 0 && m.Rate > 0 && m.Bandwidth > 0 {
		head.Machine = &pageMachine{m.Rate * float64(max(head.Workers, 1)), m.Bandwidth}
	}
	return &section{&head, numbers}, nil
}

// runs returns what the page says about runs of the plan. The integers are, for each span of each worker of
// each timeline, the kind with the worker it waits for, the task, the beginning and the end.
func (page *Page) runs() (*section, error) {
	head := pageRuns{append([]Fact{}, page.Facts...), []pageTimeline{}}
	var numbers []int32
	for _, t := range page.Timelines {
		described, spans, err := spansOf(page.Plan, t)
		if err != nil {
			return nil, err
		}
		head.Timelines = append(head.Timelines, described)
		numbers = append(numbers, spans...)
	}
	return &section{&head, numbers}, nil
}

// layer returns what a page says about a layer.
func (page *Page) layer(l layer) pageLayer {
	p := page.Plan
	t := &p.Tasks[l.first]
	grid := t.Grid()
	out := pageLayer{Label: p.Label(l.first), Phase: phase(p, l.first), First: l.first, End: l.end, Grid: grid.String(), Access: []pageAccess{}}
	if t.Call >= 0 {
		c := &p.Calls[t.Call]
		out.Node, out.Operator, out.Attrs = c.Node, c.Operator, string(c.Attrs)
	}
	for _, a := range t.Access {
		out.Access = append(out.Access, pageAccess{a.Perm.String(), int(a.Root)})
	}
	if len(page.Work) > 0 {
		for _, w := range page.Work[l.first:l.end] {
			out.Flops, out.Bytes = out.Flops+w.Flops, out.Bytes+w.Bytes
		}
	}
	return out
}

// arrowsOf returns, for each layer and each root that it reads, the layer that wrote the root last, unless it
// is the same one. There is one arrow from one layer to another.
func arrowsOf(p *plan.Plan, layers []layer) [][3]int {
	arrows := [][3]int{}
	writer := map[region.Root]int{} // the layer that wrote a root last
	seen := map[[2]int]bool{}
	for i, l := range layers {
		for _, a := range p.Tasks[l.first].Access {
			from, ok := writer[a.Root]
			if ok && from != i && a.Perm.Reads() && !seen[[2]int{from, i}] {
				seen[[2]int{from, i}] = true
				arrows = append(arrows, [3]int{from, i, int(a.Root)})
			}
		}
		for _, a := range p.Tasks[l.first].Access {
			if a.Perm.Writes() {
				writer[a.Root] = i
			}
		}
	}
	return arrows
}

// spansOf returns the spans of a timeline as numbers. Signals are left out: they take no time to speak of.
func spansOf(p *plan.Plan, t *timeline.Timeline) (pageTimeline, []int32, error) {
	begin, end := math.Inf(1), math.Inf(-1)
	var runs []uint64 // ascending
	for w, spans := range t.Workers {
		for i := range spans {
			s := &spans[i]
			if s.Task < 0 || s.Task >= len(p.Tasks) {
				return pageTimeline{}, nil, fmt.Errorf("draw: timeline %s: want tasks of plan %s, below %d, got %d", t.Name, p.Name, len(p.Tasks), s.Task)
			}
			if i > 0 && s.Run < spans[i-1].Run {
				return pageTimeline{}, nil, fmt.Errorf("draw: timeline %s: worker %d: want runs one after the other, got run %d behind %d", t.Name, w, s.Run, spans[i-1].Run)
			}
			if at, found := slices.BinarySearch(runs, s.Run); !found {
				runs = slices.Insert(runs, at, s.Run)
			}
			begin, end = min(begin, s.Begin), max(end, s.End)
		}
	}
	out := pageTimeline{Name: t.Name, Unit: max(1e-9, (end-begin)/math.MaxInt32), Spans: [][]int{}}
	var numbers []int32
	for _, spans := range t.Workers {
		counts := make([]int, len(runs))
		for i := range spans {
			s := &spans[i]
			if s.Kind == timeline.Signal {
				continue
			}
			kind := int32(0)
			if s.Kind == timeline.Wait {
				kind = int32(s.For) + 2 // so that 1 stands for a task that all workers share
			}
			numbers = append(numbers, kind, int32(s.Task), int32((s.Begin-begin)/out.Unit), int32((s.End-begin)/out.Unit))
			at, _ := slices.BinarySearch(runs, s.Run)
			counts[at]++
		}
		out.Spans = append(out.Spans, counts)
	}
	return out, numbers, nil
}

// compressed returns sections, compressed with gzip, in base64.
func compressed(sections ...*section) (string, error) {
	var out strings.Builder
	encoder := base64.NewEncoder(base64.StdEncoding, &out)
	z, err := gzip.NewWriterLevel(encoder, gzip.BestSpeed)
	if err != nil {
		return "", err
	}
	for _, s := range sections {
		if err := s.write(z); err != nil {
			return "", err
		}
	}
	err = errors.Join(z.Close(), encoder.Close())
	return out.String(), err
}
